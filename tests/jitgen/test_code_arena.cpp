// Pages of generated code are writable or executable, never both; refusal gives the interpreter, with the
// same bits.
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/row_kernel.h"
#include "tests/jitgen/compare.h"
#include "tests/jitgen/corpus.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// The permissions of the mapping that holds `address`, "rwxp" as in /proc/self/maps; counts those both w and
// x.
struct Maps {
    char permissions[8] = "";
    int writable_and_executable = 0;
};
Maps read_maps(const void* address) {
    Maps result;
    std::FILE* const file = std::fopen("/proc/self/maps", "r");
    if (!file) return result;
    char line[512];
    while (std::fgets(line, sizeof line, file)) {
        unsigned long begin = 0, end = 0;
        char permissions[8] = "";
        if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, permissions) != 3) continue;
        const auto place = reinterpret_cast<std::uintptr_t>(address);
        if (place >= begin && place < end) std::memcpy(result.permissions, permissions, sizeof permissions);
        result.writable_and_executable += std::strchr(permissions, 'w') && std::strchr(permissions, 'x');
    }
    std::fclose(file);
    return result;
}

void test_published_code_is_executable_and_not_writable(void**) {
    jit::CodeArena arena(heap(), false);
    const unsigned char code[] = {0xc3};  // ret
    const void* const published = arena.publish(code, sizeof code, "ret");
    assert_non_null(published);
    assert_int_equal(reinterpret_cast<std::uintptr_t>(published) % 64, 0);
    const Maps maps = read_maps(published);
    assert_string_equal(maps.permissions, "r-xp");
    assert_int_equal(maps.writable_and_executable, 0);
    assert_true(arena.bytes() > 0);
    assert_true(arena.available());
}

void test_no_page_is_ever_writable_and_executable_while_compiling(void**) {
    if (!host_cpu().has(Isa::avx2)) skip();
    jit::CodeArena arena(heap(), false);
    int both = 0;
    for (const CorpusRow& row : row_programs()) {
        const auto kernel = jit::compile(build(row, heap()), host_cpu().best_isa, arena, heap());
        both += read_maps(nullptr).writable_and_executable;
    }
    assert_int_equal(both, 0);
}

void test_names_are_kept_for_profilers(void**) {
    jit::CodeArena arena(heap(), false);
    const unsigned char code[] = {0xc3, 0xcc};
    arena.publish(code, 1, "first");
    arena.publish(code, 2, "second");
    struct Seen {
        int count = 0;
        char names[64] = "";
        std::size_t bytes = 0;
    } seen;
    arena.visit(
        [](void* data, const void*, std::size_t bytes, const char* name) {
            auto& s = *static_cast<Seen*>(data);
            ++s.count;
            s.bytes += bytes;
            std::strcat(s.names, name);
        },
        &seen);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.bytes, 3);
    assert_string_equal(seen.names, "secondfirst");
}

void test_pages_are_given_back(void**) {
    const void* published = nullptr;
    {
        jit::CodeArena arena(heap(), false);
        const unsigned char code[] = {0xc3};
        published = arena.publish(code, sizeof code, "ret");
    }
    assert_string_equal(read_maps(published).permissions, "");
}

void test_refusal_gives_the_interpreter_with_the_same_bits(void**) {
    jit::CodeArena refusing(heap(), true);
    assert_false(refusing.available());
    assert_null(refusing.publish("x", 1, "x"));
    const auto kernel = jit::compile(build(find_program("softmax"), heap()), Isa::avx512, refusing, heap());
    const bool native = kernel->is_native();
    Layout layout{};
    layout.rows = 3;
    layout.columns = 100;
    const bool differs = compare(*kernel, layout).found;
    assert_false(native);
    assert_false(differs);
    assert_int_equal(refusing.bytes(), 0);
}

// Kernels are chosen by available(): it stays what it was, and who finds no room for one more is told.
void test_a_later_refusal_is_out_of_memory(void**) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();  // these map memory of their own
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
    jit::CodeArena arena(heap(), false);
    assert_true(arena.available());
    const unsigned char code[] = {0xc3};
    assert_non_null(arena.publish(code, sizeof code, "first"));
    rlimit before;
    getrlimit(RLIMIT_AS, &before);
    const rlimit none = {1, before.rlim_max};  // nothing more is mapped
    setrlimit(RLIMIT_AS, &none);
    const Failure failure = failure_of([&] { arena.publish(code, sizeof code, "second"); });
    const bool is_available = arena.available();
    jit::CodeArena forbidden(heap(), false);  // made where the system forbids it
    setrlimit(RLIMIT_AS, &before);
    assert_failure(failure, VOLTA_OUT_OF_MEMORY, "bytes of executable memory");
    assert_true(is_available);
    assert_false(forbidden.available());
    assert_null(forbidden.publish(code, sizeof code, "none"));
    assert_non_null(arena.publish(code, sizeof code, "third"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_published_code_is_executable_and_not_writable),
        cmocka_unit_test(test_no_page_is_ever_writable_and_executable_while_compiling),
        cmocka_unit_test(test_names_are_kept_for_profilers),
        cmocka_unit_test(test_pages_are_given_back),
        cmocka_unit_test(test_refusal_gives_the_interpreter_with_the_same_bits),
        cmocka_unit_test(test_a_later_refusal_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("code arena", tests, nullptr, nullptr);
}
