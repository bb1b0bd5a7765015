#include "engine/group/mpi_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

namespace {

// clang-format off
constexpr MpiAbi kAbis[] = {
    // Open MPI 4 and 5.
    {"Open MPI", "openmpi", {"libmpi.so.40", nullptr}, "ompi_mpi_comm_world", false, {"ompi_mpi_comm_world", 0},
     {"ompi_mpi_byte", 0}, {"ompi_mpi_errors_return", 0}, -1, 2, 24, 0},
    // What MPICH 3 and 4, and their relatives, have in common. Debian names the file as the project.
    {"MPICH", "mpich", {"libmpi.so.12", "libmpich.so.12"}, "MPIR_Dup_fn", true, {nullptr, 0x44000000},
     {nullptr, 0x4c00010d}, {nullptr, 0x54000001}, -2, 2, 20, 2},
    // The standard's own since MPI 5.
    {"the standard ABI of MPI 5", "mpich", {"libmpi_abi.so.1", "libmpi_abi.so.0"}, "MPI_Abi_get_version", false,
     {nullptr, 0x101}, {nullptr, 0x247}, {nullptr, 0x143}, -1, 2048, 32, 0},
};
// clang-format on

// Open MPI's modules, which it opens itself, look for symbols of its libraries among the global ones where
// they were linked without them.
constexpr int kHow = RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE;

const MpiAbi* abi_of(void* library) {
    for (const MpiAbi& abi : kAbis)
        if (dlsym(library, abi.mark) != nullptr) return &abi;
    return nullptr;
}

// False where it cannot be opened.
bool open_as(const char* name, int how, MpiLibrary* out) {
    out->opened = dlopen(name, how);
    if (out->opened == nullptr) return false;
    out->abi = abi_of(out->opened);
    std::snprintf(out->name, sizeof out->name, "%s", name);
    if (out->abi == nullptr)
        fail(VOLTA_UNSUPPORTED, "%s was opened, but it has none of the interfaces of MPI that are known here",
             name);
    return true;
}

bool is_of(const MpiAbi& abi, const char* starter) {
    return starter == nullptr || std::strcmp(abi.starter, starter) == 0;
}

bool open_any(const char* starter, int how, MpiLibrary* out) {
    for (const MpiAbi& abi : kAbis)
        for (const char* const name : abi.libraries)
            if (name != nullptr && is_of(abi, starter) && open_as(name, how, out)) return true;
    return false;
}

}  // namespace

MpiLibrary open_mpi_library(const char* named) {
    MpiLibrary library = {};
    const char* starter = nullptr;
    for (const MpiAbi& abi : kAbis)
        if (named != nullptr && std::strcmp(abi.starter, named) == 0) starter = abi.starter;
    if (starter == nullptr && named != nullptr && *named != '\0') {
        if (open_as(named, kHow, &library)) return library;
        const char* const why = dlerror();
        fail(VOLTA_UNSUPPORTED, "MPI: %s cannot be opened (%s)", named,
             why == nullptr ? "no reason given" : why);
    }
    if (open_any(starter, kHow | RTLD_NOLOAD, &library) || open_any(starter, kHow, &library)) return library;
    char tried[256];
    std::size_t length = 0;
    for (const MpiAbi& abi : kAbis)
        for (const char* const name : abi.libraries)
            if (name != nullptr && is_of(abi, starter))
                length += static_cast<std::size_t>(std::snprintf(tried + length, sizeof tried - length,
                                                                 "%s%s", length == 0 ? "" : ", ", name));
    fail(VOLTA_UNSUPPORTED, "no MPI was found: none of %s can be opened; address may name another library",
         tried);
}

void* mpi_symbol(const MpiLibrary& library, const char* name) {
    void* const symbol = dlsym(library.opened, name);
    if (symbol == nullptr) fail(VOLTA_UNSUPPORTED, "MPI: %s has no %s", library.name, name);
    return symbol;
}

}  // namespace volta
