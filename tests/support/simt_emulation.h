// CUDA C on a processor: put in front of generated text, this header lets a C++17 compiler build it, and
// simt::run() executes it as a device would. Threads of a block are fibers that run one at a time and hand
// over at shuffles, votes and barriers; which of the ready threads goes on is the launch's `order`, so that
// a program that forgot a barrier computes something else in one of the orders. Blocks run one after another.
//
// Tensor cores are there as the instructions that kernels use; how they round is said below. What is left out
// on purpose: clocks, atomics, and dynamic shared memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

namespace volta::simt {

struct Dim3 {
    unsigned x = 1, y = 1, z = 1;
};

enum class Order : unsigned char { ascending, descending, shuffled };

struct Launch {
    Dim3 grid, block;  // at most 1024 threads
    Order order = Order::ascending;
    std::uint64_t seed = 1;  // of Order::shuffled
};

// Runs kernel(data) once per thread of the grid. "" or what went wrong: threads that wait for each other
// forever, lanes of a warp that meet at different operations, a shuffle from a lane that takes no part.
// After an error the memory of the kernel is what it was at that moment. Thread: any; several at once.
std::string run(const Launch& launch, void (*kernel)(const void* data), const void* data);

// After a kernel of this thread was left by a jump: what stood in the middle of it is forgotten.
void abandon();

template <class Kernel>
std::string run(const Launch& launch, const Kernel& kernel) {
    return run(
        launch, [](const void* data) { (*static_cast<const Kernel*>(data))(); }, &kernel);
}

// ---- What device code sees of the emulation ---------------------------------------------------------------

struct Place {
    Dim3 thread, block, block_size, grid_size;
};
const Place& place();  // of the running thread

enum class Operation : unsigned char { shuffle_xor, shuffle_down, shuffle_up, shuffle, vote, sync, together };

// Every lane of `mask` gives a word and gets that of lane `source` (Operation::vote: the lanes whose word is
// not 0; sync: nothing).
std::uint64_t exchange(Operation operation, unsigned mask, std::uint64_t word, int source);
void block_barrier();
int lane();

// An instruction of a whole warp: when all 32 lanes have met at it, each with operands of its own, `compute`
// runs once for all, and nobody goes on before.
void together(void (*compute)(void* const (&operands)[32]), void* own);

// Asynchronous copies land when they are waited for and not before: reading early reads what was there. Of
// 4, 8 or 16 bytes, at multiples of that.
void copy_async(void* to, const void* from, unsigned bytes);
void commit_copies();
void wait_copies(unsigned groups_in_flight);

template <class T>
T shuffled(Operation operation, unsigned mask, T value, int source) {
    static_assert(sizeof(T) <= 8, "one word");
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    word = exchange(operation, mask, word, source);
    std::memcpy(&value, &word, sizeof value);
    return value;
}

template <class To, class From>
To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "a reinterpretation");
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}

}  // namespace volta::simt

// ---- The words of CUDA C
// ------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local
#define threadIdx (::volta::simt::place().thread)
#define blockIdx (::volta::simt::place().block)
#define blockDim (::volta::simt::place().block_size)
#define gridDim (::volta::simt::place().grid_size)

struct float4 {
    float x, y, z, w;
};

inline void __syncthreads() { ::volta::simt::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    ::volta::simt::exchange(::volta::simt::Operation::sync, mask, 0, 0);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with) {
    using namespace volta::simt;
    return shuffled(Operation::shuffle_xor, mask, value, lane() ^ with);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by) {
    using namespace volta::simt;
    const int from = lane() + static_cast<int>(by);
    return shuffled(Operation::shuffle_down, mask, value, from < 32 ? from : lane());
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by) {
    using namespace volta::simt;
    const int from = lane() - static_cast<int>(by);
    return shuffled(Operation::shuffle_up, mask, value, from >= 0 ? from : lane());
}
template <class T>
T __shfl_sync(unsigned mask, T value, int from) {
    using namespace volta::simt;
    return shuffled(Operation::shuffle, mask, value, from & 31);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    using namespace volta::simt;
    return static_cast<unsigned>(exchange(Operation::vote, mask, predicate != 0, 0));
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

// Built with -ffp-contract=off, so that one operation is one rounding.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }

inline float __uint_as_float(unsigned a) { return ::volta::simt::same_bits<float>(a); }
inline float __int_as_float(int a) { return ::volta::simt::same_bits<float>(a); }
inline unsigned __float_as_uint(float a) { return ::volta::simt::same_bits<unsigned>(a); }
inline int __float_as_int(float a) { return ::volta::simt::same_bits<int>(a); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __ll2float_rn(long long a) { return static_cast<float>(a); }
// A device saturates, and makes 0 of a NaN.
inline int __float2int_rz(float a) {
    if (a != a) return 0;
    if (a >= 2147483648.0f) return 0x7fffffff;
    return a < -2147483648.0f ? -0x7fffffff - 1 : static_cast<int>(a);
}

// ---- Asynchronous copies ----------------------------------------------------------------------------------

template <class Word>
void async_words(Word* to, const Word* from, unsigned bytes, bool wanted) {
    static const Word zeros[4] = {};
    ::volta::simt::copy_async(to, wanted ? from : zeros, bytes);
}
template <class Word>
void async_word(Word* to, const Word* from, bool wanted) {
    async_words(to, from, 4, wanted);
}
template <class Word>
void async_four(Word* to, const Word* from, bool wanted) {
    async_words(to, from, 16, wanted);
}
inline void async_commit() { ::volta::simt::commit_copies(); }
template <int under_way>
void async_wait() {
    ::volta::simt::wait_copies(under_way);
}

// ---- Tensor cores -----------------------------------------------------------------------------------------
//
// Fragments lie in registers as the PTX manual says (mma.m16n8k16 of bf16, mma.m16n8k8 of tf32). Products of
// rounded operands are exact; sums are fp32, along k in ascending order. A device adds in an order and
// precision of its own.

namespace volta::simt {

inline unsigned bf16_of(float x) {  // to nearest, ties to even
    const unsigned bits = same_bits<unsigned>(x);
    return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

struct TensorOperands {
    float* sums;        // [4]: rows g and g + 8, columns 2 t and 2 t + 1, of lane 4 g + t
    const unsigned* a;  // [4]
    unsigned b[2];
};

// One warp's product: `elements` of a register (2 of bf16, 1 of tf32), 8 * elements steps of k.
template <int elements>
void multiply_fragments(void* const (&operands)[32]) {
    const auto of_lane = [&](int lane) { return *static_cast<const TensorOperands*>(operands[lane]); };
    const auto element = [](unsigned word, int k) {
        return same_bits<float>(elements == 2 ? (word >> (k % 2 * 16)) << 16 : word & 0xffffe000u);
    };
    float a[16][8 * elements], b[8 * elements][8];
    for (int k = 0; k < 8 * elements; ++k) {
        const int word = k / elements;  // 0 .. 7: four lanes, two registers each
        for (int row = 0; row < 16; ++row)
            a[row][k] = element(of_lane(row % 8 * 4 + word % 4).a[row / 8 + word / 4 * 2], k);
        for (int n = 0; n < 8; ++n) b[k][n] = element(of_lane(n * 4 + word % 4).b[word / 4], k);
    }
    for (int row = 0; row < 16; ++row)
        for (int n = 0; n < 8; ++n) {
            float& sum = of_lane(row % 8 * 4 + n / 2).sums[row / 8 * 2 + n % 2];
            for (int k = 0; k < 8 * elements; ++k) sum += a[row][k] * b[k][n];
        }
}

}  // namespace volta::simt

inline unsigned bf16_pair(float low, float high) {
    return ::volta::simt::bf16_of(low) | ::volta::simt::bf16_of(high) << 16;
}
inline unsigned tf32_word(float x) {  // to nearest, ties away from zero
    const unsigned bits = ::volta::simt::same_bits<unsigned>(x);
    return x != x ? 0x7fffffffu : (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}
inline float exp2_fast(float x) {
    const float y = std::exp2(x);
    return y < 0x1p-126f ? 0.0f : y;
}
inline void mma_bf16(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    volta::simt::TensorOperands own = {sums, a, {b0, b1}};
    volta::simt::together(volta::simt::multiply_fragments<2>, &own);
}
inline void mma_tf32(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    volta::simt::TensorOperands own = {sums, a, {b0, b1}};
    volta::simt::together(volta::simt::multiply_fragments<1>, &own);
}
