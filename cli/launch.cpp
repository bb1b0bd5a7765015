#include "cli/launch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "cli/group.h"
#include "cli/support.h"
#include "cli/text.h"

extern char** environ;

namespace voltac {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace(2);

std::string reason() { return std::strerror(errno); }

// The signals that wait() takes, kept back from this process while it lives.
class HeldSignals {
  public:
    HeldSignals() {
        std::signal(SIGCHLD, SIG_DFL);  // ignored, it would leave no status to read
        sigemptyset(&held_);
        for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction now = {};
            sigaction(signal, nullptr, &now);
            if (signal != SIGHUP || now.sa_handler != SIG_IGN) sigaddset(&held_, signal);  // nohup
        }
        sigprocmask(SIG_BLOCK, &held_, &before_);
    }
    ~HeldSignals() { release(); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    void release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    // The next one; 0: the time is over.
    int wait(std::chrono::nanoseconds most) const {
        most = std::max(most, std::chrono::nanoseconds(0));
        struct timespec time = {};
        time.tv_sec = static_cast<std::time_t>(most.count() / 1000000000);
        time.tv_nsec = static_cast<long>(most.count() % 1000000000);
        return std::max(0, sigtimedwait(&held_, nullptr, &time));
    }

  private:
    sigset_t held_ = {}, before_ = {};
};

// A folder of this start alone, where ranks find each other.
class MeetingPlace {
  public:
    MeetingPlace() {
        const char* const parent = std::getenv("TMPDIR");
        path_ = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/voltac-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) failure("launch: the folder " + path_ + ": " + reason());
    }
    ~MeetingPlace() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    MeetingPlace(const MeetingPlace&) = delete;
    MeetingPlace& operator=(const MeetingPlace&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

// A port that is free now.
std::string local_address() {
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<struct sockaddr*>(&address);
    const bool is_bound = file >= 0 && bind(file, any, size) == 0 && getsockname(file, any, &size) == 0;
    const std::string why = reason();
    if (file >= 0) close(file);
    if (!is_bound) failure("launch: no port of 127.0.0.1: " + why);
    return formatted("127.0.0.1:%u", static_cast<unsigned>(ntohs(address.sin_port)));
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> list;
    list.reserve(words.size() + 1);
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    return list;
}

// This environment, but for what says where in the group a rank is.
std::vector<std::string> environment_of(const Launch& launch, const std::string& address, std::int64_t rank) {
    std::vector<std::string> set = {std::string(kRank) + "=" + std::to_string(rank),
                                    std::string(kRanks) + "=" + std::to_string(launch.ranks),
                                    std::string(kTransport) + "=" + launch.transport,
                                    std::string(kAddress) + "=" + address, std::string(kTimeout) + "="};
    if (launch.timeout > 0) set.back() += formatted("%.9g", launch.timeout);
    if (launch.threads > 0) set.push_back("VOLTA_NUM_THREADS=" + std::to_string(launch.threads));
    const std::size_t count = set.size();
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable, name = text.substr(0, text.find('=') + 1);
        const bool is_set = std::any_of(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(count),
                                        [&](const std::string& one) { return one.rfind(name, 0) == 0; });
        if (!is_set) set.push_back(text);
    }
    return set;
}

// What the log of a rank ends with.
std::string last_line(const std::string& path) {
    std::ifstream file(path);
    std::string line, last;
    while (std::getline(file, line))
        if (!line.empty()) last = line;
    return last;
}

struct Rank {
    pid_t process = -1;  // -1: it has ended
    int status = 0;      // as waitpid gives it

    bool is_killed() const { return WIFSIGNALED(status); }
    int exit_status() const { return is_killed() ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }
    // Asked to end, it has; or nobody reads what it says.
    bool is_asked() const {
        const int code = exit_status();
        return !is_killed() &&
               (code == kExitPipe || code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP);
    }
    bool has_failed() const { return exit_status() != 0 && !is_asked(); }
};

struct NotStarted : Stop {
    using Stop::Stop;
};

class Ranks {
  public:
    Ranks(const Launch& launch, const std::vector<std::string>& words)
        : launch_(launch),
          words_(words),
          address_(launch.transport == "local" ? place_.path() : local_address()) {
        words_.insert(words_.begin(), "voltac");
    }
    ~Ranks() {  // none is left where a start failed
        send(SIGKILL);
        for (const Rank& rank : ranks_)
            if (rank.process > 0) waitpid(rank.process, nullptr, 0);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    void start() {
        for (std::int64_t rank = 0; rank < launch_.ranks; ++rank) start(rank);
    }
    Outcome wait() {
        while (is_running()) {
            const int signal =
                signals_.wait(stage_ == kNone ? std::chrono::hours(1) : deadline_ - Clock::now());
            if (signal == SIGCHLD) {
                take_ended();
            } else if (signal != 0) {
                interrupted_by_ = signal;
                send(signal);
            } else if (stage_ != kNone && Clock::now() >= deadline_) {
                press();
            }
        }
        return outcome();
    }

  private:
    enum Stage { kNone, kAlone, kAsked, kKilled };  // of ending those that a failure has left

    std::string log_of(std::int64_t rank) const {
        return launch_.logs + formatted("/rank-%lld.log", static_cast<long long>(rank));
    }

    void start(std::int64_t rank) {
        std::vector<std::string> environment = environment_of(launch_, address_, rank);
        const std::vector<char*> variables = pointers(environment), words = pointers(words_);
        const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const int log =
            rank == 0 ? -1 : open(log_of(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (input < 0 || (rank > 0 && log < 0)) failure("launch: " + log_of(rank) + ": " + reason());
        int told[2];  // why a process could not become the program
        if (pipe2(told, O_CLOEXEC) != 0) failure("launch: a pipe: " + reason());
        const pid_t parent = getpid(), process = fork();
        if (process == 0) {
            become(parent, input, log, words.data(), variables.data());
            const int why = errno;
            if (write(told[1], &why, sizeof why) < 0) _exit(kExitFailure);
            _exit(kExitFailure);
        }
        int why = process < 0 ? errno : 0;
        close(told[1]);
        if (process > 0 && read(told[0], &why, sizeof why) < 0) why = errno;
        for (const int file : {told[0], input, log})
            if (file >= 0) close(file);
        if (process > 0) ranks_.push_back({process, 0});
        if (why != 0)
            throw NotStarted(
                kExitFailure,
                formatted("launch: rank %lld of %lld could not be started: %s", static_cast<long long>(rank),
                          static_cast<long long>(launch_.ranks), std::strerror(why)));
    }

    // Between fork and exec, in the new process. Returns where it could not. A process group of its own: of a
    // terminal's Ctrl-C it hears once, from here.
    void become(pid_t parent, int input, int log, char* const* words, char* const* variables) const {
        signals_.release();
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(kExitFailure);  // it has gone before that
        if (dup2(input, 0) < 0) return;
        if (log >= 0 && (dup2(log, 1) < 0 || dup2(log, 2) < 0)) return;
        execve("/proc/self/exe", words, variables);
    }

    bool is_running() const {
        return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.process > 0; });
    }

    void send(int signal) const {
        for (const Rank& rank : ranks_)
            if (rank.process > 0) kill(rank.process, signal);
    }

    // Of ranks that fail because another did, that one is meant which a signal has ended.
    void take_ended() {
        for (std::size_t i = 0; i < ranks_.size(); ++i) {
            Rank& rank = ranks_[i];
            if (rank.process <= 0 || waitpid(rank.process, &rank.status, WNOHANG) != rank.process) continue;
            rank.process = -1;
            if (!rank.has_failed() || stage_ > kAlone) continue;
            if (failed_ < 0 || (rank.is_killed() && !ranks_[static_cast<std::size_t>(failed_)].is_killed()))
                failed_ = static_cast<int>(i);
            if (stage_ == kNone) begin(kAlone);
        }
    }

    void begin(Stage stage) {
        stage_ = stage;
        deadline_ = Clock::now() + kGrace;
    }

    void press() {
        send(stage_ == kAlone ? SIGTERM : SIGKILL);
        begin(stage_ == kAlone ? kAsked : kKilled);
    }

    Outcome outcome() const {
        Outcome outcome;
        outcome.status = ranks_[0].exit_status();
        if (failed_ < 0 || interrupted_by_ != 0) return outcome;
        const Rank& rank = ranks_[static_cast<std::size_t>(failed_)];
        outcome.status = rank.exit_status();
        outcome.is_lost = outcome.status != kExitUsage;
        outcome.failure = formatted("rank %d of %lld ", failed_, static_cast<long long>(launch_.ranks)) +
                          (rank.is_killed() ? formatted("was ended by signal %d (%s)", WTERMSIG(rank.status),
                                                        strsignal(WTERMSIG(rank.status)))
                                            : formatted("ended with exit status %d", outcome.status)) +
                          last_words();
        return outcome;
    }

    std::string last_words() const {
        if (failed_ == 0) return "; what it said is above";
        const std::string log = log_of(failed_), line = last_line(log);
        return line.empty() ? "; " + log + " is empty" : "; " + log + " ends: " + line;
    }

    Launch launch_;
    std::vector<std::string> words_;
    MeetingPlace place_;
    std::string address_;
    HeldSignals signals_;
    std::vector<Rank> ranks_;
    Stage stage_ = kNone;
    Clock::time_point deadline_;
    int failed_ = -1, interrupted_by_ = 0;
};

}  // namespace

Outcome run_ranks(const Launch& launch, const std::vector<std::string>& words) {
    Ranks ranks(launch, words);
    try {
        ranks.start();
    } catch (const NotStarted& why) {
        return {why.status, why.what(), true, true};
    }
    return ranks.wait();
}

}  // namespace voltac
