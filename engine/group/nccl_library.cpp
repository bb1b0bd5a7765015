#include "engine/group/nccl_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

namespace {

constexpr const char* kFile = "libnccl.so.2";

template <class Function>
void find(void* library, const char* file, const char* name, Function* out) {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr) fail(VOLTA_UNSUPPORTED, "NCCL: %s has no %s", file, name);
    static_assert(sizeof *out == sizeof symbol, "POSIX: a function's address is a pointer");
    std::memcpy(out, &symbol, sizeof symbol);
}

}  // namespace

NcclVersion::NcclVersion(int version) {
    const int of_major = version < 10000 ? 1000 : 10000;
    std::snprintf(text, sizeof text, "%d.%d.%d", version / of_major, version % of_major / 100, version % 100);
}

NcclLibrary open_nccl_library(const char* named) {
    const char* const file = named == nullptr || *named == '\0' ? kFile : named;
    void* const opened = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened == nullptr) {
        const char* const why = dlerror();
        fail(VOLTA_UNSUPPORTED, "NCCL: %s cannot be opened (%s)", file,
             why == nullptr ? "no reason given" : why);
    }
    NcclLibrary library = {};
    std::snprintf(library.name, sizeof library.name, "%s", file);
    const auto find_in = [&](const char* name, auto* out) { find(opened, file, name, out); };
    find_in("ncclGetVersion", &library.get_version);
    if (library.get_version(&library.version) != kNcclSuccess || library.version < kLeastNcclVersion)
        fail(VOLTA_UNSUPPORTED, "NCCL: %s is of version %s, the oldest that is known here is %s", file,
             NcclVersion(library.version).text, NcclVersion(kLeastNcclVersion).text);
    find_in("ncclGetUniqueId", &library.get_unique_id);
    find_in("ncclCommInitRankConfig", &library.comm_init);
    find_in("ncclCommFinalize", &library.comm_finalize);
    find_in("ncclCommDestroy", &library.comm_destroy);
    find_in("ncclCommAbort", &library.comm_abort);
    find_in("ncclCommGetAsyncError", &library.async_error);
    find_in("ncclGroupStart", &library.group_start);
    find_in("ncclGroupEnd", &library.group_end);
    find_in("ncclSend", &library.send);
    find_in("ncclRecv", &library.receive);
    find_in("ncclGetErrorString", &library.error_string);
    find_in("ncclGetLastError", &library.last_error);
    return library;
}

}  // namespace volta
