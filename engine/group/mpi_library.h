// MPI by its binary interfaces, opened at run time: nothing of it is there when this library is built. What
// the interfaces differ in is a row each; what is called is the same for all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volta {

struct MpiHandle {  // a predefined one: the address of an exported object or, where it has no name, a number
    const char* object;
    std::intptr_t number;
};

struct MpiAbi {
    const char* name;
    const char* starter;  // whose mpirun starts ranks of it; address may say so instead of a file
    const char* libraries[2];
    const char* mark;      // exported by every library of this interface, and by none of the rows below
    bool integer_handles;  // int, otherwise pointers
    MpiHandle comm_world, byte, errors_return;
    int any_source, serialized;  // MPI_ANY_SOURCE, MPI_THREAD_SERIALIZED
    std::size_t status_bytes;
    std::size_t source_at;  // MPI_SOURCE: this int of MPI_Status
};

inline constexpr std::size_t kMostStatusBytes = 64;  // of every row

struct MpiLibrary {
    void* opened;
    const MpiAbi* abi;
    char name[256];  // that it was opened by
};

// The library `named`, a file's name or a starter's, or, where that is NULL or empty, one that the process
// has loaded already, otherwise the first of the table that can be opened. It stays loaded. Throws
// UNSUPPORTED with the names that were tried.
MpiLibrary open_mpi_library(const char* named);

// Throws UNSUPPORTED where there is none.
void* mpi_symbol(const MpiLibrary& library, const char* name);

// Every handle is a Handle here: the interfaces have distinct types for them, of one size.
template <class Handle>
struct MpiFunctions {
    int (*initialized)(int* flag);
    int (*finalized)(int* flag);
    int (*init_thread)(int* argc, char*** argv, int required, int* provided);
    int (*query_thread)(int* provided);
    int (*finalize)();
    int (*comm_rank)(Handle comm, int* rank);
    int (*comm_size)(Handle comm, int* size);
    int (*comm_idup)(Handle comm, Handle* duplicate, Handle* request);
    int (*comm_free)(Handle* comm);
    int (*comm_set_errhandler)(Handle comm, Handle errhandler);
    int (*isend)(const void* bytes, int count, Handle type, int to, int tag, Handle comm, Handle* request);
    int (*issend)(const void* bytes, int count, Handle type, int to, int tag, Handle comm, Handle* request);
    int (*irecv)(void* bytes, int count, Handle type, int from, int tag, Handle comm, Handle* request);
    int (*recv)(void* bytes, int count, Handle type, int from, int tag, Handle comm, void* status);
    int (*test)(Handle* request, int* flag, void* status);
    int (*cancel)(Handle* request);
    int (*iprobe)(int from, int tag, Handle comm, int* flag, void* status);
    int (*get_count)(const void* status, Handle type, int* count);
    int (*error_string)(int code, char* text, int* length);
};

}  // namespace volta
