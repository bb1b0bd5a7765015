// NCCL as engine/group/nccl_library.h declares it, against nccl.h: numbers, structures and the binary
// interface of every call. It checks while it compiles (tests/group/check_nccl.sh).
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "engine/group/nccl_library.h"

namespace {
using namespace volta;

// What a parameter is to the machine: pointers are one kind, enumerations are integers, structures are bytes.
template <class T>
using Machine =
    std::conditional_t<std::is_pointer_v<T>, void*,
                       std::conditional_t<std::is_enum_v<T> || std::is_integral_v<T>,
                                          std::integral_constant<std::size_t, sizeof(T)>,
                                          std::integral_constant<std::size_t, 1000000 + sizeof(T)>>>;

template <class... Ours, class OwnResult, class... Theirs, class Result>
constexpr bool same_interface(OwnResult (*)(Ours...), Result (*)(Theirs...)) {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
        return std::is_same_v<Machine<OwnResult>, Machine<Result>> &&
               (std::is_same_v<Machine<Ours>, Machine<Theirs>> && ...);
    else
        return false;
}

#define VOLTA_SAME(member, symbol)                                                    \
    static_assert(same_interface(static_cast<decltype(NcclLibrary::member)>(nullptr), \
                                 static_cast<decltype(&::symbol)>(nullptr)),          \
                  #symbol)
VOLTA_SAME(get_version, ncclGetVersion);
VOLTA_SAME(get_unique_id, ncclGetUniqueId);
VOLTA_SAME(comm_init, ncclCommInitRankConfig);
VOLTA_SAME(comm_finalize, ncclCommFinalize);
VOLTA_SAME(comm_destroy, ncclCommDestroy);
VOLTA_SAME(comm_abort, ncclCommAbort);
VOLTA_SAME(async_error, ncclCommGetAsyncError);
VOLTA_SAME(group_start, ncclGroupStart);
VOLTA_SAME(group_end, ncclGroupEnd);
VOLTA_SAME(send, ncclSend);
VOLTA_SAME(receive, ncclRecv);
VOLTA_SAME(error_string, ncclGetErrorString);
VOLTA_SAME(last_error, ncclGetLastError);

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId) && sizeof(NcclId) == NCCL_UNIQUE_ID_BYTES);
static_assert(int{kNcclSuccess} == int{ncclSuccess} && int{kNcclInProgress} == int{ncclInProgress});
static_assert(int{kNcclFloat32} == int{ncclFloat32});

// The beginning of what the header has now.
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
constexpr ncclConfig_t kInitialised = NCCL_CONFIG_INITIALIZER;
static_assert(kInitialised.magic == kNcclMagic);
static_assert(NCCL_VERSION(2, 14, 0) == kLeastNcclVersion && NCCL_VERSION_CODE >= kLeastNcclVersion);

}  // namespace
