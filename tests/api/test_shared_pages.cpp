// Two processes that write with one mapped model file share its pages: neither has a copy of the weights.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"
#include "volta.h"

namespace {
using namespace volta::test;

constexpr long kModelKiB = 64 << 10;  // at least

volta_context* make_context() {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.thread_count = 1;
    volta_context* context = nullptr;
    volta_context_create(&options, &context);
    return context;
}

bool save_model_here(const std::string& path) {
    volta_context* context = make_context();
    volta_llama_options options = {};
    options.struct_size = sizeof options;
    options.vocabulary = 8192;
    options.layers = 4;
    options.dim = 512;
    options.heads = 8;
    options.context = 32;
    volta_model* model = nullptr;
    const bool saved = volta_model_create_llama(context, &options, 1, &model) == VOLTA_OK &&
                       volta_model_save(model, path.c_str()) == VOLTA_OK;
    volta_model_release(model);
    volta_context_release(context);
    return saved;
}

// By a process of its own: what malloc keeps of a model that was released could hold a copy of the next one
// unseen.
bool save_model(const std::string& path) {
    const pid_t child = fork();
    if (child == 0) _exit(save_model_here(path) ? 0 : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// The sum of a field, in KiB, over the mappings of a file in /proc/self/smaps.
long mapped_kib(const std::string& path, const char* field) {
    std::FILE* file = std::fopen("/proc/self/smaps", "r");
    char line[4096];
    bool inside = false;
    long sum = 0;
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        const char* const colon = std::strchr(line, ':');
        if (std::strchr(line, '-') != nullptr && (colon == nullptr || std::strchr(line, '-') < colon)) {
            const char* const name = std::strchr(line, '/');
            inside = name != nullptr && path == name;
        } else if (inside && std::strncmp(line, field, std::strlen(field)) == 0) {
            sum += std::strtol(line + std::strlen(field), nullptr, 10);
        }
    }
    if (file != nullptr) std::fclose(file);
    return sum;
}

// Memory of this process that no file holds, in KiB; -1: the system does not say.
long anonymous_kib() {
#if defined(__SANITIZE_ADDRESS__)  // whose own books would be counted
    return -1;
#endif
    std::FILE* file = std::fopen("/proc/self/status", "r");
    char line[512];
    long kib = -1;
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
        if (std::strncmp(line, "RssAnon:", 8) == 0) kib = std::strtol(line + 8, nullptr, 10);
    if (file != nullptr) std::fclose(file);
    return kib;
}

struct Writer {
    volta_context* context = make_context();
    volta_model* model = nullptr;
    volta_generator* generator = nullptr;
    volta_sequence* sequence = nullptr;

    // Opens the file and writes two tokens: every weight is read.
    bool write(const std::string& path, volta_load_mode mode) {
        volta_open_options open = {};
        open.struct_size = sizeof open;
        open.mode = mode;
        volta_generator_options options = {};
        options.struct_size = sizeof options;
        const int32_t prompt = 7;
        int32_t token = 0;
        bool fine = volta_model_open(context, path.c_str(), &open, &model) == VOLTA_OK &&
                    volta_generator_create(model, &options, &generator) == VOLTA_OK &&
                    volta_sequence_create(generator, nullptr, &sequence) == VOLTA_OK &&
                    volta_sequence_append(sequence, &prompt, 1) == VOLTA_OK;
        for (int i = 0; i < 2; ++i)
            fine = fine && volta_generator_step(generator, &sequence, 1, &token) == VOLTA_OK;
        return fine;
    }
    ~Writer() {
        volta_sequence_release(sequence);
        volta_generator_release(generator);
        volta_model_release(model);
        volta_context_release(context);
    }
};

struct Pages {
    long resident, proportional, shared, own, anonymous;  // KiB
};

Pages pages_after_writing(const std::string& path, volta_load_mode mode, bool* fine) {
    const long before = anonymous_kib();
    Writer writer;
    *fine = writer.write(path, mode);
    return {mapped_kib(path, "Rss:"), mapped_kib(path, "Pss:"),
            mapped_kib(path, "Shared_Clean:") + mapped_kib(path, "Shared_Dirty:"),
            mapped_kib(path, "Private_Clean:") + mapped_kib(path, "Private_Dirty:"),
            anonymous_kib() - before};
}

// Another process that has the file open and has written with it, until the end of the scope.
class OtherProcess {
  public:
    explicit OtherProcess(const std::string& path) {
        int ready[2];
        if (pipe(ready) != 0 || pipe(end_) != 0) return;
        child_ = fork();
        if (child_ == 0) {
            close(end_[1]);
            Writer writer;
            char byte = writer.write(path, VOLTA_LOAD_MAP) ? 1 : 0;
            if (write(ready[1], &byte, 1) != 1) _exit(1);
            _exit(read(end_[0], &byte, 1) == 0 ? 0 : 1);
        }
        close(ready[1]);
        char byte = 0;
        runs_ = child_ > 0 && read(ready[0], &byte, 1) == 1 && byte == 1;
        close(ready[0]);
    }
    ~OtherProcess() {
        close(end_[1]);
        if (child_ > 0) waitpid(child_, nullptr, 0);
        close(end_[0]);
    }
    bool runs() const { return runs_; }

  private:
    int end_[2] = {-1, -1};
    pid_t child_ = -1;
    bool runs_ = false;
};

void test_two_processes_share_a_mapped_model(void**) {
    if (access("/proc/self/smaps", R_OK) != 0 || anonymous_kib() < 0) skip();
    const TemporaryFolder folder;
    const std::string path = folder.file("m.volta");
    assert_true(save_model(path));
    const OtherProcess other(path);
    assert_true(other.runs());
    bool fine = false;
    const Pages pages = pages_after_writing(path, VOLTA_LOAD_MAP, &fine);
    assert_true(fine);
    print_message(
        "%ld KiB of the file resident: %ld shared, %ld own, %ld in proportion; %ld KiB without a file\n",
        pages.resident, pages.shared, pages.own, pages.proportional, pages.anonymous);
    assert_true(pages.resident > kModelKiB);
    assert_true(pages.own < pages.resident / 50);
    assert_true(pages.shared > pages.resident / 50 * 49);
    assert_true(pages.proportional < pages.resident * 3 / 5);
    assert_true(pages.anonymous < kModelKiB / 4);
}

// What the first test would see of a loader that copies.
void test_a_copied_model_is_seen(void**) {
    if (access("/proc/self/smaps", R_OK) != 0 || anonymous_kib() < 0) skip();
    const TemporaryFolder folder;
    const std::string path = folder.file("m.volta");
    assert_true(save_model(path));
    bool fine = false;
    const Pages pages = pages_after_writing(path, VOLTA_LOAD_COPY, &fine);
    assert_true(fine);
    assert_int_equal(pages.resident, 0);
    assert_true(pages.anonymous > kModelKiB / 10 * 9);  // what the first test has left may be used again
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_two_processes_share_a_mapped_model),
        cmocka_unit_test(test_a_copied_model_is_seen),
    };
    return cmocka_run_group_tests_name("shared_pages", tests, nullptr, nullptr);
}
