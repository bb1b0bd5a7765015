// voltac tune matmul: the fastest way through each product, measured here and kept for later commands.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "cli/architectures.h"
#include "cli/bench_device.h"
#include "cli/commands.h"
#include "cli/interrupts.h"
#include "cli/options.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

struct Tuning {
    std::string shapes, model;
    std::int64_t dim = 0, batch = 0, runs = 5, warmup = 1;
    double seconds = 0;
    bool json = false;
    Machine machine;
};

constexpr std::int64_t kTokens = 1024;
constexpr std::int64_t kMostExtent = 1 << 24;

// --- which products

// The products of one layer [in, out]: Y = X W, dX = dY W^T, dW = X^T dY.
void add_layer(std::int64_t in, std::int64_t out, std::vector<volta_tune_shape>& shapes) {
    shapes.push_back({kTokens, out, in, 0, 0, 0, 0, 0});
    shapes.push_back({kTokens, in, out, 0, 1, 0, 0, 0});
    shapes.push_back({in, out, kTokens, 1, 0, 0, 0, 0});
}

// A transformer of this width: qkv, attention output, feed-forward up and down.
std::vector<volta_tune_shape> transformer_shapes(std::int64_t dim) {
    std::vector<volta_tune_shape> shapes;
    add_layer(dim, 3 * dim, shapes);
    add_layer(dim, dim, shapes);
    add_layer(dim, 4 * dim, shapes);
    add_layer(4 * dim, dim, shapes);
    return shapes;
}

[[noreturn]] void bad_shape(const std::string& word) {
    usage_error("voltac tune matmul: --shapes: '" + word +
                "' is no shape: MxNxK, each in 1 .. 16777216, and :nt, :tn or :tt where A or B is stored "
                "transposed");
}

// "256x1152x384" or "256x384x1152:nt".
volta_tune_shape read_shape(const std::string& word) {
    volta_tune_shape shape = {};
    std::int64_t* const extents[] = {&shape.m, &shape.n, &shape.k};
    const char* at = word.c_str();
    for (int i = 0; i < 3; ++i) {
        char* end = nullptr;
        *extents[i] = *at >= '0' && *at <= '9' ? std::strtoll(at, &end, 10) : 0;
        if (*extents[i] < 1 || *extents[i] > kMostExtent || (i < 2 && *end != 'x')) bad_shape(word);
        at = i < 2 ? end + 1 : end;
    }
    const std::string order = at;
    if (order != "" && order != ":nn" && order != ":nt" && order != ":tn" && order != ":tt") bad_shape(word);
    shape.a_transposed = order.size() == 3 && order[1] == 't';
    shape.b_transposed = order.size() == 3 && order[2] == 't';
    return shape;
}

std::vector<volta_tune_shape> read_shapes(const std::string& list) {
    std::vector<volta_tune_shape> shapes;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        shapes.push_back(read_shape(list.substr(begin, end - begin)));
        begin = end + 1;
    }
    return shapes;
}

// Extents of the inputs, a free first one as `batch`, a free second one as the model's context.
std::vector<std::int64_t> input_extents(const Model& model, std::int64_t batch) {
    const std::string context = model_size(model, "context");
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < volta_model_input_count(model.get()); ++i) {
        volta_tensor_info info;
        check(volta_model_input_info(model.get(), i, &info));
        for (std::int32_t axis = 0; axis < info.rank; ++axis) {
            std::int64_t extent = info.shape[axis];
            if (extent < 0)
                extent = axis == 0 || context.empty() ? batch : std::strtoll(context.c_str(), nullptr, 10);
            extents.push_back(extent);
        }
    }
    return extents;
}

Session make_session(const Model& model, std::int64_t batch) {
    const std::vector<std::int64_t> extents = input_extents(model, batch);
    volta_session_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = extents.data();
    options.input_extent_count = extents.size();
    volta_session* session = nullptr;
    check(volta_session_create(model.get(), &options, &session));
    return Session(session);
}

// The training step: the checkpoint's own, or one of `batch` sequences; none where the model has no loss.
Trainer make_trainer(const Model& model, std::int64_t batch) {
    volta_trainer* trainer = nullptr;
    if (batch == 0) {
        const volta_status status = volta_trainer_resume(model.get(), nullptr, &trainer);
        if (status == VOLTA_INVALID_STATE) return Trainer();  // no checkpoint
        check(status);
        return Trainer(trainer);
    }
    const std::vector<std::int64_t> extents = input_extents(model, batch);
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = extents.data();
    options.input_extent_count = extents.size();
    check(volta_trainer_create(model.get(), &options, &trainer));
    return Trainer(trainer);
}

// --- what is shown

double gflops(const volta_tune_report& report, double seconds) {
    const double products = static_cast<double>(report.batch);
    return 2e-9 * products * static_cast<double>(report.shape.m) * static_cast<double>(report.shape.n) *
           static_cast<double>(report.shape.k) / seconds;
}

std::string product_text(const volta_tune_report& report) {
    std::string text = report.batch > 1 ? formatted("%lld * ", static_cast<long long>(report.batch)) : "";
    text += formatted("%lld x %lld x %lld", static_cast<long long>(report.shape.m),
                      static_cast<long long>(report.shape.n), static_cast<long long>(report.shape.k));
    if (report.shape.a_transposed) text += " A^T";
    if (report.shape.b_transposed) text += " B^T";
    if (report.packed_once) text += " packed";
    if (report.from_memory) text += " cold";
    return text + (report.has_epilogue ? " +" : "");
}

// What the times are of: a processor's threads and instruction set, or a device.
Json json_of(const volta_context_info& machine, const volta_device_info& device) {
    static const char* const kIsas[] = {"auto", "scalar", "avx2", "avx512"};
    if (device.memory_bytes > 0) return {{"device", device.name}};
    return {{"threads", machine.thread_count}, {"isa", kIsas[machine.isa]}};
}

Json json_of(const volta_tune_report& report) {
    return {{"m", report.shape.m},
            {"n", report.shape.n},
            {"k", report.shape.k},
            {"a_transposed", report.shape.a_transposed != 0},
            {"b_transposed", report.shape.b_transposed != 0},
            {"batch", report.batch},
            {"epilogue", report.has_epilogue != 0},
            {"packed_once", report.packed_once != 0},
            {"from_memory", report.from_memory != 0},
            {"default_ms", 1e3 * report.default_seconds},
            {"tuned_ms", 1e3 * report.tuned_seconds},
            {"classic_ms", 1e3 * report.classic_seconds},
            {"default_gflops", gflops(report, report.default_seconds)},
            {"tuned_gflops", gflops(report, report.tuned_seconds)},
            {"gain", report.default_seconds / report.tuned_seconds - 1},
            {"gain_over_classic", report.classic_seconds / report.tuned_seconds - 1},
            {"plans_timed", report.plans_timed},
            {"choice", report.choice}};
}

// Progress on a terminal's standard error, results on standard output as they come.
class Show {
  public:
    // `machine`: what every line of JSON says of it.
    Show(bool json, Json machine)
        : json_(json), terminal_(isatty(2) == 1 && !json), machine_(std::move(machine)) {}

    static int32_t progress(void* user, const volta_tune_report* report) {
        static_cast<Show*>(user)->update(*report);
        return interrupted_by() != 0 || static_cast<Show*>(user)->error_ != nullptr;
    }
    void finish() const {
        if (terminal_) std::fputs("\r\033[K", stderr);
        if (error_ != nullptr) std::rethrow_exception(error_);
    }
    std::size_t products() const { return products_; }

  private:
    bool json_, terminal_;
    const Json machine_;
    std::size_t products_ = 0;
    std::exception_ptr error_;  // of standard output: not thrown through the library

    void update(const volta_tune_report& report) {
        try {
            if (report.done) result(report);
        } catch (...) {
            error_ = std::current_exception();
        }
        if (terminal_) bar(report);
    }

    void result(const volta_tune_report& report) {
        if (terminal_) std::fputs("\r\033[K", stderr);
        if (json_) {
            Json line = json_of(report);
            line.update(machine_);
            print(json_text(line) + "\n");
        } else {
            if (products_ == 0)
                print(formatted("%-28s %11s %11s %11s %8s %7s %8s  %s\n", "product", "classic ms",
                                "default ms", "tuned ms", "GFLOP/s", "gain", "classic", "choice"));
            print(formatted("%-28s %11.4f %11.4f %11.4f %8.1f %6.1f%% %7.1f%%  %s\n",
                            product_text(report).c_str(), 1e3 * report.classic_seconds,
                            1e3 * report.default_seconds, 1e3 * report.tuned_seconds,
                            gflops(report, report.tuned_seconds),
                            100 * (report.default_seconds / report.tuned_seconds - 1),
                            100 * (report.classic_seconds / report.tuned_seconds - 1),
                            *report.choice != '\0' ? report.choice : "default"));
        }
        ++products_;
    }

    void bar(const volta_tune_report& report) const {
        winsize size = {};
        const int columns = ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
        const std::string text = formatted("product %zu/%zu  %s", std::min(report.index + 1, report.count),
                                           report.count, product_text(report).c_str());
        const int width = std::clamp(columns - static_cast<int>(text.size()) - 4, 0, 40);
        const auto filled = static_cast<std::size_t>(report.share * width);
        const std::string bar =
            std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, ' ');
        std::fprintf(stderr, "\r[%s] %s\033[K", bar.c_str(), text.c_str());
        std::fflush(stderr);
    }
};

void read_command(const std::vector<std::string>& arguments, Tuning& t) {
    Options options(
        "tune matmul",
        "Searches the fastest tile, blocks, loop order, prefetch and packing of each product, or on a GPU "
        "its form and tile, and keeps what it found in $HOME/.volta/matmul_tuning for later commands; "
        "without HOME, or with --no-tuning, it only shows it. Results never change a bit.");
    options.integer(
        "--dim", t.dim, 1, 1 << 20,
        "the products of a transformer of width N at 1024 tokens: qkv, output, up and down, each as "
        "X W, dY W^T and X^T dY (default: 384)");
    options.text("--shapes", t.shapes, "MxNxK,... with :nt, :tn or :tt where A or B is stored transposed");
    options.input(
        "--model", t.model, kModel,
        "the products of a model's inference at its context, and of its checkpoint's training step");
    options.integer("--batch", t.batch, 1, 1 << 20,
                    "with --model: inference and training at this batch instead");
    options.integer("--runs", t.runs, 1, 64,
                    "timed runs per contender, of which the median counts (default: 5)");
    options.integer("--warmup", t.warmup, 1, 64, "runs before them (default: 1)");
    options.number("--seconds", t.seconds, 0.01, 86400,
                   "for all products, about (default: 3 each, at most 20)");
    options.flag("--json", t.json, "one JSON object per product");
    options.machine(t.machine);
    options.config();
    options.parse(arguments);
    if (options.given("--dim") + options.given("--shapes") + options.given("--model") > 1)
        usage_error("voltac tune matmul: --dim, --shapes and --model exclude each other");
    if (options.given("--batch") && !options.given("--model"))
        usage_error("voltac tune matmul: --batch belongs to --model");
}

}  // namespace

const std::vector<Command>& tunings() {
    static const std::vector<Command> table = {
        {"matmul", "matmul [--dim N|--shapes MxNxK,...|--model FILE]",
         "measure the fastest way through matrix products on this machine", run_tune_matmul},
    };
    return table;
}

int run_tune(const std::vector<std::string>& arguments) {
    const bool help = !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
    if (!help && (arguments.empty() || arguments[0] != "matmul"))
        usage_error(arguments.empty()
                        ? "voltac tune: say what: voltac tune matmul"
                        : "voltac tune: '" + arguments[0] + "' cannot be tuned; voltac tune matmul can");
    return run_tune_matmul(std::vector<std::string>(arguments.begin() + (help ? 0 : 1), arguments.end()));
}

int run_tune_matmul(const std::vector<std::string>& arguments) {
    Tuning t;
    read_command(arguments, t);
    std::vector<volta_tune_shape> shapes;
    if (!t.shapes.empty()) shapes = read_shapes(t.shapes);
    if (t.shapes.empty() && t.model.empty()) shapes = transformer_shapes(t.dim > 0 ? t.dim : 384);

    const Context context = make_context(t.machine);
    volta_context_info machine = {};
    machine.struct_size = sizeof machine;
    check(volta_context_get_info(context.get(), &machine));
    Model model;
    Session session;
    Trainer trainer;
    if (!t.model.empty()) {
        model = open_model(context, t.model);
        session = make_session(model, std::max<std::int64_t>(t.batch, 1));
        trainer = make_trainer(model, t.batch);
    }
    std::string reason;
    const bool keeps = !tuning_folder(t.machine, &reason).empty();
    if (!keeps) std::fprintf(stderr, "voltac: results are not kept: %s\n", reason.c_str());
    Show show(t.json, json_of(machine, bench::device_of(context)));
    volta_tune_options options = {};
    options.struct_size = sizeof options;
    options.shapes = shapes.data();
    options.shape_count = shapes.size();
    options.session = session.get();
    options.trainer = trainer.get();
    options.runs = static_cast<std::uint32_t>(t.runs);
    options.warmup = static_cast<std::uint32_t>(t.warmup);
    options.seconds = t.seconds;
    options.progress = Show::progress;
    options.user = &show;
    watch_interrupts();
    const volta_status status = volta_tune(context.get(), &options);
    const std::string error = volta_last_error();
    show.finish();
    if (status == VOLTA_CANCELLED) {
        std::fprintf(stderr, "%s%s\n", error.c_str(), keeps ? "; what was done is kept" : "");
        return interrupt_status();
    }
    if (status != VOLTA_OK) failure(error);
    if (show.products() == 0) warn("there is nothing to tune: " + t.model + " has no f32 products");
    return 0;
}

}  // namespace voltac
