#include "cli/bench_networks.h"

#include <nlohmann/json.hpp>

#include "cli/bench_case.h"
#include "cli/bench_models.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
    std::int64_t batch = 0;
    double parameters = 0, operations = 0;  // of one run: a multiply-add is two
    Timing run;
    volta_machine_speed speed = VOLTA_MACHINE_SPEED_INIT;
    double fraction_of_peak = 0;
    volta_bill bill = VOLTA_BILL_INIT;
};

// Between two looks at what the machine gives: what is divided by it ran under the same load.
Row measure(const Context& context, const NetworkInference& wanted, std::int64_t batch, ProfileFile& profile,
            bool is_last) {
    Subject subject = network_subject(context, wanted.network, batch);
    Row row;
    row.batch = batch;
    row.parameters = subject.parameters;
    row.operations = subject.forward_operations;
    SessionCase session(context, std::move(subject.model), subject.input_shape);
    check(volta_session_get_bill(session.session().get(), &row.bill));
    Peaks peaks(context);
    peaks.measure();
    row.run = time_calls(wanted.repeats, [&] { session.run(); });
    peaks.measure();
    row.speed = peaks.around();
    row.fraction_of_peak = row.operations / row.run.seconds * 1e-9 / row.speed.fma_gflops;
    if (is_last) {
        profile.start(context);
        if (profile.is_wanted()) session.run();
        profile.finish(context);
    }
    return row;
}

Json as_json(const NetworkInference& wanted, const Row& row) {
    Json line = {{"model", wanted.network},
                 {"parameters", static_cast<std::uint64_t>(row.parameters)},
                 {"threads", row.speed.thread_count},
                 {"isa", isa_name(row.speed.isa)},
                 {"batch", row.batch},
                 {"ms", row.run.seconds * 1e3},
                 {"spread", row.run.spread},
                 {"pictures_per_s", static_cast<double>(row.batch) / row.run.seconds},
                 {"gflop", row.operations * 1e-9},
                 {"gflops", row.operations / row.run.seconds * 1e-9},
                 {"fraction_of_peak", row.fraction_of_peak},
                 {"activations_mib", static_cast<double>(row.bill.activations) / kMiB},
                 {"total_mib", static_cast<double>(row.bill.total) / kMiB}};
    add_arithmetic(line, wanted.repeats.machine);
    return line;
}

std::string csv_line(const Json& line, bool head) {
    std::string text;
    for (const auto& [key, value] : line.items())
        text += (text.empty() ? "" : ",") +
                (head ? key : csv_field(value.is_string() ? value.get<std::string>() : json_text(value)));
    return text + "\n";
}

}  // namespace

int infer_network(const NetworkInference& wanted, ProfileFile& profile) {
    const Context context = make_context(wanted.repeats.machine);
    const std::int64_t most = wanted.batch > 0 ? wanted.batch : usual_batch(wanted.network);
    std::vector<std::int64_t> batches = {1};
    if (most > 1) batches.push_back(most);
    bool is_first = true;
    for (const std::int64_t batch : batches) {
        const Row row = measure(context, wanted, batch, profile, batch == batches.back());
        if (wanted.repeats.json || wanted.csv) {
            const Json line = as_json(wanted, row);
            if (wanted.repeats.json)
                print(json_text(line) + "\n");
            else
                print((is_first ? csv_line(line, true) : "") + csv_line(line, false));
            is_first = false;
            continue;
        }
        std::string text;
        if (is_first)
            text = machine_line(context, row.speed) +
                   formatted("model              %s, %.2f M parameters, %.3f GFLOP a picture\n",
                             wanted.network.c_str(), row.parameters * 1e-6,
                             row.operations * 1e-9 / static_cast<double>(row.batch));
        text += formatted(
            "batch %-12lld %.3f ms, %.1f pictures per second, %.1f %% of the peak, spread %.1f %%, memory "
            "%.1f "
            "MiB\n",
            static_cast<long long>(row.batch), row.run.seconds * 1e3,
            static_cast<double>(row.batch) / row.run.seconds, 100 * row.fraction_of_peak,
            100 * row.run.spread, static_cast<double>(row.bill.total) / kMiB);
        print(text);
        is_first = false;
    }
    return 0;
}

}  // namespace voltac::bench
