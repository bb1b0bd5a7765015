// voltac bench memory: what a training plan says it needs, beside what an allocator that counts and the
// system saw. Each preset runs in a process of its own: the peak of a process never goes down.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/bench_case.h"
#include "cli/bench_models.h"
#include "cli/bench_timing.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

// The host's side of the bargain, counted by kind.
struct Counter {
    std::atomic<std::uint64_t> now{0}, peak{0};
    void add(std::uint64_t bytes) {
        const std::uint64_t sum = now += bytes;
        std::uint64_t highest = peak;
        while (highest < sum && !peak.compare_exchange_weak(highest, sum)) {
        }
    }
};
struct CountingHeap {
    Counter structures, tensors;
    Counter& of(volta_memory_kind kind) { return kind == VOLTA_MEMORY_TENSOR ? tensors : structures; }
    static void* allocate(void* user, std::size_t size, std::size_t alignment, volta_memory_kind kind) {
        void* pointer = nullptr;
        if (posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0)
            return nullptr;
        static_cast<CountingHeap*>(user)->of(kind).add(size);
        return pointer;
    }
    static void release(void* user, void* pointer, std::size_t size, std::size_t, volta_memory_kind kind) {
        static_cast<CountingHeap*>(user)->of(kind).now -= size;
        std::free(pointer);
    }
    volta_allocator allocator() { return {allocate, release, this}; }
};

struct Settings {
    std::string preset = "all";
    bool json = false;
    Machine machine;
};

struct Result {
    volta_bill bill = VOLTA_BILL_INIT;
    std::uint64_t model = 0;       // tensor bytes that the model holds beside the trainer
    std::uint64_t counted = 0;     // the allocator's peak of tensor bytes, without the model's
    std::uint64_t structures = 0;  // its peak of everything else
    std::uint64_t resident = 0;
};

Result measure(const Preset& preset, const Settings& s) {
    CountingHeap heap;
    const volta_allocator allocator = heap.allocator();
    Result result;
    {
        const Context context = make_context(s.machine, &allocator);
        Subject subject =
            language_subject(context, preset, preset.bench_vocabulary, preset.batch, preset.bench_seq);
        result.model = heap.tensors.now;
        Random random(1);
        const Tensor x = random_ids(context, subject.input_shape, subject.vocabulary, random);
        const Tensor y = random_ids(context, subject.target_shape, subject.vocabulary, random);
        const std::uint64_t before = heap.tensors.now;
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = subject.input_shape.data();
        options.input_extent_count = subject.input_shape.size();
        options.clip_norm = 1;
        volta_trainer* made = nullptr;
        check(volta_trainer_create(subject.model.get(), &options, &made));
        subject.model.reset();  // the trainer has its own copy
        const Trainer trainer(made);
        const volta_tensor* const inputs[] = {x.get()};
        for (int i = 0; i < 3; ++i) check(volta_trainer_step(made, inputs, 1, y.get(), nullptr));
        check(volta_trainer_get_bill(made, &result.bill));
        result.counted = heap.tensors.peak - before;
        result.structures = heap.structures.peak;
    }
    result.resident = resident_peak_bytes();
    return result;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / kMiB; }

void print_result(const Preset& preset, const Result& r, bool json) {
    const volta_bill& b = r.bill;
    if (!json) {
        print(formatted("%-10s %9.1f %9.1f %9.1f %11.1f %9.1f %8.1f %9.1f %10.1f %9.1f %10.2f %9.1f\n",
                        preset.name, mib(b.parameters), mib(b.gradients), mib(b.optimizer_state),
                        mib(b.activations), mib(b.workspace), mib(b.staging), mib(b.total), mib(r.counted),
                        mib(r.model), mib(r.structures), mib(r.resident)));
        return;
    }
    print(json_text(Json({{"preset", preset.name},
                          {"batch", preset.batch},
                          {"seq", preset.bench_seq},
                          {"vocab", preset.bench_vocabulary},
                          {"parameters_mib", mib(b.parameters)},
                          {"gradients_mib", mib(b.gradients)},
                          {"optimizer_mib", mib(b.optimizer_state)},
                          {"activations_mib", mib(b.activations)},
                          {"workspace_mib", mib(b.workspace)},
                          {"staging_mib", mib(b.staging)},
                          {"bill_mib", mib(b.total)},
                          {"counted_mib", mib(r.counted)},
                          {"model_mib", mib(r.model)},
                          {"structures_mib", mib(r.structures)},
                          {"resident_mib", mib(r.resident)},
                          {"bill_is_exact", r.counted == b.total}})) +
          "\n");
}

// Runs body in a child process and hands on its exit status.
template <class Body>
void in_a_process_of_its_own(Body&& body) {
    const pid_t child = fork();
    if (child < 0) failure(std::string("fork: ") + std::strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);  // what ends the command ends the measurement
        int status = 0;
        try {
            body();
        } catch (const Stop& stop) {
            if (*stop.what() != '\0')
                std::fprintf(stderr, "%s%s\n", stop.status == kExitFailure ? "voltac: " : "",
                             one_line(stop.what()).c_str());
            status = stop.status;
        }
        _exit(status);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        throw Stop(128 + WTERMSIG(status),
                   formatted("voltac: the measurement ended with signal %d", WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) throw Stop(WEXITSTATUS(status), "");
}

}  // namespace

int run_memory(const std::vector<std::string>& arguments) {
    Settings s;
    Options options(
        "bench memory",
        "Training of the presets with AdamW: the plan's bill by class, in MiB, beside the peak that an "
        "allocator counted for the trainer (equal to the bill), the model's own bytes, structures "
        "(graphs, plans, names), and the most memory the process had resident (VmHWM). Bytes are counted, "
        "not timed, and the bill is the same in every run: there is no --runs, --warmup or spread, nor a "
        "peak "
        "of the machine to compare with.");
    std::vector<std::string> presets = preset_names();
    presets.push_back("all");
    options.choice("--preset", s.preset, presets, "(default: all)");
    options.flag("--json", s.json, "one JSON object per line on standard output");
    options.machine(s.machine);
    options.parse(arguments);
    if (!s.json)
        print(formatted("%-10s %9s %9s %9s %11s %9s %8s %9s %10s %9s %10s %9s\n", "MiB", "params",
                        "gradients", "optimizer", "activations", "workspace", "staging", "bill", "counted",
                        "model", "structures", "resident"));
    for (const Preset& preset : kPresets) {
        if (s.preset != "all" && s.preset != preset.name) continue;
        in_a_process_of_its_own([&] {
            const Result result = measure(preset, s);
            print_result(preset, result, s.json);
            if (result.counted != result.bill.total)
                failure(formatted("preset %s: the bill says %llu bytes, the allocator counted %llu",
                                  preset.name, static_cast<unsigned long long>(result.bill.total),
                                  static_cast<unsigned long long>(result.counted)));
        });
    }
    return 0;
}

}  // namespace voltac::bench
