// The transport mpi where MPI fails, by one that does what a test says; real ones are in test_mpi.sh.
#include <dlfcn.h>
#include <sys/resource.h>

#include <thread>

#include "engine/group/group.h"
#include "engine/group/mpi_library.h"
#include "tests/group/fake_mpi.h"
#include "tests/group/processes.h"
#include "tests/support/errors.h"

using namespace volta;
using namespace volta::test;

namespace {

FakeMpi& fake() {
    static FakeMpi* const found = static_cast<FakeMpi*>(dlsym(dlopen(VOLTA_FAKE_MPI, RTLD_NOW), "fake_mpi"));
    assert_non_null(found);
    return *found;
}

int reset(void**) {
    fake() = {};
    fake().size = 2;
    fake().provided = kFakeSerialized;
    return 0;
}

GroupRef join_fake(double timeout) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "mpi";
    options.address = VOLTA_FAKE_MPI;
    options.size = 2;
    options.timeout = timeout;
    return open_group(options, std::pmr::new_delete_resource());
}

// What rank 0 says, which exchanges 4 bytes each way with rank 1.
Failure exchange_with_1(double timeout) {
    const GroupRef group = join_fake(timeout);
    char sent[4] = {}, came[4];
    return failure_of([&] { group->exchange(1, sent, sizeof sent, came, sizeof came); });
}

void test_what_mpi_says_is_in_the_sentence(void**) {
    for (const char* const function : {"MPI_Irecv", "MPI_Isend"}) {
        fake().failing = function;
        assert_failure(exchange_with_1(5), VOLTA_IO_ERROR,
                       "exchange with rank 1: the standard ABI of MPI 5: error class 15, in two lines");
    }
}

void test_an_mpi_without_words_has_a_number(void**) {
    fake().failing = "MPI_Irecv";
    fake().has_no_words = 1;
    assert_failure(exchange_with_1(5), VOLTA_IO_ERROR,
                   "exchange with rank 1: the standard ABI of MPI 5: error 15");
}

// Of a peer that has gone MPI tells an error, and the peer itself why.
void test_why_a_peer_has_gone_comes_before_what_mpi_says(void**) {
    fake().failing = "MPI_Irecv";
    fake().left = "rank 1 has left the group: the disk is full";
    const Failure failure = exchange_with_1(5);
    assert_failure(failure, VOLTA_IO_ERROR, "rank 1 has left the group: the disk is full");
    assert_null(strstr(failure.text, "MPI 5"));
}

void test_who_has_left_is_named_where_its_words_are_lost(void**) {
    fake().left = "the disk is full";
    fake().failing = "MPI_Recv";
    const Failure failure = exchange_with_1(5);
    assert_failure(failure, VOLTA_IO_ERROR, "rank 1 has left the group");
    assert_null(strstr(failure.text, "disk"));
}

void test_an_mpi_of_one_thread_is_called_by_that_one(void**) {
    fake().provided = kFakeSingle;
    const GroupRef group = join_fake(5);
    Failure failure;
    std::thread other([&] { failure = failure_of([&] { group->exchange(1, nullptr, 0, nullptr, 0); }); });
    other.join();
    assert_failure(failure, VOLTA_INVALID_STATE,
                   "MPI was started for one thread (below MPI_THREAD_SERIALIZED), this is another than made "
                   "the group");
    assert_int_equal(failure_of([&] { group->exchange(1, nullptr, 0, nullptr, 0); }).status, VOLTA_OK);
    assert_false(group->can_change_threads());
}

void test_a_group_that_does_not_come_together_has_a_time_limit(void**) {
    fake().never_joins = 1;
    assert_failure(failure_of([] { join_fake(0.1); }), VOLTA_IO_ERROR,
                   "not all of the 2 ranks have joined the group within 0.1 s");
}

// It is asked whom it waits for, and waits for none.
void test_a_peer_that_has_released_the_group_is_named(void**) {
    fake().has_answer = 1;
    fake().answer = -1;
    assert_failure(exchange_with_1(0.1), VOLTA_IO_ERROR,
                   "rank 1 has released the group, and rank 0 still waits for rank 1");
}

// As on a machine without any: a process that may open no more files opens no library. Not under sanitizers,
// which look at memory through a pipe of their own.
void test_no_mpi_is_told_with_all_names(void**) {
#ifdef VOLTA_SANITIZED
    skip();
#endif
    Processes processes(3, [](std::uint32_t rank, Outcome&) {
        rlimit before, none;
        getrlimit(RLIMIT_NOFILE, &before);
        none = before;
        none.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &none);
        const char* const names[] = {nullptr, "openmpi", "mpich"};
        const Failure failure = failure_of([&] { open_mpi_library(names[rank]); });
        setrlimit(RLIMIT_NOFILE, &before);
        throw Error(failure.status, failure.text);
    });
    processes.wait();
    const char* const tried[] = {
        "libmpi.so.40, libmpi.so.12, libmpich.so.12, libmpi_abi.so.1, libmpi_abi.so.0", "libmpi.so.40",
        "libmpi.so.12, libmpich.so.12, libmpi_abi.so.1, libmpi_abi.so.0"};
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const std::string text = std::string("no MPI was found: none of ") + tried[rank] +
                                 " can be opened; address may name another library";
        assert_failure(processes[rank].failure, VOLTA_UNSUPPORTED, text.c_str());
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_no_mpi_is_told_with_all_names),
        cmocka_unit_test_setup(test_what_mpi_says_is_in_the_sentence, reset),
        cmocka_unit_test_setup(test_an_mpi_without_words_has_a_number, reset),
        cmocka_unit_test_setup(test_why_a_peer_has_gone_comes_before_what_mpi_says, reset),
        cmocka_unit_test_setup(test_who_has_left_is_named_where_its_words_are_lost, reset),
        cmocka_unit_test_setup(test_an_mpi_of_one_thread_is_called_by_that_one, reset),
        cmocka_unit_test_setup(test_a_group_that_does_not_come_together_has_a_time_limit, reset),
        cmocka_unit_test_setup(test_a_peer_that_has_released_the_group_is_named, reset),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
