// NCCL by its binary interface, opened at run time: nothing of it is there when this library is built. What
// is declared here is what is called; tests/group/test_nccl_abi.cpp compares it with nccl.h where that is
// found.
#pragma once

#include <cstddef>

namespace volta {

using NcclResult = int;
using NcclComm = struct ncclComm*;
enum : NcclResult { kNcclSuccess = 0, kNcclInProgress = 7 };
enum : int { kNcclFloat32 = 7 };  // ncclDataType_t

struct NcclId {  // ncclUniqueId
    char bytes[128];
};

// ncclConfig_t as it was in 2.14, of which later ones are longer: its version says so to the library.
struct NcclConfig {
    std::size_t size;
    unsigned magic, version;
    int blocking;
};
inline constexpr unsigned kNcclMagic = 0xcafebeef;
inline constexpr int kLeastNcclVersion = 21400;

struct NcclLibrary {
    char name[256];  // that it was opened by
    int version;     // 10000 * major + 100 * minor + patch; below 2.9: 1000 * major

    NcclResult (*get_version)(int* version);
    NcclResult (*get_unique_id)(NcclId* id);
    NcclResult (*comm_init)(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config);
    NcclResult (*comm_finalize)(NcclComm comm);
    NcclResult (*comm_destroy)(NcclComm comm);
    NcclResult (*comm_abort)(NcclComm comm);
    NcclResult (*async_error)(NcclComm comm, NcclResult* error);
    NcclResult (*group_start)();
    NcclResult (*group_end)();
    NcclResult (*send)(const void* from, std::size_t count, int type, int peer, NcclComm comm, void* stream);
    NcclResult (*receive)(void* to, std::size_t count, int type, int peer, NcclComm comm, void* stream);
    const char* (*error_string)(NcclResult result);
    const char* (*last_error)(NcclComm comm);
};

struct NcclVersion {  // as people write it
    explicit NcclVersion(int version);
    char text[40];
};

// The library `named`; NULL or empty: libnccl.so.2. It stays loaded. Throws UNSUPPORTED: it cannot be
// opened, it lacks a function, it is older than 2.14.
NcclLibrary open_nccl_library(const char* named);

}  // namespace volta
