// Processes that save over and over, in every way in which files are replaced, killed at random moments: the
// file is then the old one or the new one, whole, and what the dead left beside it goes with the next save.
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

#include "tests/faults/campaigns.h"

namespace volta::faults {
namespace {

// Two models that differ, and the ways to save either.
struct Savers {
    Context context;
    Model models[2];
    char hashes[2][33];
};

bool make(World& world, Savers& savers) {
    if (world.context(savers.context.out()) != VOLTA_OK) return false;
    volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
    options.vocabulary = 30;
    options.layers = 1;
    options.dim = 32;
    options.heads = 2;
    options.context = 12;
    for (int i = 0; i < 2; ++i)
        if (volta_model_create_gpt(savers.context, &options, 5 + static_cast<unsigned>(i),
                                   savers.models[i].out()) != VOLTA_OK ||
            volta_model_hash(savers.models[i], savers.hashes[i]) != VOLTA_OK)
            return false;
    return true;
}

struct Way {
    const char* file;
    volta_status (*save)(const volta_model* model, const char* path);
    volta_status (*load)(volta_context* context, const char* path, volta_model** out);
    int files = 1, most_left = 1;  // that a save leaves, and one that was killed besides
};
volta_status open_model(volta_context* context, const char* path, volta_model** out) {
    volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
    options.verify = 1;
    return volta_model_open(context, path, &options, out);
}
volta_status import_model(volta_context* context, const char* path, volta_model** out) {
    return volta_model_import(context, path, nullptr, out);
}
volta_status export_onnx(const volta_model* model, const char* path) {
    return volta_model_export_onnx(model, nullptr, path);
}
volta_status save_parts(const volta_model* model, const char* folder) {
    return volta_model_save_sharded(model, 2, folder);
}
constexpr Way kWays[] = {{"killed.volta", volta_model_save, open_model},
                         {"killed.safetensors", volta_model_export_safetensors, import_model},
                         {"killed.onnx", export_onnx, import_model},
                         // Both parts of the old save or of the new one, and what was being written.
                         {"killed.parts", save_parts, open_model, 3, 3}};
constexpr std::size_t kWayCount = sizeof kWays / sizeof kWays[0];

// Files in a folder and in those in it, and takes them away if told to.
int files_in(const char* folder, bool takes_away = false) {
    DIR* const entries = opendir(folder);
    int count = 0;
    while (const dirent* const entry = readdir(entries)) {
        char path[4096];
        std::snprintf(path, sizeof path, "%.3800s/%.255s", folder, entry->d_name);
        if (entry->d_name[0] == '.') continue;
        count += entry->d_type == DT_DIR ? files_in(path, takes_away) : 1;
        if (takes_away) remove(path);
    }
    closedir(entries);
    return count;
}

void sleep_us(long us) {
    const timespec time = {0, us * 1000};
    nanosleep(&time, nullptr);
}

class Campaign final {
  public:
    Campaign(World& world, const char* folder) : world_(world), folder_(folder) {}

    bool run(std::uint64_t kills) {
        if (!make(world_, savers_)) return false;
        void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return false;
        saves_ = new (page) std::atomic<std::uint32_t>(0);
        std::uint64_t leftovers = 0;
        for (std::uint64_t kill = 0; kill < kills && good_; ++kill) {
            const Way& way = kWays[kill % kWayCount];
            std::snprintf(path_, sizeof path_, "%s/%s", folder_, way.file);
            if (way.save(savers_.models[0], path_) != VOLTA_OK) return tell("the first save", kill);
            if (files_in(folder_) != way.files) return tell("something was left beside the file", kill);
            kill_one(way);
            const int left = files_in(folder_) - way.files;
            leftovers += left > 0;
            check_file(way, kill);
            // As the next process that saves: its number is another one than the dead one's.
            if (left > way.most_left) return tell("too many files were left", kill);
            if (way.save(savers_.models[0], path_) != VOLTA_OK) return tell("the next save", kill);
            if (files_in(folder_) != way.files) return tell("the next save left the dead one's file", kill);
            files_in(folder_, true);
        }
        std::printf(
            "kills: %llu during saves of %zu kinds, %llu found the old file, %llu the new one, %llu left a "
            "file beside it, which the next save removed\n",
            static_cast<unsigned long long>(kills), kWayCount, static_cast<unsigned long long>(found_[0]),
            static_cast<unsigned long long>(found_[1]), static_cast<unsigned long long>(leftovers));
        munmap(page, 4096);
        return good_;
    }

  private:
    bool tell(const char* what, std::uint64_t kill) {
        std::printf("kill %llu, %s: %s (%s)\n", static_cast<unsigned long long>(kill), path_, what,
                    volta_last_error());
        return good_ = false;
    }

    // A child that saves the two in turn; it dies at some moment of its first saves.
    void kill_one(const Way& way) {
        saves_->store(0);
        const pid_t child = fork();
        if (child == 0) {
            for (std::uint32_t turn = 1;; ++turn) {
                saves_->store(turn);
                if (way.save(savers_.models[turn % 2], path_) != VOLTA_OK) _exit(1);
            }
        }
        while (saves_->load() == 0) sleep_us(20);
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        sleep_us(static_cast<long>((state_ >> 33) % 900));
        ::kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status)) tell("a save of the child failed", 0);
    }

    void check_file(const Way& way, std::uint64_t kill) {
        Model model;
        char hash[33];
        if (way.load(savers_.context, path_, model.out()) != VOLTA_OK ||
            volta_model_hash(model, hash) != VOLTA_OK) {
            tell("the file does not load", kill);
            return;
        }
        const int which = std::strcmp(hash, savers_.hashes[0]) == 0 ? 0 : 1;
        if (std::strcmp(hash, savers_.hashes[which]) != 0)
            tell("the file is neither the old nor the new one", kill);
        ++found_[which];
    }

    World& world_;
    const char* folder_;
    Savers savers_;
    char path_[4096] = "";
    std::atomic<std::uint32_t>* saves_ = nullptr;
    std::uint64_t state_ = 1, found_[2] = {0, 0};
    bool good_ = true;
};

}  // namespace

bool kill_saves(World& world, const char* folder, std::uint64_t kills) {
    const bool good = Campaign(world, folder).run(kills);
    if (world.heap.live_bytes == 0) return good;
    std::printf("kills: %lld bytes were left\n", static_cast<long long>(world.heap.live_bytes));
    return false;
}

}  // namespace volta::faults
