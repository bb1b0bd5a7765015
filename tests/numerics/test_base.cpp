// The base layer's values: error texts, shapes, hashes, host memory, log, processor, floating-point
// environment.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "engine/base/cpu_info.h"
#include "engine/base/fp_environment.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/shape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

// ---- Errors
// ------------------------------------------------------------------------------------------------

void test_error_has_status_and_formatted_text(void**) {
    assert_failure(failure_of([] { fail(VOLTA_IO_ERROR, "file %d of '%s'", 3, "x"); }), VOLTA_IO_ERROR,
                   "file 3 of 'x'");
    assert_failure(failure_of([] { require(1 > 2, "%d is not above 2", 1); }), VOLTA_INVALID_ARGUMENT,
                   "1 is not above 2");
    assert_int_equal(failure_of([] { require(true, "not reached"); }).status, VOLTA_OK);
}

void test_long_error_is_cut_with_dots(void**) {
    for (const int length : {510, 511, 512, 513, 1023, 1024, 5000}) {
        static char text[5001];
        memset(text, 'a', static_cast<size_t>(length));
        text[length] = '\0';
        const Failure direct = failure_of([] { throw Error(VOLTA_INTERNAL, text); });
        const Failure formatted = failure_of([] { fail(VOLTA_INTERNAL, "%s", text); });
        assert_string_equal(direct.text, formatted.text);
        assert_int_equal(strlen(direct.text), length < 511 ? length : 511);
        assert_string_equal(direct.text + 508, length <= 511 ? text + 508 : "...");
    }
}

// A cut inside a character would leave invalid UTF-8.
void test_cut_falls_between_characters(void**) {
    for (const std::string character : {"\u20ac", "\U0001f600"})  // three bytes and four
        for (std::size_t before = 508 - character.size() + 1; before < 508; ++before) {  // the cut is at 508
            std::string text(before, 'a');
            text.append(character).append(character);
            const Failure failure = failure_of([&] { throw Error(VOLTA_INTERNAL, text.c_str()); });
            assert_string_equal(failure.text + before, "...");
        }
}

void test_error_is_one_line(void**) {
    assert_failure(failure_of([] { fail(VOLTA_IO_ERROR, "a\nb\tc\x7f"); }), VOLTA_IO_ERROR, "a?b?c?");
}

// What files call their tensors may be no text at all.
void test_error_is_text(void**) {
    const char* const rows[][2] = {
        {"'\xe2\x82\xac' '\xc3\xa9' '\xf0\x9f\x98\x80'", nullptr},
        {"\xff\xfe|\xc0\xaf|\xe2\x82|\xed\xa0\x80|\xf4\x90\x80\x80|\xe0\x80\x80|\xc3", ""}};
    for (const auto& row : rows) {
        const Failure failure = failure_of([&] { fail(VOLTA_IO_ERROR, "%s", row[0]); });
        assert_string_equal(failure.text, row[1] == nullptr ? row[0]
                                                            : "?"
                                                              "?|?"
                                                              "?|?"
                                                              "?|?"
                                                              "?"
                                                              "?|?"
                                                              "?"
                                                              "?"
                                                              "?|?"
                                                              "?"
                                                              "?|?");
    }
    // A cut far behind bytes that continue no character.
    const std::string bytes(2000, '\x80');
    const Failure failure = failure_of([&] { throw Error(VOLTA_INTERNAL, bytes.c_str()); });
    assert_int_equal(strlen(failure.text), 511);
    assert_true(strspn(failure.text, "?") == 508);
}

// ---- Shapes
// ------------------------------------------------------------------------------------------------

void test_shape_counts_and_prints(void**) {
    const Shape scalar, empty{3, 0, 2}, matrix{64, 384};
    assert_int_equal(scalar.elements(), 1);
    assert_int_equal(scalar.rows(), 1);
    assert_int_equal(scalar.last(), 1);
    assert_int_equal(empty.elements(), 0);
    assert_int_equal(matrix.rows(), 64);
    assert_int_equal(matrix.last(), 384);
    assert_int_equal(matrix.leading(1), 64);
    assert_string_equal(to_text(matrix).text, "[64, 384]");
    assert_string_equal(to_text(scalar).text, "[]");
    const std::int64_t least = INT64_MIN;
    const ShapeText longest = to_text(Shape{least, least, least, least, least, least, least, least});
    assert_int_equal(strlen(longest.text), 8 * 20 + 7 * 2 + 2);
    assert_true(matrix == (Shape{64, 384}) && matrix != (Shape{64, 384, 1}) && matrix != (Shape{64, 385}));
    assert_failure(failure_of([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }), VOLTA_INVALID_ARGUMENT,
                   "at most 8 axes, not 9");
}

// ---- Hashes
// ------------------------------------------------------------------------------------------------

void test_hash_is_xxh3_128(void**) {
    assert_string_equal(to_text(hash_bytes("", 0)).text,
                        "99aa06d3014798d86001c324468d497f");  // XXH3's own test
}

void test_hash_of_pieces_is_the_hash_of_the_whole(void**) {
    unsigned char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(i * 7);
    const Hash128 whole = hash_bytes(bytes, sizeof bytes);
    for (const size_t piece : {1, 63, 64, 255, 1024, 3000}) {
        Hasher hasher;
        for (size_t at = 0; at < sizeof bytes; at += piece)
            hasher.add(bytes + at, std::min(piece, sizeof bytes - at));
        assert_true(hasher.result() == whole);
    }
    bytes[1500] ^= 1;
    assert_true(hash_bytes(bytes, sizeof bytes) != whole);
}

void test_hash_of_floats_sees_one_nan(void**) {
    std::vector<float> a = random_floats(1500, 1), b = a;
    const std::uint32_t quiet = 0x7fc00000u, other = 0xffabcdefu;
    memcpy(&a[700], &quiet, 4);
    memcpy(&b[700], &other, 4);
    Hasher of_a, of_b, of_bytes;
    of_a.add_floats(a.data(), a.size());
    of_b.add_floats(b.data(), b.size());
    of_bytes.add(a.data(), a.size() * 4);
    const bool nan_is_one = of_a.result() == of_b.result() && of_a.result() == of_bytes.result();
    a[700] = -0.0f, b[700] = 0.0f;  // but zeros are two
    Hasher negative, positive;
    negative.add_floats(a.data(), a.size());
    positive.add_floats(b.data(), b.size());
    assert_true(nan_is_one && negative.result() != positive.result());
    a[700] = INFINITY;  // and an infinity is no NaN
    memcpy(&b[700], &quiet, 4);
    Hasher infinite, undefined;
    infinite.add_floats(a.data(), a.size());
    undefined.add_floats(b.data(), b.size());
    assert_true(infinite.result() != undefined.result());
}

// ---- Memory
// ------------------------------------------------------------------------------------------------

struct Host {
    std::size_t live = 0, calls = 0, misalign = 0;
    bool refuse = false;
    volta_memory_kind last_kind = -1;
    unsigned mxcsr = 0;
};

void* host_allocate(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    Host& host = *static_cast<Host*>(user);
    ++host.calls;
    host.last_kind = kind;
    host.mxcsr = FpEnvironment::current();
    if (host.refuse) return nullptr;
    host.live += size;
    return static_cast<char*>(std::aligned_alloc(128, (size + 255) / 128 * 128)) +
           (host.misalign ? alignment / 2 : 0);
}

void host_release(void* user, void* pointer, size_t size, size_t alignment, volta_memory_kind) {
    Host& host = *static_cast<Host*>(user);
    host.live -= size;
    std::free(static_cast<char*>(pointer) - (host.misalign ? alignment / 2 : 0));
}

void test_heap_counts_what_the_host_gave(void**) {
    Host host;
    const volta_allocator allocator = {host_allocate, host_release, &host};
    HostHeap heap(&allocator);
    {
        Buffer a(heap.tensors(), 1000, true), b(heap.tensors(), 500);
        assert_int_equal(heap.tensor_bytes(), 1500);
        assert_true(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
        assert_true(static_cast<char*>(a.data())[999] == 0 && host.last_kind == VOLTA_MEMORY_TENSOR);
        b = Buffer();
        assert_int_equal(heap.tensor_bytes(), 1000);
        const Buffer& left = a;
        const Buffer moved(std::move(a));
        assert_true(left.data() == nullptr && left.bytes() == 0 && moved.bytes() == 1000);
        const auto object = make_on<std::uint64_t>(heap.structures(), 7u);
        assert_true(*object == 7 && host.last_kind == VOLTA_MEMORY_STRUCTURE && host.live == 1008);
    }
    assert_int_equal(host.live, 0);
    assert_int_equal(heap.tensor_bytes(), 0);
    assert_int_equal(heap.tensor_bytes_peak(), 1500);
    assert_int_equal(heap.allocation_count(), 3);
    const Buffer nothing(heap.tensors(), 0);
    assert_true(nothing.data() == nullptr && host.calls == 3);
    // NULL from the host means no, so it is never asked for nothing.
    void* const empty = heap.structures()->allocate(0, 8);
    assert_true(host.live == 1);
    heap.structures()->deallocate(empty, 0, 8);
    assert_int_equal(host.live, 0);
}

// Containers on two of them do not take over each other's memory.
void test_heaps_are_equal_to_themselves_alone(void**) {
    HostHeap one(nullptr), other(nullptr);
    assert_true(one.structures()->is_equal(*one.structures()));
    assert_false(one.structures()->is_equal(*other.structures()));
    assert_false(one.structures()->is_equal(*one.tensors()));
}

void test_refusal_is_bad_alloc(void**) {
    Host host;
    host.refuse = true;
    const volta_allocator allocator = {host_allocate, host_release, &host};
    HostHeap heap(&allocator);
    bool thrown = false, names_the_bytes = false;
    try {
        Buffer buffer(heap.tensors(), 1500);
    } catch (const std::bad_alloc& refusal) {
        thrown = true;
        names_the_bytes = std::strcmp(refusal.what(), "the host allocator returned NULL for 1500 bytes") == 0;
    }
    assert_true(thrown && names_the_bytes && heap.tensor_bytes() == 0 && heap.tensor_bytes_peak() == 0);
    const HostRefusal largest(SIZE_MAX);
    assert_string_equal(largest.what(), "the host allocator returned NULL for 18446744073709551615 bytes");
}

void test_misaligned_memory_is_refused_and_given_back(void**) {
    Host host;
    host.misalign = 1;
    const volta_allocator allocator = {host_allocate, host_release, &host};
    HostHeap heap(&allocator);
    const Failure failure = failure_of([&] { Buffer(heap.tensors(), 64); });
    assert_failure(failure, VOLTA_INVALID_ARGUMENT, "not aligned to 64 bytes");
    assert_int_equal(host.live, 0);
    const volta_allocator half = {host_allocate, nullptr, nullptr};
    assert_failure(failure_of([&] { HostHeap{&half}; }), VOLTA_INVALID_ARGUMENT, "release is NULL");
}

// An object whose constructor throws leaves nothing behind.
void test_make_on_gives_memory_back_when_a_constructor_throws(void**) {
    struct Throws {
        Throws() { fail(VOLTA_INTERNAL, "no"); }
    };
    Host host;
    const volta_allocator allocator = {host_allocate, host_release, &host};
    HostHeap heap(&allocator);
    const Failure failure = failure_of([&] { make_on<Throws>(heap.structures()); });
    assert_true(failure.status == VOLTA_INTERNAL && host.calls == 1 && host.live == 0);
}

void test_sizes_do_not_wrap(void**) {
    std::uint64_t out = 0;
    assert_false(multiply_overflows(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1, &out));
    assert_true(out == 0xffffffff00000000u);
    assert_true(multiply_overflows(std::uint64_t{1} << 32, std::uint64_t{1} << 32, &out));
    assert_false(add_overflows(~std::uint64_t{0} - 1, 1, &out));
    assert_true(add_overflows(~std::uint64_t{0}, 1, &out));
}

void test_a_tensor_that_no_memory_holds_is_refused(void**) {
    assert_int_equal(tensor_bytes(DType::f32, {3, 5}), 60);
    assert_failure(failure_of([] {
                       tensor_bytes(DType::f32, {INT64_MAX / 2, 3});
                   }),
                   VOLTA_UNSUPPORTED, "a tensor f32[4611686018427387903, 3] is too large to be placed");
}

// ---- Log, processor, environment
// ---------------------------------------------------------------------------

struct Lines {
    char last[1100];
    int32_t level;
};

void keep_line(void* user, int32_t level, const char* line) {
    Lines& lines = *static_cast<Lines*>(user);
    snprintf(lines.last, sizeof lines.last, "%s", line);
    lines.level = level;
}

void test_log_writes_to_the_host_or_nowhere(void**) {
    Lines lines = {};
    Log log;
    log(VOLTA_LOG_INFO, "nobody %s", "listens");
    log.write = keep_line, log.user = &lines;
    log(VOLTA_LOG_WARNING, "step %d of %s", 3, "run");
    assert_string_equal(lines.last, "step 3 of run");
    assert_int_equal(lines.level, VOLTA_LOG_WARNING);
    log(VOLTA_LOG_INFO, "%5000d", 1);
    assert_int_equal(strlen(lines.last), 1023);
}

void test_processor_is_described(void**) {
    const CpuInfo& cpu = host_cpu();
    assert_true(cpu.physical_cores >= 1 && cpu.logical_cores >= cpu.physical_cores && cpu.brand[0] != '\0');
    assert_true(cpu.has(Isa::scalar) && (!cpu.has(Isa::avx512) || cpu.has(Isa::avx2)));
    // The compiler's run-time support reads the same feature bits on its own.
    assert_true(cpu.has(Isa::avx2) == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
    assert_true(!cpu.has(Isa::avx512) || __builtin_cpu_supports("avx512vl"));
    assert_string_equal(isa_name(Isa::avx512), "avx512");
}

constexpr unsigned kHostile = 0xffc0;  // FTZ, DAZ, round toward zero; exceptions masked

void test_environment_is_set_and_restored(void**) {
    const unsigned before = FpEnvironment::current();
    unsigned inside = 0, outer = 0, host = 0;
    volatile float tiny = 1e-40f, half = 0.5f;
    float product = 0;
    {
        const FpEnvironment hostile(kHostile);
        const FpEnvironment contract;
        inside = FpEnvironment::current() & 0xffc0u;  // without the sticky flags
        product = tiny * half;
        outer = contract.host().mxcsr & 0xffc0u;
        const HostEnvironmentScope scope(contract.host());
        const HostCallback callback;
        host = FpEnvironment::current() & 0xffc0u;
    }
    assert_int_equal(FpEnvironment::current(), before);
    assert_int_equal(inside, kContractMxcsr);
    assert_int_equal(outer, kHostile);
    assert_int_equal(host, kHostile);
    assert_true(product > 0);
}

void test_scope_writes_only_what_differs(void**) {
    unsigned inside = 0, given = 0, after = 0, flags = 0;
    volatile float third = 3;
    {
        const FpEnvironment hostile(kHostile);
        given = FpEnvironment::current();
        {
            const ContractScope set;
            inside = FpEnvironment::current() & 0xffc0u;
        }
        after = FpEnvironment::current();
    }
    {
        const FpEnvironment contract(kContractMxcsr);
        {
            const ContractScope nested;
            third = 1 / third;
        }
        flags = FpEnvironment::current() & 0x3fu;
    }
    assert_int_equal(inside, kContractMxcsr);
    assert_int_equal(after, given);
    assert_int_equal(flags, 0x20);  // inexact: nothing was written at the nested scope's end
}

void test_host_memory_callbacks_run_in_the_hosts_environment(void**) {
    Host host;
    const volta_allocator allocator = {host_allocate, host_release, &host};
    const FpEnvironment hostile(kHostile);
    {
        HostHeap heap(&allocator);
        const FpEnvironment contract;
        const HostEnvironmentScope scope(contract.host());
        const Buffer buffer(heap.tensors(), 8);
    }
    assert_int_equal(host.mxcsr & 0xffc0u, kHostile);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_error_has_status_and_formatted_text),
        cmocka_unit_test(test_long_error_is_cut_with_dots),
        cmocka_unit_test(test_cut_falls_between_characters),
        cmocka_unit_test(test_error_is_one_line),
        cmocka_unit_test(test_error_is_text),
        cmocka_unit_test(test_shape_counts_and_prints),
        cmocka_unit_test(test_hash_is_xxh3_128),
        cmocka_unit_test(test_hash_of_pieces_is_the_hash_of_the_whole),
        cmocka_unit_test(test_hash_of_floats_sees_one_nan),
        cmocka_unit_test(test_heap_counts_what_the_host_gave),
        cmocka_unit_test(test_heaps_are_equal_to_themselves_alone),
        cmocka_unit_test(test_refusal_is_bad_alloc),
        cmocka_unit_test(test_misaligned_memory_is_refused_and_given_back),
        cmocka_unit_test(test_make_on_gives_memory_back_when_a_constructor_throws),
        cmocka_unit_test(test_sizes_do_not_wrap),
        cmocka_unit_test(test_a_tensor_that_no_memory_holds_is_refused),
        cmocka_unit_test(test_log_writes_to_the_host_or_nowhere),
        cmocka_unit_test(test_processor_is_described),
        cmocka_unit_test(test_environment_is_set_and_restored),
        cmocka_unit_test(test_scope_writes_only_what_differs),
        cmocka_unit_test(test_host_memory_callbacks_run_in_the_hosts_environment),
    };
    return cmocka_run_group_tests_name("base", tests, nullptr, nullptr);
}
