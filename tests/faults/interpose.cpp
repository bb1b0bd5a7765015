#include "tests/faults/interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace volta::faults {
namespace {

std::atomic<bool> counts_heap{false}, watches_io{false};
std::atomic<int> aside{0};
std::atomic<std::uint64_t> heap_calls{0};
std::atomic<std::int64_t> heap_blocks{0};

bool heap_is_counted() { return counts_heap.load() && aside.load() == 0; }
void* counted(void* block) {
    if (heap_is_counted()) {
        ++heap_calls;
        if (block != nullptr) ++heap_blocks;
    }
    return block;
}

struct Order {
    std::size_t at;
    Fault fault;
    bool and_all_after;
} order;
std::atomic<std::size_t> io_calls{0};
IoTrace trace;

struct CallRow {
    const char* name;
    unsigned faults;  // bits 1 << Fault
};
constexpr unsigned kIo = 1, kSpace = 2, kInterrupt = 4, kPartial = 8, kDescriptors = 16, kMemory = 32;
constexpr CallRow kCalls[] = {{"open", kIo | kSpace | kInterrupt | kDescriptors | kMemory},
                              {"read", kIo | kInterrupt | kPartial},
                              {"write", kIo | kSpace | kInterrupt | kPartial},
                              {"fsync", kIo | kSpace | kInterrupt},
                              {"rename", kIo | kSpace},
                              {"close", kIo | kSpace | kInterrupt},
                              {"stat", kIo | kMemory},
                              {"mmap", kIo | kMemory},
                              {"mprotect", kIo | kMemory},
                              {"fchmod", kIo | kInterrupt},
                              {"flock", kIo | kInterrupt | kMemory},
                              {"faccessat", kIo | kMemory},
                              {"getdents64", kIo | kInterrupt},
                              {"mkdir", kIo | kSpace},
                              {"unlink", kIo},
                              {"realpath", kIo | kMemory},
                              {"fcntl", kDescriptors},
                              {"madvise", kIo}};
static_assert(sizeof kCalls / sizeof kCalls[0] == static_cast<std::size_t>(Call::count));
struct FaultRow {
    const char* name;
    int error;
};
constexpr FaultRow kFaults[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR},
                                {"short", 0}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}};
static_assert(sizeof kFaults / sizeof kFaults[0] == static_cast<std::size_t>(Fault::count));

// Whether this call fails, and errno then.
bool fails(Call call, bool* is_partial = nullptr) {
    if (!watches_io.load() || aside.load() != 0) return false;
    const std::size_t number = ++io_calls;
    if (number <= kMostCalls) trace.calls[number - 1] = call;
    if (order.at == 0 || number < order.at || (number > order.at && !order.and_all_after)) return false;
    if (!is_possible(call, order.fault)) return false;
    if (order.fault == Fault::partial) {
        if (is_partial != nullptr) *is_partial = true;
        return false;
    }
    errno = kFaults[static_cast<int>(order.fault)].error;
    return true;
}

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto next = real<decltype(&::name)>(#name)

std::size_t half(std::size_t bytes, bool is_partial) { return is_partial && bytes > 1 ? bytes / 2 : bytes; }

}  // namespace

void begin_heap_use() noexcept {
    heap_calls = 0;
    heap_blocks = 0;
    counts_heap = true;
}
HeapUse end_heap_use() noexcept {
    counts_heap = false;
    return {heap_calls, heap_blocks};
}
void* host_take(std::size_t bytes, std::size_t alignment) noexcept {
    return __libc_memalign(alignment < 16 ? 16 : alignment, bytes);
}
void host_give(void* block) noexcept { __libc_free(block); }

const char* name_of(Call call) noexcept { return kCalls[static_cast<int>(call)].name; }
const char* name_of(Fault fault) noexcept { return kFaults[static_cast<int>(fault)].name; }
bool is_possible(Call call, Fault fault) noexcept {
    return (kCalls[static_cast<int>(call)].faults >> static_cast<int>(fault) & 1) != 0;
}

void begin_io(std::size_t at, Fault fault, bool and_all_after) noexcept {
    order = {at, fault, and_all_after};
    io_calls = 0;
    watches_io = true;
}
const IoTrace& end_io() noexcept {
    watches_io = false;
    trace.count = io_calls;
    return trace;
}

Aside::Aside() noexcept { ++aside; }
Aside::~Aside() { --aside; }

}  // namespace volta::faults

using namespace volta::faults;

extern "C" {

void* malloc(std::size_t bytes) { return counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return counted(__libc_calloc(count, bytes)); }
void* realloc(void* block, std::size_t bytes) {
    void* const moved = __libc_realloc(block, bytes);
    return block == nullptr ? counted(moved) : moved;
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    return counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
    void* const block = counted(__libc_memalign(alignment, bytes));
    if (block == nullptr) return ENOMEM;
    *out = block;
    return 0;
}
void free(void* block) {
    if (block != nullptr && heap_is_counted()) --heap_blocks;
    __libc_free(block);
}

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    REAL(open);
    return fails(Call::open) ? -1 : next(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    REAL(openat);
    return fails(Call::open) ? -1 : next(folder, path, flags, mode);
}
ssize_t read(int file, void* data, std::size_t bytes) {
    bool is_partial = false;
    REAL(read);
    return fails(Call::read, &is_partial) ? -1 : next(file, data, half(bytes, is_partial));
}
ssize_t pread(int file, void* data, std::size_t bytes, off_t offset) {
    bool is_partial = false;
    REAL(pread);
    return fails(Call::read, &is_partial) ? -1 : next(file, data, half(bytes, is_partial), offset);
}
ssize_t write(int file, const void* data, std::size_t bytes) {
    bool is_partial = false;
    REAL(write);
    return fails(Call::write, &is_partial) ? -1 : next(file, data, half(bytes, is_partial));
}
int fsync(int file) {
    REAL(fsync);
    return fails(Call::sync) ? -1 : next(file);
}
int rename(const char* from, const char* to) noexcept {
    REAL(rename);
    return fails(Call::rename) ? -1 : next(from, to);
}
// Linux has closed the file whatever it says.
int close(int file) {
    REAL(close);
    const bool failed = fails(Call::close);
    const int error = errno, result = next(file);
    if (failed) errno = error;
    return failed ? -1 : result;
}
int fstat(int file, struct stat* status) noexcept {
    REAL(fstat);
    return fails(Call::stat) ? -1 : next(file, status);
}
int stat(const char* path, struct stat* status) noexcept {
    static const auto next = real<int (*)(const char*, struct stat*)>("stat");
    return fails(Call::stat) ? -1 : next(path, status);
}
int lstat(const char* path, struct stat* status) noexcept {
    REAL(lstat);
    return fails(Call::stat) ? -1 : next(path, status);
}
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
    REAL(fstatat);
    return fails(Call::stat) ? -1 : next(folder, path, status, flags);
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    REAL(mmap);
    return fails(Call::map) ? MAP_FAILED : next(at, bytes, protection, flags, file, offset);
}
int mprotect(void* at, std::size_t bytes, int protection) noexcept {
    REAL(mprotect);
    return fails(Call::protect) ? -1 : next(at, bytes, protection);
}
int fchmod(int file, mode_t mode) noexcept {
    REAL(fchmod);
    return fails(Call::change_mode) ? -1 : next(file, mode);
}
int flock(int file, int operation) noexcept {
    REAL(flock);
    return fails(Call::lock) ? -1 : next(file, operation);
}
int faccessat(int folder, const char* path, int mode, int flags) noexcept {
    REAL(faccessat);
    return fails(Call::access) ? -1 : next(folder, path, mode, flags);
}
ssize_t getdents64(int folder, void* data, std::size_t bytes) noexcept {
    REAL(getdents64);
    return fails(Call::list) ? -1 : next(folder, data, bytes);
}
int mkdir(const char* path, mode_t mode) noexcept {
    REAL(mkdir);
    return fails(Call::make_folder) ? -1 : next(path, mode);
}
int unlink(const char* path) noexcept {
    REAL(unlink);
    return fails(Call::remove) ? -1 : next(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
    REAL(unlinkat);
    return fails(Call::remove) ? -1 : next(folder, path, flags);
}
char* realpath(const char* path, char* resolved) noexcept {
    REAL(realpath);
    return fails(Call::resolve) ? nullptr : next(path, resolved);
}
int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    REAL(fcntl);
    return fails(Call::duplicate) ? -1 : next(file, command, argument);
}
int madvise(void* at, std::size_t bytes, int advice) noexcept {
    REAL(madvise);
    return fails(Call::advise) ? -1 : next(at, bytes, advice);
}
int posix_madvise(void* at, std::size_t bytes, int advice) noexcept {
    REAL(posix_madvise);
    return fails(Call::advise) ? EIO : next(at, bytes, advice);
}
}
