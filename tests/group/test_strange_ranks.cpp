// Ranks that are none: what they send by hand, right in its checks and wrong in what it says, is told by the
// right sentence; and joining where the system has less than elsewhere.
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cmath>
#include <initializer_list>
#include <vector>

#include "engine/group/socket_group.h"
#include "tests/group/processes.h"
#include "tests/support/refused_call.h"

using namespace volta;
using namespace volta::test;

namespace {

constexpr std::uint32_t kPieces = 0, kNotes = 1, kSharing = 2;  // channels of a hello

// ---- By hand ----------------------------------------------------------------------------------------

sockaddr_un local_address(const Place& place, std::uint32_t rank) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/rank%u", place.address().c_str(), rank);
    return address;
}

sockaddr_in tcp_address(const Place& place) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string port = place.address().substr(place.address().rfind(':') + 1);
    address.sin_port = htons(static_cast<std::uint16_t>(strtoul(port.c_str(), nullptr, 10)));
    return address;
}

bool is_tcp(const Place& place) { return strcmp(place.transport(), "tcp") == 0; }

// Where rank 0 of the place listens, once it does.
Socket connect_to_root(const Place& place) {
    for (;;) {
        Socket made(socket(is_tcp(place) ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_un local = local_address(place, 0);
        const sockaddr_in tcp = tcp_address(place);
        const bool is_there =
            is_tcp(place) ? connect(made.get(), reinterpret_cast<const sockaddr*>(&tcp), sizeof tcp) == 0
                          : connect(made.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0;
        if (is_there) return made;
        sleep_for(0.01);
    }
}

void say(const Socket& to, const Note& note) {
    if (send(to.get(), &note, sizeof note, MSG_NOSIGNAL) != sizeof note)
        fail(VOLTA_INTERNAL, "the strange rank cannot speak");
}
void say_hello(const Socket& to, std::uint32_t rank, std::uint32_t size, std::uint32_t channel) {
    Note hello = make_note(FrameKind::hello, rank, "");
    hello.size = size;
    hello.channel = channel;
    seal(hello);
    say(to, hello);
}
void say(const Socket& to, FrameKind kind, const char* text = "") {
    Note note = make_note(kind, 0, text);
    seal(note);
    say(to, note);
}
Note heard(const Socket& from) {
    Note note = {};
    recv(from.get(), &note, sizeof note, MSG_WAITALL);
    return note;
}

// Rank 0, with whom one other connects: its notes first.
struct StrangeRoot {
    explicit StrangeRoot(const Place& place) {
        const Socket listener(socket(is_tcp(place) ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int on = 1;
        setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (!is_tcp(place)) mkdir(place.address().c_str(), 0700);
        const sockaddr_un local = local_address(place, 0);
        const sockaddr_in tcp = tcp_address(place);
        const bool is_bound =
            is_tcp(place)
                ? bind(listener.get(), reinterpret_cast<const sockaddr*>(&tcp), sizeof tcp) == 0
                : bind(listener.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0;
        if (!is_bound || listen(listener.get(), 8) != 0)
            fail(VOLTA_INTERNAL, "the strange rank cannot listen");
        notes = Socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        heard(notes);
        pieces = Socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        heard(pieces);
    }
    Socket notes, pieces;
};

// What rank 1 of `size` says where rank 0 is the strange one: root(notes and pieces).
template <class Root>
Failure failure_with_root(const char* transport, std::uint32_t size, double timeout, Root root) {
    const Place place(transport);
    Processes processes(2, [&](std::uint32_t rank, Outcome&) {
        if (rank == 1) {
            join(place, 1, size, timeout);
            return;
        }
        StrangeRoot strange(place);
        root(strange);
    });
    processes.wait(1);
    return processes[1].failure;
}

// What rank 0 of 2 says where rank 1 is the strange one.
template <class Other>
Failure failure_with_other(const char* transport, Other other) {
    const Place place(transport);
    Processes processes(2, [&](std::uint32_t rank, Outcome&) {
        if (rank == 0)
            join(place, 0, 2, 20);
        else
            other(place);
    });
    processes.wait();
    assert_int_equal(processes[1].failure.status, VOLTA_OK);
    return processes[0].failure;
}

// ---- Who comes to rank 0 ----------------------------------------------------------------------------

void test_a_rank_that_is_none_is_refused(void**) {
    for (const std::uint32_t rank : {0u, 2u}) {
        const Failure failure = failure_with_other("local", [&](const Place& place) {
            const Socket notes = connect_to_root(place);
            say_hello(notes, rank, 2, kNotes);
            const Note answer = heard(notes);
            if (!is_whole(answer) || answer.header.kind != FrameKind::refused)
                fail(VOLTA_INTERNAL, "it was not refused");
        });
        char text[100];
        snprintf(text, sizeof text, "a process says it is rank %u, rank 0 has waited for ranks 1 to 1", rank);
        assert_failure(failure, VOLTA_IO_ERROR, text);
    }
}

void test_memory_that_did_not_come_is_missed(void**) {
    const Failure failure = failure_with_other("local", [](const Place& place) {
        const Socket pieces = connect_to_root(place);
        say_hello(pieces, 1, 2, kSharing);
        heard(pieces);
    });
    assert_failure(failure, VOLTA_IO_ERROR, "cannot map the memory that rank 1 shares with rank 0");
}

// Both connections are there, the last one for a moment: rank 0 finds that out when it answers.
void test_who_goes_before_the_answer_is_named(void**) {
    const Failure failure = failure_with_other("local", [](const Place& place) {
        const Socket pieces = connect_to_root(place);
        Socket notes = connect_to_root(place);
        say_hello(notes, 1, 2, kNotes);
        notes.close();
        say_hello(pieces, 1, 2, kPieces);  // only now is it the notes' turn
        heard(pieces);
    });
    assert_failure(failure, VOLTA_IO_ERROR, "rank 1 has ended before all were there");
}

// ---- Rank 0 -----------------------------------------------------------------------------------------

void test_an_answer_that_is_none_is_told(void**) {
    const Failure failure = failure_with_root("local", 2, 5, [](StrangeRoot& root) {
        say(root.notes, FrameKind::finished);
        heard(root.notes);
    });
    assert_failure(failure, VOLTA_IO_ERROR, "what rank 0 sent is no answer to who comes");
}

void test_a_refusal_is_read_from_the_other_connection(void**) {
    const Failure failure = failure_with_root("local", 2, 5, [](StrangeRoot& root) {
        say(root.pieces, FrameKind::refused, "there are two of rank 1");
        root.notes.close();
        heard(root.pieces);
    });
    assert_failure(failure, VOLTA_IO_ERROR, "there are two of rank 1");
    const Failure silent = failure_with_root("local", 2, 5, [](StrangeRoot&) {});
    assert_failure(silent, VOLTA_IO_ERROR, "rank 0 has ended before all were there");
}

void test_a_root_that_does_not_answer_is_named(void**) {
    const Failure failure = failure_with_root("local", 2, 0.2, [](StrangeRoot& root) { heard(root.notes); });
    assert_failure(failure, VOLTA_IO_ERROR, "rank 0 has not answered for 0.2 s: not all ranks are there");
}

// It says who is welcome, and not where the others are.
void test_a_root_that_ends_amid_its_answer_is_named(void**) {
    const Failure failure = failure_with_root("tcp", 2, 5, [](StrangeRoot& root) {
        say(root.notes, FrameKind::welcome);
        shutdown(root.notes.get(), SHUT_WR);
        heard(root.notes);
    });
    assert_failure(failure, VOLTA_IO_ERROR, "rank 0 has ended before all were there");
}

// Rank 1 has been welcomed, and waits for the ranks above it.
void test_a_root_that_ends_while_others_come_is_named(void**) {
    for (const bool speaks : {false, true}) {
        const Failure failure = failure_with_root("local", 4, 20, [&](StrangeRoot& root) {
            say(root.notes, FrameKind::welcome);
            sleep_for(0.1);
            if (speaks) say(root.notes, FrameKind::ended, "rank 2 has not come within 20 s");
        });
        assert_failure(failure, VOLTA_IO_ERROR,
                       speaks ? "rank 2 has not come within 20 s" : "rank 0 has ended before all were there");
    }
}

// ---- In the middle ----------------------------------------------------------------------------------

// What rank 0 of 2 says whose peer is this test: it sends the frame, as a piece or as a note.
Failure failure_after(const void* frame, std::size_t bytes, std::uint32_t channel) {
    int pieces[2], notes[2];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pieces);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, notes);
    const Socket peer_pieces(pieces[1]), peer_notes(notes[1]);
    Mesh mesh(2, std::pmr::new_delete_resource());
    mesh[1].pieces = Socket(pieces[0]);
    mesh[1].notes = Socket(notes[0]);
    SocketGroup group(0, 2, std::move(mesh));
    const int to = channel == kNotes ? notes[1] : pieces[1];
    if (write(to, frame, bytes) != static_cast<ssize_t>(bytes)) return {};
    char came[4];
    return failure_of([&] { group.exchange(1, nullptr, 0, came, sizeof came); });
}

void test_a_piece_out_of_its_turn_is_named(void**) {
    struct {
        FrameHeader header;
        char payload[4];
    } piece = {{}, {1, 2, 3, 4}};
    static_assert(sizeof piece.payload == 4);
    piece.header = make_header(FrameKind::piece, 7, 4, piece.payload, 4);
    assert_failure(failure_after(&piece, sizeof(FrameHeader) + 4, kPieces), VOLTA_IO_ERROR,
                   "rank 1 sent piece 7 where piece 0 was expected");
}

void test_a_note_of_an_unknown_kind_is_named(void**) {
    Note note = make_note(FrameKind::hello, 1, "");
    seal(note);
    assert_failure(failure_after(&note, sizeof note, kNotes), VOLTA_IO_ERROR,
                   "rank 1 sent a note of an unknown kind");
}

// It says that it waits for rank 0, and sends it nothing.
void test_two_that_wait_for_each_other_are_named(void**) {
    Note note = make_note(FrameKind::waiting, 0, "");
    seal(note);
    assert_failure(failure_after(&note, sizeof note, kNotes), VOLTA_IO_ERROR,
                   "rank 1 has not answered for 2 s: it waits for rank 0, which waits for it");
}

// ---- Calls, addresses -------------------------------------------------------------------------------

void test_timeouts_are_checked(void**) {
    const Place place("local");
    for (const double timeout : {-1.0, 86401.0, static_cast<double>(NAN)}) {
        const Failure failure = failure_of([&] { join(place, 0, 1, timeout); });
        assert_failure(failure, VOLTA_INVALID_ARGUMENT, ", it must be above 0 and at most 86400 seconds");
    }
    const Failure failure = failure_of([&] { join(place, 0, 1, -1); });
    assert_failure(failure, VOLTA_INVALID_ARGUMENT, "timeout is -1, ");
}

// None is reached before the time is over.
void test_no_time_is_too_late(void**) {
    const Place place("local");
    const Failure failure = failure_of([&] { join(place, 1, 2, 1e-9); });
    assert_failure(failure, VOLTA_IO_ERROR, "rank 0 has not come within 1e-09 s");
}

void test_transports_of_the_host_reach_no_device(void**) {
    const Place place("local");
    const Failure failure = failure_of([&] {
        const DevicePieces none(std::pmr::new_delete_resource());
        join(place, 0, 1)->exchange_on_device(0, none, none);
    });
    assert_failure(failure, VOLTA_INTERNAL, "the group's transport does not reach the memory of devices");
}

GroupRef join_at(const std::string& address, std::uint32_t rank, double timeout = 20) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "tcp";
    options.address = address.c_str();
    options.rank = rank;
    options.size = 2;
    options.timeout = timeout;
    return open_group(options, std::pmr::new_delete_resource());
}

void test_a_host_may_stand_in_brackets(void**) {
    const Place place("tcp");
    const std::string& address = place.address();
    const std::string bracketed = "[127.0.0.1]" + address.substr(address.rfind(':'));
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        join_at(rank == 0 ? bracketed : address, rank);
        ++outcome.steps;
    });
    processes.wait();
    for (const std::uint32_t rank : {0u, 1u}) {
        assert_int_equal(processes[rank].failure.status, VOLTA_OK);
        assert_int_equal(processes[rank].steps.load(), 1);
    }
}

void test_a_host_that_is_nowhere_is_named(void**) {
    const std::string address = std::string(70, 'x') + "..invalid:4000";
    for (const std::uint32_t rank : {0u, 1u}) {
        const Failure failure = failure_of([&] { join_at(address, rank, 0.5); });
        assert_failure(failure, VOLTA_IO_ERROR, rank == 0 ? "cannot find the host of 'xxx" : "");
    }
}

void test_a_port_that_is_taken_is_named(void**) {
    const Place place("tcp");
    const Socket other(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = tcp_address(place);
    assert_true(bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                listen(other.get(), 1) == 0);
    const Failure failure = failure_of([&] { join(place, 0, 2, 1); });
    const std::string text = "cannot listen at '" + place.address() + "': Address already in use";
    assert_failure(failure, VOLTA_IO_ERROR, text.c_str());
}

// ---- Machines that have less ------------------------------------------------------------------------

void exchange_all(Group& group, Outcome& outcome) {
    const std::uint32_t peer = 1 - group.rank();
    std::vector<unsigned char> sent(3000000, static_cast<unsigned char>(group.rank())), came(sent.size());
    group.exchange(peer, sent.data(), sent.size(), came.data(), came.size());
    outcome.steps = came.front() == peer && came.back() == peer;
}

// Two ranks join and exchange; before, rank 1 is in a machine that `change` makes. What rank 1 says.
struct Joined {
    Failure failures[2];
    int steps;
};
template <class Change>
Joined join_after(const char* transport, double timeout, Change change) {
    const Place place(transport);
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        if (rank == 1) change();
        const GroupRef group = join(place, rank, 2, timeout);
        exchange_all(*group, outcome);
    });
    processes.wait();
    return {{processes[0].failure, processes[1].failure}, processes[0].steps + processes[1].steps};
}

bool can_refuse() {
    Processes processes(1, [](std::uint32_t, Outcome& outcome) {
        outcome.steps = refuse_calls(SYS_socket, 0, AF_INET6, EAFNOSUPPORT);
    });
    processes.wait();
    return processes[0].steps == 1;
}

void test_a_machine_without_ipv6_listens_all_the_same(void**) {
    if (!can_refuse()) skip();
    const Joined joined = join_after("tcp", 20, [] { refuse_calls(SYS_socket, 0, AF_INET6, EAFNOSUPPORT); });
    assert_int_equal(joined.failures[1].status, VOLTA_OK);
    assert_int_equal(joined.steps, 2);
}

void test_a_port_that_is_not_known_is_told(void**) {
    if (!can_refuse()) skip();
    const Joined joined = join_after("tcp", 1, [] { refuse_calls(SYS_getsockname, 0, 0, ENOBUFS); });
    assert_failure(joined.failures[1], VOLTA_IO_ERROR, "cannot listen: No buffer space available");
}

// It has ended again before it could be used: rank 1 goes on to try.
void test_a_connection_without_a_peer_is_none(void**) {
    if (!can_refuse()) skip();
    const Joined joined = join_after("tcp", 0.5, [] { refuse_calls(SYS_getpeername, 0, 0, ENOTCONN); });
    assert_failure(joined.failures[1], VOLTA_IO_ERROR, "rank 0 has not come within 0.5 s");
}

// No memory that two processes share: what is exchanged goes through the sockets.
void test_without_shared_memory_sockets_carry_all(void**) {
    const Place place("local");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        rlimit before, tight;
        getrlimit(RLIMIT_FSIZE, &before);
        tight = before;
        tight.rlim_cur = 65536;  // of files, as what would be shared is one
        signal(SIGXFSZ, SIG_IGN);
        if (rank == 1) setrlimit(RLIMIT_FSIZE, &tight);
        const bool can_share = static_cast<bool>(SharedSlots::make());
        const GroupRef group = join(place, rank, 2);
        setrlimit(RLIMIT_FSIZE, &before);
        outcome.is_right = can_share == (rank == 0);
        exchange_all(*group, outcome);
    });
    processes.wait();
    for (const std::uint32_t rank : {0u, 1u}) {
        assert_int_equal(processes[rank].failure.status, VOLTA_OK);
        assert_true(processes[rank].is_right && processes[rank].steps == 1);
    }
}

// Memory that may be read and made longer, and not written, is none to share.
void test_memory_that_cannot_be_written_is_not_shared(void**) {
    const Socket file = SharedMemory::make_file();
    const SharedMemory::Parts parts = {0, std::uint64_t{2} << 20, 0, 2, 4096};
    assert_true(static_cast<bool>(SharedMemory::map(file, parts)));
    assert_int_equal(fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    assert_false(static_cast<bool>(SharedMemory::map(file, parts)));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_that_is_none_is_refused),
        cmocka_unit_test(test_memory_that_did_not_come_is_missed),
        cmocka_unit_test(test_who_goes_before_the_answer_is_named),
        cmocka_unit_test(test_an_answer_that_is_none_is_told),
        cmocka_unit_test(test_a_refusal_is_read_from_the_other_connection),
        cmocka_unit_test(test_a_root_that_does_not_answer_is_named),
        cmocka_unit_test(test_a_root_that_ends_amid_its_answer_is_named),
        cmocka_unit_test(test_a_root_that_ends_while_others_come_is_named),
        cmocka_unit_test(test_a_piece_out_of_its_turn_is_named),
        cmocka_unit_test(test_a_note_of_an_unknown_kind_is_named),
        cmocka_unit_test(test_two_that_wait_for_each_other_are_named),
        cmocka_unit_test(test_timeouts_are_checked),
        cmocka_unit_test(test_no_time_is_too_late),
        cmocka_unit_test(test_transports_of_the_host_reach_no_device),
        cmocka_unit_test(test_a_host_may_stand_in_brackets),
        cmocka_unit_test(test_a_host_that_is_nowhere_is_named),
        cmocka_unit_test(test_a_port_that_is_taken_is_named),
        cmocka_unit_test(test_a_machine_without_ipv6_listens_all_the_same),
        cmocka_unit_test(test_a_port_that_is_not_known_is_told),
        cmocka_unit_test(test_a_connection_without_a_peer_is_none),
        cmocka_unit_test(test_without_shared_memory_sockets_carry_all),
        cmocka_unit_test(test_memory_that_cannot_be_written_is_not_shared),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
