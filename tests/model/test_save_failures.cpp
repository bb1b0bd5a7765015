// What can go wrong around a save or a load: the disk fills up, the process dies, memory runs out.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "engine/model/model_file.h"
#include "tests/model/expect_error.h"
#include "tests/model/fingerprint.h"
#include "tests/model/model_editor.h"
#include "tests/model/sample_models.h"
#include "tests/model/test_heap.h"
#include "tests/support/tensors.h"

namespace {
int folder_syncs_left = -1;  // then one of a folder fails; -1: none
}

// In the place of the C library's.
extern "C" int fsync(int descriptor) {
    struct stat status;
    const bool is_folder = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder && folder_syncs_left >= 0 && folder_syncs_left-- == 0) return errno = EIO, -1;
    return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace {
using namespace volta;
using namespace volta::test;

// A folder of one test's own.
class Folder {
  public:
    Folder() {
        if (mkdtemp(path_) == nullptr) std::abort();
    }
    ~Folder() {
        each([this](const char* name) { unlink(file(name).c_str()); });
        rmdir(path_);
    }
    const char* path() const { return path_; }
    std::string file(const char* name) const { return std::string(path_) + "/" + name; }
    int count() const {
        int count = 0;
        each([&](const char*) { ++count; });
        return count;
    }

  private:
    template <class Visit>
    void each(Visit visit) const {
        DIR* folder = opendir(path_);
        while (const dirent* entry = readdir(folder))
            if (entry->d_name[0] != '.') visit(entry->d_name);
        closedir(folder);
    }
    char path_[32] = "/tmp/volta-save-XXXXXX";
};

HeapPtr<Model> make_model(TestHeap& heap) { return make_golden_gpt(heap.structures(), heap.tensors()); }

void save(const Model& model, const std::string& path, TestHeap& heap) {
    SaveSource source;
    source.model = &model;
    write_model(source, path.c_str(), heap.structures());
}

// A file size limit is a full disk at that byte. Every size up to the file's: in the metadata, between
// tensors, in the last byte.
void test_a_full_disk_keeps_the_old_file(void**) {
    const Folder folder;
    TestHeap heap;
    const auto model = make_model(heap);
    const std::string path = folder.file("model.volta");
    save(*model, path, heap);
    const std::string old = read_bytes(path);
    model->mutable_parameter(0)[0] = 1;
    signal(SIGXFSZ, SIG_IGN);  // so that a write reports it
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    for (std::size_t limit = 0; limit < old.size(); limit += limit < 256 ? 1 : 997) {
        const rlimit small = {static_cast<rlim_t>(limit), before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        const Failure failure = failure_of([&] { save(*model, path, heap); });
        setrlimit(RLIMIT_FSIZE, &before);
        const bool kept = read_bytes(path) == old;
        if (failure.status != VOLTA_IO_ERROR || !kept) print_error("limit %zu: %s\n", limit, failure.text);
        assert_int_equal(failure.status, VOLTA_IO_ERROR);
        assert_true(kept);
        assert_int_equal(folder.count(), 1);
    }
    save(*model, path, heap);
    assert_true(read_bytes(path) != old);
}

// A power cut may bring the old manifest back where the folder could not be synced: its parts are there.
void test_parts_stay_while_either_manifest_may_be_found(void**) {
    const Folder folder;
    TestHeap heap;
    const auto model = make_model(heap);
    SaveSource source;
    source.model = model.get();
    const std::string path = folder.path(), manifest = folder.file("volta.manifest");
    const auto save_parts = [&] { write_model_parts(source, 2, path.c_str(), heap.structures()); };
    const auto opens = [&] {
        return failure_of([&] { read_model(path.c_str(), {}, heap.structures(), heap.tensors()); }).status ==
               VOLTA_OK;
    };
    save_parts();
    const std::string old = read_bytes(manifest);
    model->mutable_parameter(0)[0] += 1;
    bool was_in_place = false;
    for (int left = 0; left < 3; ++left) {  // of the parts, and of the manifest
        folder_syncs_left = left;
        const Failure failure = failure_of(save_parts);
        folder_syncs_left = -1;
        assert_int_equal(failure.status, VOLTA_IO_ERROR);
        assert_true(failure.mentions("it may not survive a power cut"));
        assert_true(opens());
        const std::string now = read_bytes(manifest);
        was_in_place = now != old;
        assert_int_equal(folder.count(), was_in_place ? 5 : 3);
    }
    assert_true(was_in_place);
    const std::string after = read_bytes(manifest);
    write_bytes(manifest, old);
    assert_true(opens());
    write_bytes(manifest, after);
    save_parts();
    assert_int_equal(folder.count(), 3);
}

// Saves over and over, two contents in turn, until it is killed.
[[noreturn]] void save_until_killed(const std::string& path, int ready) {
    TestHeap heap;
    const auto model = make_model(heap);
    char byte = 1;
    for (int turn = 0;; turn = 1 - turn) {
        model->mutable_parameter(0)[0] = turn == 0 ? 1.0f : 2.0f;
        save(*model, path, heap);
        if (byte != 0 && write(ready, &byte, 1) == 1) byte = 0;
    }
}

void test_a_killed_save_leaves_old_or_new(void**) {
    Random random(11);
    int first = 0, second = 0;
    for (int i = 0; i < 100; ++i) {
        const Folder folder;
        const std::string path = folder.file("model.volta");
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) save_until_killed(path, ready[1]);
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);  // the first file is there
        usleep(static_cast<useconds_t>(random.below(4000)));
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        close(ready[0]);
        close(ready[1]);
        assert_true(WIFSIGNALED(status));

        TestHeap heap;
        float value = 0;
        const Failure failure = failure_of([&] {
            const auto model =
                read_model(path.c_str(), {LoadMode::copy, true}, heap.structures(), heap.tensors());
            value = static_cast<const float*>(model->parameters[0].data)[0];
        });
        assert_int_equal(failure.status, VOLTA_OK);
        assert_true(value == 1 || value == 2);
        (value == 1 ? first : second) += 1;
        // What the killed process left beside it does not stand in the way of the next save.
        const auto model = make_model(heap);
        save(*model, path, heap);
    }
    print_message("killed 100 times: %d found the one content, %d the other\n", first, second);
}

void test_out_of_memory_while_saving_keeps_the_old_file(void**) {
    const Folder folder;
    TestHeap heap;
    const auto model = make_model(heap);
    const std::string path = folder.file("model.volta");
    save(*model, path, heap);
    const std::string old = read_bytes(path);
    model->mutable_parameter(0)[0] = 1;
    long call = 1;
    for (;; ++call) {
        const long held = heap.held;
        heap.calls = 0;
        heap.refused_call = call;
        const Failure failure = failure_of([&] { save(*model, path, heap); });
        heap.refused_call = 0;
        assert_int_equal(heap.held, held);
        assert_int_equal(folder.count(), 1);
        if (failure.status == VOLTA_OK) break;
        assert_int_equal(failure.status, VOLTA_OUT_OF_MEMORY);
        assert_true(read_bytes(path) == old);  // nothing is asked for after the rename
    }
    print_message("a save asks for memory %ld times\n", call - 1);
    assert_true(read_bytes(path) != old);
}

void test_out_of_memory_while_loading_leaks_nothing(void**) {
    const Folder folder;
    TestHeap writer;
    const std::string path = folder.file("model.volta");
    save(*make_model(writer), path, writer);
    const std::string bytes = read_bytes(path);
    for (const LoadMode mode : {LoadMode::map, LoadMode::copy})
        for (const bool from_memory : {false, true})
            for (long call = 1;; ++call) {
                TestHeap heap;
                heap.refused_call = call;
                alignas(64) static char memory[1 << 17];
                assert_true(bytes.size() <= sizeof memory);
                std::copy(bytes.begin(), bytes.end(), memory);
                const Failure failure = failure_of([&] {
                    if (from_memory)
                        read_model(memory, bytes.size(), {mode, true}, heap.structures(), heap.tensors());
                    else
                        read_model(path.c_str(), {mode, true}, heap.structures(), heap.tensors());
                });
                assert_int_equal(heap.held, 0);
                if (failure.status == VOLTA_OK) break;
                if (failure.status != VOLTA_OUT_OF_MEMORY) print_error("call %ld: %s\n", call, failure.text);
                assert_int_equal(failure.status, VOLTA_OUT_OF_MEMORY);
            }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_disk_keeps_the_old_file),
        cmocka_unit_test(test_parts_stay_while_either_manifest_may_be_found),
        cmocka_unit_test(test_a_killed_save_leaves_old_or_new),
        cmocka_unit_test(test_out_of_memory_while_saving_keeps_the_old_file),
        cmocka_unit_test(test_out_of_memory_while_loading_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
