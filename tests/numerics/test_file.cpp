// Files: mappings refuse what is no file, and a save is the old file or the new one whatever fails in
// between.
#include "engine/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "tests/support/errors.h"
#include "tests/support/refused_call.h"

namespace {
bool folders_sync = true, files_sync = true;  // false: their sync fails, as of a disk that breaks then
}

// In the place of the C library's.
extern "C" int fsync(int descriptor) {
    struct stat status;
    const bool fails =
        fstat(descriptor, &status) == 0 && !(S_ISDIR(status.st_mode) ? folders_sync : files_sync);
    if (fails) return errno = EIO, -1;
    return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace {
using namespace volta;
using namespace volta::test;

auto* const kHeap = std::pmr::new_delete_resource();
char folder[] = "/tmp/volta_test_file_XXXXXX";

std::string in_folder(const char* name) { return std::string(folder) + "/" + name; }

void put(const std::string& path, const char* text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(text, 1, strlen(text), file);
    std::fclose(file);
}

// The content, or "(none)".
std::string get(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return "(none)";
    char bytes[4096];
    const std::size_t n = std::fread(bytes, 1, sizeof bytes, file);
    std::fclose(file);
    return std::string(bytes, n);
}

void save(const std::string& path, const std::string& text) {
    AtomicFile file(path.c_str(), kHeap);
    file.write(text.data(), text.size());
    file.commit();
}

int entries_in_folder() {
    int count = 0;
    DIR* dir = opendir(folder);
    while (readdir(dir) != nullptr) ++count;
    closedir(dir);
    return count - 2;  // "." and ".."
}

int make_folder(void**) { return mkdtemp(folder) == nullptr; }

int remove_folder(void**) {
    const std::string command = std::string("rm -rf '") + folder + "'";
    return std::system(command.c_str());
}

// Every test starts with an empty folder.
int empty_folder(void**) {
    const std::string command = std::string("chmod u+w '") + folder + "' && rm -rf '" + folder + "'/*";
    return std::system(command.c_str());
}

// ---- Reading
// -----------------------------------------------------------------------------------------------

void test_mapping_and_reading_give_the_bytes(void**) {
    const std::string path = in_folder("data");
    put(path, "hello");
    MappedFile mapped(path.c_str());
    const MappedFile &left = mapped, moved(std::move(mapped));
    const Buffer buffer = read_file(path.c_str(), kHeap);
    assert_true(left.data() == nullptr && left.bytes() == 0 && moved.bytes() == 5 && buffer.bytes() == 5);
    assert_memory_equal(moved.data(), "hello", 5);
    assert_memory_equal(buffer.data(), "hello", 5);
    assert_true(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
}

void test_a_file_may_be_as_large_as_is_read(void**) {
    const std::string path = in_folder("limited");
    put(path, "hello");
    assert_int_equal(read_file(path.c_str(), kHeap, 5).bytes(), 5);
    assert_failure(failure_of([&] { read_file(path.c_str(), kHeap, 4); }), VOLTA_IO_ERROR,
                   "it has 5 bytes, at most 4 are read");
}

void test_empty_file_has_no_bytes(void**) {
    const std::string path = in_folder("empty");
    put(path, "");
    const MappedFile mapped(path.c_str());
    const Buffer buffer = read_file(path.c_str(), kHeap);
    assert_true(mapped.bytes() == 0 && mapped.data() == nullptr && buffer.bytes() == 0);
}

void test_a_file_is_read_from_its_beginning_on(void**) {
    const std::string path = in_folder("stream");
    put(path, "hello");
    FileReader file(path.c_str(), kHeap);
    char first[3] = "", rest[4] = "";
    file.read(first, 2);
    file.read(rest, 3);
    assert_true(file.bytes() == 5 && std::string(first) == "he" && std::string(rest) == "llo");
    assert_failure(failure_of([&] { file.read(first, 1); }), VOLTA_IO_ERROR,
                   (path + "': it has become shorter").c_str());
    assert_failure(failure_of([&] { FileReader(folder, kHeap); }), VOLTA_IO_ERROR, "it is a directory");
}

void assert_unreadable(const std::string& path, const char* reason) {
    assert_failure(failure_of([&] { MappedFile{path.c_str()}; }), VOLTA_IO_ERROR, reason);
    assert_failure(failure_of([&] { read_file(path.c_str(), kHeap); }), VOLTA_IO_ERROR, reason);
}

void test_what_is_no_file_is_refused_by_name(void**) {
    const std::string fifo = in_folder("fifo"), missing = in_folder("missing");
    mkfifo(fifo.c_str(), 0600);
    assert_unreadable(missing, (missing + "': No such file or directory").c_str());
    assert_unreadable(folder, "it is a directory");
    assert_unreadable(fifo, "it is not a regular file");  // and opening it does not block
    assert_unreadable("/dev/zero", "it is not a regular file");
    assert_failure(failure_of([] { MappedFile{""}; }), VOLTA_INVALID_ARGUMENT, "path");
}

// As of one that somebody writes meanwhile: the system says that it has no bytes, and then gives some.
void test_a_file_that_is_longer_than_it_was_is_refused(void**) {
    assert_failure(failure_of([] { read_file("/proc/self/status", kHeap); }), VOLTA_IO_ERROR,
                   "cannot read '/proc/self/status': its size changed while it was being read");
}

// ---- Memory in files
// ---------------------------------------------------------------------------------------

void test_room_that_the_disk_does_not_have_is_refused(void**) {
    rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 65536;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    const Failure failure = failure_of([] { ScratchFile(folder, 1 << 20, kHeap); });
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_failure(failure, VOLTA_IO_ERROR,
                   (std::string("cannot reserve 1048576 bytes in '") + folder + "': File too large").c_str());
    assert_int_equal(entries_in_folder(), 0);
}

// What `body` returns in a child in which calls of the system are refused.
enum Ended { kWrong = 1, kCannotRefuse = 2, kRight = 0 };
template <class Body>
int ended_with_refused(unsigned number, unsigned argument, std::uint32_t bits, unsigned error, Body body) {
    const pid_t child = fork();
    if (child == 0)
        _exit(!refuse_calls(number, argument, bits, error) ? kCannotRefuse : body() ? kRight : kWrong);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kWrong;
}

// A file system that has only files with names: the name goes at once.
void test_memory_is_in_a_file_without_a_name_everywhere(void**) {
    const int ended = ended_with_refused(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP, [] {
        const ScratchFile file(folder, 8192, kHeap);
        std::memset(file.data(), 7, file.bytes());
        return file.bytes() == 8192 && file.data()[8191] == 7 && entries_in_folder() == 0;
    });
    if (ended == kCannotRefuse) skip();
    assert_int_equal(ended, kRight);
}

// ---- Saving
// ------------------------------------------------------------------------------------------------

void test_save_replaces_the_file_at_commit_and_not_before(void**) {
    const std::string path = in_folder("model");
    put(path, "old");
    {
        AtomicFile file(path.c_str(), kHeap);
        file.write("ne", 2);
        file.write("w", 1);
        assert_true(get(path) == "old" && file.written() == 3);
        file.commit();
        assert_true(get(path) == "new");
        assert_failure(failure_of([&] { file.write("x", 1); }), VOLTA_INVALID_STATE, "committed already");
        assert_failure(failure_of([&] { file.commit(); }), VOLTA_INVALID_STATE, "committed already");
    }
    assert_int_equal(entries_in_folder(), 1);
}

void test_save_without_commit_leaves_nothing(void**) {
    const std::string path = in_folder("model");
    { AtomicFile(path.c_str(), kHeap).write("half", 4); }
    assert_int_equal(entries_in_folder(), 0);
    put(path, "old");
    { AtomicFile(path.c_str(), kHeap).write("half", 4); }
    assert_true(get(path) == "old" && entries_in_folder() == 1);
}

// A disk that is full: the limit on file sizes fails the write in the same way.
void test_full_disk_keeps_the_old_file(void**) {
    const std::string path = in_folder("model");
    put(path, "old");
    const std::string large(100000, 'x');
    rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 65536;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    const Failure failure = failure_of([&] { save(path, large); });
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_failure(failure, VOLTA_IO_ERROR, (path + "': File too large").c_str());
    assert_true(get(path) == "old" && entries_in_folder() == 1);
}

// The last step of all: the new file stands there by then.
void test_folder_that_cannot_be_synced_has_the_new_file(void**) {
    const std::string path = in_folder("model");
    put(path, "old");
    folders_sync = false;
    const Failure failure = failure_of([&] { save(path, "new"); });
    folders_sync = true;
    assert_failure(
        failure, VOLTA_IO_ERROR,
        (path + "' is written and in its place, but it may not survive a power cut: cannot sync its folder: "
                "Input/output error")
            .c_str());
    assert_true(get(path) == "new" && entries_in_folder() == 1);
}

// What did not reach the disk takes no file's place.
void test_a_file_that_is_not_synced_replaces_nothing(void**) {
    const std::string path = in_folder("unsynced");
    save(path, "old");
    files_sync = false;
    const Failure failure = failure_of([&] { save(path, "new"); });
    files_sync = true;
    assert_failure(failure, VOLTA_IO_ERROR, "Input/output error");
    assert_true(get(path) == "old" && entries_in_folder() == 1);
}

// A number that is no process's: of one that has just ended.
long ended_process() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
}

std::string temporary_of(const std::string& path, long process, const char* rest) {
    return path + ".tmp-" + std::to_string(process) + rest;
}

void test_what_killed_saves_left_goes_with_the_next(void**) {
    const std::string path = in_folder("model");
    put(path, "old");
    for (int i = 0; i < 5; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            AtomicFile first(path.c_str(), kHeap), second(path.c_str(), kHeap);
            first.write("half", 4);
            kill(getpid(), SIGKILL);
        }
        waitpid(child, nullptr, 0);
        assert_int_equal(entries_in_folder(), 3);  // the two of the process before are gone
    }
    put(temporary_of(path, getpid(), "-7"), "of another process that had this number");
    save(path, "new");
    assert_true(get(path) == "new" && entries_in_folder() == 1);
}

// Of everybody else nothing is removed: other names, processes that live, files that somebody holds.
void test_other_files_stay(void**) {
    const std::string path = in_folder("model");
    const long ended = ended_process();
    const std::string others[] = {
        in_folder("another") + ".tmp-" + std::to_string(ended) + "-0",
        temporary_of(path, ended, ""),
        temporary_of(path, ended, "-"),
        temporary_of(path, ended, "-0x"),
        temporary_of(path, ended, "-0-0"),
        path + ".tmp--0",
        path + ".tmp-x-0",
        path + ".tmp-99999999999999999999-0",
        temporary_of(path, getppid(), "-0"),  // unlocked, as on a file system without locks
        temporary_of(path, 1, "-0"),
    };
    for (const std::string& name : others) put(name, "mine");
    const std::string held = temporary_of(path, ended, "-1"), linked = temporary_of(path, ended, "-2");
    put(held, "of a process of another machine");
    assert_int_equal(symlink("model.tmp-x-0", linked.c_str()), 0);
    assert_int_equal(mkdir(temporary_of(path, ended, "-3").c_str(), 0700), 0);
    const int descriptor = open(held.c_str(), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    const int before = entries_in_folder();
    save(path, "new");
    assert_int_equal(entries_in_folder(), before + 1);
    close(descriptor);
    save(path, "newer");  // nobody holds it any more
    assert_true(entries_in_folder() == before && get(held) == "(none)");
    for (const std::string& name : others) assert_true(get(name) == "mine");
}

// One that is being written by another process survives any number of saves, and its commit wins.
void test_a_living_save_is_left_alone(void**) {
    const std::string path = in_folder("model");
    int ready[2], go[2];
    assert_true(pipe(ready) == 0 && pipe(go) == 0);
    const pid_t child = fork();
    char byte = 0;
    if (child == 0) {
        AtomicFile file(path.c_str(), kHeap);
        file.write("the child's", 11);
        const bool told = write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
        file.commit();
        _exit(told ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    for (int i = 0; i < 3; ++i) save(path, "the parent's");
    assert_true(get(path) == "the parent's" && entries_in_folder() == 2);
    assert_int_equal(write(go[1], &byte, 1), 1);
    int status = 0;
    waitpid(child, &status, 0);
    for (const int end : {ready[0], ready[1], go[0], go[1]}) close(end);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(get(path) == "the child's" && entries_in_folder() == 1);
}

// But one that is being written.
void test_files_are_removed_by_name(void**) {
    const std::string path = in_folder("model");
    AtomicFile being_written(path.c_str(), kHeap);
    for (const char* name : {"a", "b", "model.tmp-1-0"}) put(in_folder(name), "mine");
    assert_int_equal(mkdir(in_folder("c").c_str(), 0700), 0);
    const auto is_removed = [](const void* kept, const char* name) {
        return std::strcmp(static_cast<const char*>(kept), name) != 0;
    };
    remove_files(folder, is_removed, "b");
    assert_true(get(in_folder("a")) == "(none)" && get(in_folder("b")) == "mine");
    assert_int_equal(entries_in_folder(), 3);  // b, c and what is being written
    being_written.write("new", 3);
    being_written.commit();
    assert_true(get(path) == "new");
}

void test_a_folder_has_one_lock(void**) {
    {
        const FolderLock lock(folder);
        assert_failure(failure_of([] { FolderLock{folder}; }), VOLTA_IO_ERROR,
                       "another process or thread is saving there");
    }
    const FolderLock lock(folder);
    assert_failure(failure_of([] { FolderLock{in_folder("none").c_str()}; }), VOLTA_IO_ERROR, "No such file");
}

// A file system without locks: the file is closed again.
void test_a_lock_that_is_refused_is_told(void**) {
    const std::string path = in_folder("lock");
    const int ended = ended_with_refused(SYS_flock, 0, 0, ENOLCK, [&] {
        const int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(before);
        const Failure failure = failure_of([&] { FileLock{path.c_str()}; });
        const int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return failure.status == VOLTA_IO_ERROR && before == after &&
               strstr(failure.text, ("cannot lock '" + path + "': No locks available").c_str()) != nullptr;
    });
    if (ended == kCannotRefuse) skip();
    assert_int_equal(ended, kRight);
}

void test_folders_that_are_made_last(void**) {
    const std::string deep = in_folder("a/b/c");
    folders_sync = false;
    const Failure failure = failure_of([&] { make_folders(deep.c_str(), kHeap); });
    folders_sync = true;
    assert_failure(failure, VOLTA_IO_ERROR, (in_folder("a") + "': Input/output error").c_str());
    make_folders(deep.c_str(), kHeap);
    folders_sync = false;
    make_folders(deep.c_str(), kHeap);  // they are there
    folders_sync = true;
    assert_true(is_folder(deep.c_str()));
}

// Many at once, all of them looking for what was left: each commits its own.
void test_saves_of_many_processes_do_not_disturb_each_other(void**) {
    const std::string path = in_folder("model");
    pid_t children[6];
    for (pid_t& child : children) {
        child = fork();
        if (child != 0) continue;
        const Failure failure = failure_of([&] {
            for (int i = 0; i < 200; ++i) save(path, "whole");
        });
        _exit(failure.status == VOLTA_OK ? 0 : 1);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_true(get(path) == "whole" && entries_in_folder() == 1);
}

void test_code_is_found_by_its_resolved_path(void**) {
    CodePath path, expected = {};
    assert_true(readlink("/proc/self/exe", expected.text, sizeof expected.text - 1) > 0);
    assert_true(path_of_code(reinterpret_cast<const void*>(&entries_in_folder), &path));
    assert_string_equal(path.text, expected.text);
    int on_the_stack = 0;
    assert_true(!path_of_code(&on_the_stack, &path));
    assert_true(!path_of_code(nullptr, &path));
}

// What is mapped of a file that has been removed has no path any more.
void test_code_of_a_removed_file_is_nowhere(void**) {
    const std::string file = in_folder("code");
    put(file, "code");
    const MappedFile mapped(file.c_str());
    CodePath path;
    assert_true(path_of_code(mapped.data(), &path));
    assert_string_equal(path.text, file.c_str());
    unlink(file.c_str());
    assert_false(path_of_code(mapped.data(), &path));
}

// kill -9 in the middle of a save, and then the next save beside what the first one left.
void test_killed_save_keeps_the_old_file(void**) {
    const std::string path = in_folder("model");
    put(path, "old");
    const pid_t child = fork();
    if (child == 0) {
        AtomicFile file(path.c_str(), kHeap);
        file.write("half", 4);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && get(path) == "old" && entries_in_folder() == 2);
    save(path, "new");
    assert_true(get(path) == "new");
}

// Two saves of one path, also within a process, use two temporary files; the later commit wins.
void test_saves_at_once_do_not_mix(void**) {
    const std::string path = in_folder("model");
    AtomicFile a(path.c_str(), kHeap), b(path.c_str(), kHeap);
    a.write("aaa", 3);
    b.write("bb", 2);
    b.commit();
    assert_true(get(path) == "bb");
    a.commit();
    assert_true(get(path) == "aaa" && entries_in_folder() == 1);
}

void test_unwritable_places_are_refused_by_name(void**) {
    const auto text_of = [](const std::string& path) { return failure_of([&] { save(path, "x"); }); };
    assert_failure(text_of(in_folder("no/model")), VOLTA_IO_ERROR, "/no/model': No such file or directory");
    assert_failure(text_of(folder), VOLTA_IO_ERROR, "it is a directory");
    assert_failure(text_of("/dev/null"), VOLTA_IO_ERROR,
                   "it is not a regular file");  // renaming over it would destroy it
    put(in_folder("file"), "");
    assert_failure(text_of(in_folder("file/model")), VOLTA_IO_ERROR, "Not a directory");
    assert_failure(text_of(in_folder("") + std::string(300, 'n')), VOLTA_IO_ERROR, "File name too long");
    assert_failure(text_of(""), VOLTA_INVALID_ARGUMENT, "path");
}

// As a user whom permissions bind (root passes them all, so a child gives up root first).
void test_write_protection_is_respected(void**) {
    const std::string path = in_folder("model");
    put(path, "old");
    chmod(path.c_str(), 0444);
    chmod(folder, 0777);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
        const Failure of_file = failure_of([&] { save(path, "new"); });
        _exit(of_file.status == VOLTA_IO_ERROR && strstr(of_file.text, "Permission denied") ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0 && get(path) == "old" &&
                entries_in_folder() == 1);
}

unsigned mode_of(const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
}

void test_permissions_stay_and_new_files_follow_the_umask(void**) {
    const std::string path = in_folder("model"), fresh = in_folder("fresh");
    put(path, "old");
    chmod(path.c_str(), 0640);
    const mode_t mask = umask(0027);
    save(path, "new");
    save(fresh, "new");
    umask(mask);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(mode_of(fresh), 0640);
}

void test_symbolic_link_stays_and_its_target_is_replaced(void**) {
    const std::string target = in_folder("target"), link = in_folder("link"),
                      dangling = in_folder("dangling");
    put(target, "old");
    assert_int_equal(symlink("target", link.c_str()), 0);
    assert_int_equal(symlink("nowhere", dangling.c_str()), 0);
    save(link, "new");
    save(dangling, "file");
    struct stat status;
    assert_true(lstat(link.c_str(), &status) == 0 && S_ISLNK(status.st_mode) && get(target) == "new");
    assert_true(lstat(dangling.c_str(), &status) == 0 && S_ISREG(status.st_mode) && get(dangling) == "file");
}

void test_path_without_a_folder_is_in_the_current_one(void**) {
    char before[4096];
    assert_true(getcwd(before, sizeof before) != nullptr && chdir(folder) == 0);
    save("model", "new");
    const bool right = get("model") == "new" && chdir(before) == 0;
    assert_true(right && get(in_folder("model")) == "new");
}

void test_files_are_not_inherited_by_programs(void**) {
    constexpr int kMost = 64;
    bool open_before[kMost];
    for (int d = 0; d < kMost; ++d) open_before[d] = fcntl(d, F_GETFD) >= 0;
    int opened = 0, inherited = 0;
    {
        const AtomicFile file(in_folder("model").c_str(), kHeap);
        for (int d = 0; d < kMost; ++d) {
            const int flags = open_before[d] ? -1 : fcntl(d, F_GETFD);
            if (flags >= 0) ++opened, inherited += (flags & FD_CLOEXEC) == 0;
        }
    }
    assert_true(opened == 1 && inherited == 0);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_mapping_and_reading_give_the_bytes, empty_folder),
        cmocka_unit_test_setup(test_a_file_may_be_as_large_as_is_read, empty_folder),
        cmocka_unit_test_setup(test_a_file_that_is_not_synced_replaces_nothing, empty_folder),
        cmocka_unit_test_setup(test_empty_file_has_no_bytes, empty_folder),
        cmocka_unit_test_setup(test_what_is_no_file_is_refused_by_name, empty_folder),
        cmocka_unit_test_setup(test_a_file_that_is_longer_than_it_was_is_refused, empty_folder),
        cmocka_unit_test_setup(test_room_that_the_disk_does_not_have_is_refused, empty_folder),
        cmocka_unit_test_setup(test_memory_is_in_a_file_without_a_name_everywhere, empty_folder),
        cmocka_unit_test_setup(test_a_lock_that_is_refused_is_told, empty_folder),
        cmocka_unit_test_setup(test_code_of_a_removed_file_is_nowhere, empty_folder),
        cmocka_unit_test_setup(test_save_replaces_the_file_at_commit_and_not_before, empty_folder),
        cmocka_unit_test_setup(test_save_without_commit_leaves_nothing, empty_folder),
        cmocka_unit_test_setup(test_full_disk_keeps_the_old_file, empty_folder),
        cmocka_unit_test_setup(test_killed_save_keeps_the_old_file, empty_folder),
        cmocka_unit_test_setup(test_folder_that_cannot_be_synced_has_the_new_file, empty_folder),
        cmocka_unit_test_setup(test_what_killed_saves_left_goes_with_the_next, empty_folder),
        cmocka_unit_test_setup(test_other_files_stay, empty_folder),
        cmocka_unit_test_setup(test_a_living_save_is_left_alone, empty_folder),
        cmocka_unit_test_setup(test_a_file_is_read_from_its_beginning_on, empty_folder),
        cmocka_unit_test_setup(test_files_are_removed_by_name, empty_folder),
        cmocka_unit_test_setup(test_a_folder_has_one_lock, empty_folder),
        cmocka_unit_test_setup(test_folders_that_are_made_last, empty_folder),
        cmocka_unit_test_setup(test_saves_of_many_processes_do_not_disturb_each_other, empty_folder),
        cmocka_unit_test(test_code_is_found_by_its_resolved_path),
        cmocka_unit_test_setup(test_saves_at_once_do_not_mix, empty_folder),
        cmocka_unit_test_setup(test_unwritable_places_are_refused_by_name, empty_folder),
        cmocka_unit_test_setup(test_write_protection_is_respected, empty_folder),
        cmocka_unit_test_setup(test_permissions_stay_and_new_files_follow_the_umask, empty_folder),
        cmocka_unit_test_setup(test_symbolic_link_stays_and_its_target_is_replaced, empty_folder),
        cmocka_unit_test_setup(test_path_without_a_folder_is_in_the_current_one, empty_folder),
        cmocka_unit_test_setup(test_files_are_not_inherited_by_programs, empty_folder),
    };
    return cmocka_run_group_tests_name("files", tests, make_folder, remove_folder);
}
