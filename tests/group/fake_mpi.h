// An MPI of one process, whose peers do what a test says. Of the interface that the standard has since MPI 5.
#ifndef VOLTA_TESTS_GROUP_FAKE_MPI_H
#define VOLTA_TESTS_GROUP_FAKE_MPI_H

#include <stdint.h>

enum { kFakeSerialized = 2048, kFakeSingle = 0, kFakeError = 15 };

// Exported by the library as fake_mpi; zeros, but for size and provided: a rank 0 whose messages never go.
struct FakeMpi {
    int size, provided;   // of the world; the level of threads
    const char* failing;  // the function that fails, with kFakeError; NULL: none does
    int has_no_words;     // and whether MPI_Error_string does
    int never_joins;      // MPI_Comm_idup never ends
    const char* left;     // what a peer says of why it has left; NULL: none has
    int has_answer;       // a peer that is asked answers:
    int32_t answer;       // whom it waits for, -1: none
};

#endif
