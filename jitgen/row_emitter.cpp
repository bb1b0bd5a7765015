#include "jitgen/row_emitter.h"

#include <cstdio>
#include <new>

#include "engine/base/error.h"
#include "engine/base/new_scope.h"
#include "jitgen/row_loops.h"

namespace volta::jit {
namespace {

class NativeKernel final : public RowKernel {
  public:
    using Entry = void (*)(const RowArgs*);

    NativeKernel(const Program& program, const RowPlan& plan, const void* code,
                 std::pmr::memory_resource* heap)
        : RowKernel(Program(program, heap), true),
          entry_(reinterpret_cast<Entry>(reinterpret_cast<std::uintptr_t>(code))),
          kept_rows_(static_cast<std::size_t>(plan.kept_rows)),
          row_sums_(static_cast<std::size_t>(plan.row_sums)) {}

    void run(const RowArgs& args) const noexcept override { entry_(&args); }
    std::size_t scratch_bytes(std::int64_t columns) const noexcept override {
        return kept_rows_ * kept_row_bytes(columns) + row_sums_ * chunk_row_bytes(columns);
    }

  private:
    Entry entry_;
    std::size_t kept_rows_, row_sums_;
};

// Most kernels take 1 to 10 KB. Doubling finds the size of the others.
constexpr std::size_t kFirstBufferBytes = 32 << 10, kLastBufferBytes = 16 << 20;

// The code's bytes in `buffer`; 0 when it is too small.
template <class Isa>
std::size_t generate(const RowPlan& plan, Buffer& buffer, std::pmr::memory_resource* heap) {
    const NewScope labels(heap);  // the assembler's
    try {
        RowLoops<Isa> loops(plan, buffer.data(), buffer.bytes(), heap);
        loops.generate();
        return loops.size();
    } catch (const Xbyak::Error& error) {
        if (static_cast<int>(error) == Xbyak::ERR_CODE_IS_TOO_BIG) return 0;
        fail(VOLTA_INTERNAL, "row emitter: %s", error.what());
    }
}

}  // namespace

RowKernelPtr emit_row_kernel(const Program& program, Isa isa, CodeArena& arena,
                             std::pmr::memory_resource* heap) {
    if (isa == Isa::scalar || !arena.available()) return nullptr;
    const RowPlan plan(program, heap);
    Buffer buffer;
    std::size_t size = 0;
    for (std::size_t bytes = kFirstBufferBytes; size == 0; bytes *= 2) {
        if (bytes > kLastBufferBytes)
            fail(VOLTA_INTERNAL,
                 "row emitter: a program of %zu instructions needs more than %zu bytes of code",
                 program.code.size(), kLastBufferBytes);
        buffer = Buffer(heap, bytes);
        size = isa == Isa::avx512 ? generate<Avx512>(plan, buffer, heap) : generate<Avx2>(plan, buffer, heap);
    }
    char name[64];
    std::snprintf(name, sizeof name, "row_%zu_%s", program.code.size(), isa_name(isa));
    const void* const code = arena.publish(buffer.data(), size, name);
    if (!code) return nullptr;

    void* const place = heap->allocate(sizeof(NativeKernel), alignof(NativeKernel));
    try {
        return RowKernelPtr(new (place) NativeKernel(program, plan, code, heap),
                            RowKernelDelete{heap, sizeof(NativeKernel), alignof(NativeKernel)});
    } catch (...) {
        heap->deallocate(place, sizeof(NativeKernel), alignof(NativeKernel));
        throw;
    }
}

}  // namespace volta::jit
