// The functions of MPI that volta calls, by a script (fake_mpi.h).
#include "tests/group/fake_mpi.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void* Handle;
enum { kLeft = 2, kAsk = 4, kAnswer = 5 };  // tags

struct FakeMpi fake_mpi;

#define FAKE(name) \
    if (fake_mpi.failing != NULL && strcmp(fake_mpi.failing, name) == 0) return kFakeError

// A request: 1 is done, 2 never is.
static Handle request_of(int is_done) { return (Handle)(intptr_t)(is_done ? 1 : 2); }

int MPI_Abi_get_version(int* major, int* minor) { return *major = 1, *minor = 0; }
int MPI_Initialized(int* flag) { return *flag = 1, 0; }
int MPI_Finalized(int* flag) { return *flag = 0; }
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    (void)argc, (void)argv;
    return *provided = required, 0;
}
int MPI_Query_thread(int* provided) { return *provided = fake_mpi.provided, 0; }
int MPI_Finalize(void) { return 0; }
int MPI_Comm_rank(Handle comm, int* rank) { return (void)comm, *rank = 0; }
int MPI_Comm_size(Handle comm, int* size) { return (void)comm, *size = fake_mpi.size, 0; }
int MPI_Comm_idup(Handle comm, Handle* duplicate, Handle* request) {
    *duplicate = comm;
    *request = request_of(!fake_mpi.never_joins);
    return 0;
}
int MPI_Comm_free(Handle* comm) { return *comm = NULL, 0; }
int MPI_Comm_set_errhandler(Handle comm, Handle handler) { return (void)comm, (void)handler, 0; }
int MPI_Isend(const void* bytes, int count, Handle type, int to, int tag, Handle comm, Handle* request) {
    FAKE("MPI_Isend");
    (void)bytes, (void)count, (void)type, (void)to, (void)comm;
    return *request = request_of(tag == kAsk), 0;
}
int MPI_Issend(const void* bytes, int count, Handle type, int to, int tag, Handle comm, Handle* request) {
    (void)bytes, (void)count, (void)type, (void)to, (void)tag, (void)comm;
    return *request = request_of(1), 0;
}
int MPI_Irecv(void* bytes, int count, Handle type, int from, int tag, Handle comm, Handle* request) {
    FAKE("MPI_Irecv");
    (void)type, (void)from, (void)comm;
    const int comes = tag == kAnswer && fake_mpi.has_answer;
    if (comes) memcpy(bytes, &fake_mpi.answer, (size_t)count);
    return *request = request_of(comes), 0;
}
int MPI_Recv(void* bytes, int count, Handle type, int from, int tag, Handle comm, void* status) {
    FAKE("MPI_Recv");
    (void)type, (void)from, (void)tag, (void)comm, (void)status;
    return snprintf(bytes, (size_t)count, "%s", fake_mpi.left), 0;
}
int MPI_Test(Handle* request, int* flag, void* status) {
    (void)status;
    return *flag = (intptr_t)*request == 1, 0;
}
int MPI_Cancel(Handle* request) { return *request = request_of(1), 0; }
int MPI_Iprobe(int from, int tag, Handle comm, int* flag, void* status) {
    (void)from, (void)comm;
    const int rank = 1;
    *flag = tag == kLeft && fake_mpi.left != NULL;
    if (*flag) memcpy(status, &rank, sizeof rank);
    return 0;
}
int MPI_Get_count(const void* status, Handle type, int* count) {
    (void)status, (void)type;
    return *count = (int)strlen(fake_mpi.left) + 1, 0;
}
int MPI_Error_string(int code, char* text, int* length) {
    if (fake_mpi.has_no_words) return code;
    *length = snprintf(text, 512, "error class %d,\nin two lines", code);
    return 0;
}
