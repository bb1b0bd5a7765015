// The libraries' own operator new and delete, in every form that the language has: whose the memory is, how
// it is aligned, and what a refusal is. This program is linked with them, as a library is.
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>

#include "engine/base/new_scope.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;

struct CountingHeap final : std::pmr::memory_resource {
    std::size_t live = 0, count = 0, alignment = 0;  // alignment: of the latest block

  private:
    void* do_allocate(std::size_t bytes, std::size_t aligned) override {
        live += bytes, alignment = aligned, ++count;
        return std::pmr::new_delete_resource()->allocate(bytes, aligned);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t aligned) override {
        live -= bytes;
        std::pmr::new_delete_resource()->deallocate(block, bytes, aligned);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

constexpr std::size_t kBytes = 100;
constexpr std::align_val_t kAligned{256};
volatile std::size_t most = SIZE_MAX, half = SIZE_MAX / 2;  // the compiler does not look

bool is_aligned(const void* block, std::align_val_t alignment) {
    return reinterpret_cast<std::uintptr_t>(block) % static_cast<std::size_t>(alignment) == 0;
}

constexpr int kForms = 8;
void allocate_all(void* (&blocks)[kForms]) {
    blocks[0] = ::operator new(kBytes);
    blocks[1] = ::operator new[](kBytes);
    blocks[2] = ::operator new(kBytes, std::nothrow);
    blocks[3] = ::operator new[](kBytes, std::nothrow);
    blocks[4] = ::operator new(kBytes, kAligned);
    blocks[5] = ::operator new[](kBytes, kAligned);
    blocks[6] = ::operator new(kBytes, kAligned, std::nothrow);
    blocks[7] = ::operator new[](kBytes, kAligned, std::nothrow);
    for (int i = 0; i < kForms; ++i) {
        assert_non_null(blocks[i]);
        assert_true(is_aligned(blocks[i], i < 4 ? std::align_val_t{alignof(std::max_align_t)} : kAligned));
        std::memset(blocks[i], i, kBytes);
    }
}
void free_all(void* const (&blocks)[kForms]) {
    for (int i = 0; i < kForms; ++i) {
        const auto* const bytes = static_cast<const unsigned char*>(blocks[i]);
        assert_true(bytes[0] == i && bytes[kBytes - 1] == i);
    }
    ::operator delete(blocks[0]);
    ::operator delete[](blocks[1], std::nothrow);
    ::operator delete(blocks[4], kAligned);
    ::operator delete[](blocks[5], kAligned, std::nothrow);
#ifdef __cpp_sized_deallocation
    ::operator delete(blocks[2], kBytes);
    ::operator delete[](blocks[3], kBytes);
    ::operator delete(blocks[6], kBytes, kAligned);
    ::operator delete[](blocks[7], kBytes, kAligned);
#else
    ::operator delete(blocks[2]);
    ::operator delete[](blocks[3]);
    ::operator delete(blocks[6], kAligned);
    ::operator delete[](blocks[7], kAligned);
#endif
    ::operator delete(nullptr, kAligned);
}

void test_memory_is_the_heaps_of_the_scope(void**) {
    CountingHeap heap;
    void* blocks[kForms];
    {
        const NewScope scope(&heap);
        allocate_all(blocks);
    }
    assert_int_equal(heap.count, kForms);
    assert_int_equal(heap.alignment, static_cast<std::size_t>(kAligned));
    assert_true(heap.live >= kForms * kBytes);
    free_all(blocks);  // outside of it, as by a thread that knows of none
    assert_int_equal(heap.live, 0);
}

void test_memory_outside_of_a_scope_is_the_c_heaps(void**) {
    void* blocks[kForms];
    allocate_all(blocks);
    free_all(blocks);
    std::pmr::memory_resource* const heap = std::pmr::get_default_resource();
    assert_true(heap->is_equal(*heap));
    assert_false(heap->is_equal(*std::pmr::new_delete_resource()));
}

template <class Body>
bool is_refused(Body allocate) {
    try {
        return allocate() == nullptr;
    } catch (const std::bad_alloc&) {
        return true;
    }
}

void test_what_is_not_there_is_refused(void**) {
    for (const std::size_t bytes : {most, half}) {
        assert_true(is_refused([&] { return ::operator new(bytes); }));
        assert_true(is_refused([&] { return ::operator new(bytes, kAligned); }));
        assert_null(::operator new(bytes, std::nothrow));
        assert_null(::operator new(bytes, kAligned, std::nothrow));
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_the_heaps_of_the_scope),
        cmocka_unit_test(test_memory_outside_of_a_scope_is_the_c_heaps),
        cmocka_unit_test(test_what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
