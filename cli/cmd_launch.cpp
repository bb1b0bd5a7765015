// voltac launch: a training run of several processes on this machine, and what becomes of it when one of them
// fails.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/checkpoint_folder.h"
#include "cli/commands.h"
#include "cli/group.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "cli/train_call.h"

namespace voltac {
namespace {

constexpr std::int64_t kMostRanks = 64, kMostRestarts = 1000;
constexpr int kFruitless = 2;  // starts in a row without a checkpoint, behind which there are fewer ranks

struct Settings {
    Launch launch;
    std::int64_t restarts = 0;
    bool fewer = false;
    std::vector<std::string> command;
};

void declare(Options& options, Settings& s) {
    options.integer("--ranks,-n", s.launch.ranks, 1, kMostRanks,
                    "processes, or -n: a power of two, at most --shards of the command");
    options.choice(
        "--transport", s.launch.transport, {"local", "tcp", "nccl"},
        "what ranks exchange bytes by: local sockets, tcp over 127.0.0.1, or nccl from CUDA device to "
        "CUDA device (default: local)");
    options.number("--timeout", s.launch.timeout, Range{0, 86400, true, false},
                   "seconds after which a rank that does not answer is given up (default: 30)");
    options.integer(
        "--restarts", s.restarts, 0, kMostRestarts,
        "how often the run begins again when a rank has failed, from the last checkpoint that it "
        "has written to --out; with half as many processes where two starts have written none, or "
        "so many could not be started (default: 0)");
    options.flag("--fewer", s.fewer, "with --restarts: each further start has half as many processes");
    options.text("--logs", s.launch.logs,
                 "a folder for what ranks but 0 say, rank-1.log and so on (default: --out and .logs)");
    options.texts("--command", s.command,
                  "in a configuration: the words of the command, which otherwise stand behind --");
    options.config();
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

void check_command(const Settings& s) {
    if (s.command.empty())
        usage_error("voltac launch: it needs a command behind --, as voltac launch -n 2 -- train ...");
    if (s.command[0] != "train")
        usage_error("voltac launch: the command is '" + s.command[0] + "', it must be train");
}

void check_call(const Settings& s, const TrainCall& call) {
    const std::int64_t ranks = s.launch.ranks;
    if (ranks == 0) usage_error("voltac launch: --ranks is required (see voltac launch --help)");
    if (!is_power_of_two(ranks))
        usage_error(formatted("voltac launch: --ranks is %lld, it must be a power of two",
                              static_cast<long long>(ranks)));
    if (call.shards != 0 && ranks > call.shards)
        usage_error(shards_sentence("voltac launch", call.shards, ranks));
    if (call.reads_input)
        usage_error(
            "voltac launch: every rank reads the data, and standard input can be read once: name a file");
    if (s.fewer && s.restarts == 0)
        usage_error("voltac launch: --fewer is of further starts: give --restarts");
    if (call.extends && s.restarts > 0)
        usage_error("voltac launch: --restarts would repeat --extend: give one of the two");
}

void make_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
        failure("launch: --logs " + path + ": " + std::strerror(errno));
}

// Each rank its share of the cores.
std::int64_t threads_of(const Settings& s, const TrainCall& call) {
    const char* const given = std::getenv("VOLTA_NUM_THREADS");
    if (call.has_threads || (given != nullptr && *given != '\0')) return 0;
    const Context context = make_context(Machine());
    volta_context_info info = VOLTA_CONTEXT_INFO_INIT;
    check(volta_context_get_info(context.get(), &info));
    return std::max<std::int64_t>(1, info.physical_cores / s.launch.ranks);
}

// A file, as it is now: another one takes its place when a checkpoint is written. Of a folder that is its
// manifest.
class Checkpoint {
  public:
    explicit Checkpoint(const TrainCall& call)
        : path_(call.is_sharded ? manifest_of(call.out) : call.out), is_there_(read(before_)) {}
    bool is_new() const {
        struct stat now;
        if (!read(now)) return false;
        return !is_there_ || now.st_ino != before_.st_ino || now.st_mtim.tv_sec != before_.st_mtim.tv_sec ||
               now.st_mtim.tv_nsec != before_.st_mtim.tv_nsec;
    }

  private:
    bool read(struct stat& info) const { return stat(path_.c_str(), &info) == 0; }
    std::string path_;
    struct stat before_ = {};
    bool is_there_;
};

std::vector<std::string> behind_dashes(std::vector<std::string>& arguments) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    std::vector<std::string> words;
    if (dashes != arguments.end()) words.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
    return words;
}

// Whether the next start has fewer ranks than one that failed: any number gives the same result.
class Patience {
  public:
    explicit Patience(const Settings& s) : is_always_fewer_(s.fewer) {}
    bool is_over(const Outcome& outcome, bool has_written) {
        fruitless_ = has_written ? 0 : fruitless_ + 1;
        const bool is_over = is_always_fewer_ || outcome.is_crowded || fruitless_ == kFruitless;
        if (is_over) fruitless_ = 0;
        return is_over;
    }

  private:
    const bool is_always_fewer_;
    int fruitless_ = 0;
};

int run_to_the_end(Settings s, const TrainCall& call) {
    const Checkpoint checkpoint(call);
    Patience patience(s);
    std::vector<std::string> words = s.command;
    for (std::int64_t start = 1;; ++start) {
        const Checkpoint of_start(call);
        s.launch.threads = threads_of(s, call);
        const Outcome outcome = run_ranks(s.launch, words);
        if (outcome.failure.empty()) return outcome.status;
        if (start > s.restarts || !outcome.is_lost)
            throw Stop(outcome.status, (outcome.status == kExitFailure ? "" : "voltac: ") + outcome.failure);
        const bool goes_on = checkpoint.is_new();
        if (goes_on) words = resumed_call(s.command, call);
        const bool is_fewer = patience.is_over(outcome, of_start.is_new()) && s.launch.ranks > 1;
        if (is_fewer) s.launch.ranks /= 2;
        warn(outcome.failure +
             formatted("; start %lld of %lld ", static_cast<long long>(start + 1),
                       static_cast<long long>(s.restarts + 1)) +
             (goes_on ? "goes on from " + call.out : "begins anew") +
             (is_fewer ? formatted(" with %lld rank%s", static_cast<long long>(s.launch.ranks),
                                   s.launch.ranks == 1 ? "" : "s")
                       : ""));
    }
}

}  // namespace

int run_launch(const std::vector<std::string>& arguments) {
    Settings s;
    Options options(
        "launch",
        "Trains with several processes of this machine, each of which computes some shards of "
        "every batch: the bits are those of one process with as many shards. voltac launch -n 4 -- "
        "train ... --shards 4");
    declare(options, s);
    std::vector<std::string> own = arguments;
    const std::vector<std::string> command = behind_dashes(own);
    options.parse(own);
    if (!command.empty() && options.given("--command"))
        usage_error("voltac launch: --command and -- both say what it starts");
    if (!command.empty()) s.command = command;
    check_command(s);
    const TrainCall call = read_train_call({s.command.begin() + 1, s.command.end()});
    check_call(s, call);
    if (s.launch.logs.empty()) s.launch.logs = call.out + ".logs";
    if (s.launch.ranks > 1) make_folder(s.launch.logs);
    return run_to_the_end(s, call);
}

}  // namespace voltac
