#include "tests/jitgen/compare.h"

#include <cstdio>

#include "tests/jitgen/reference.h"

namespace volta::test {
namespace {

using Word = std::uint32_t;

constexpr std::int64_t kGuard = 32;  // words before and after every operand
constexpr Word kGuardWord = 0x5ca1ab1e;
constexpr std::int64_t kSingles = 8;  // elements of a single operand

// The memory of all operands of one run.
struct Memory {
    std::vector<std::vector<Word>> words;  // per operand: slack, guard, elements, guard
    std::vector<Word*> begins;             // of the elements within `words`
    std::vector<std::int64_t> counts;      // of elements
    std::vector<void*> bases;              // what the kernel gets: another operand's memory when in place
    std::vector<std::int64_t> strides;
};

Word random_word(Random& random, jit::Type type, Data data) {
    if (type == jit::Type::real) return bits_of(random_float(random, data));
    // Small numbers, numbers near the ends, anything.
    const auto word = static_cast<Word>(random.next());
    switch (random.below(3)) {
        case 0:
            return word & 15;
        case 1:
            return (word & 15) - 8u + 0x80000000u;
        default:
            return word;
    }
}

Word* aligned(Word* p) { return p + (16 - reinterpret_cast<std::uintptr_t>(p) / 4 % 16) % 16; }

std::int64_t elements(const jit::Operand& operand, const Layout& layout, std::int64_t stride) {
    switch (operand.access) {
        case jit::Access::full:
            return layout.rows == 0 ? 0 : (layout.rows - 1) * stride + layout.columns;
        case jit::Access::per_row:
            return layout.rows * stride;
        case jit::Access::per_column:
            return layout.columns;
        default:
            return kSingles;
    }
}

Memory make_memory(const jit::Program& program, const Layout& layout) {
    Random random(layout.seed);
    Memory memory;
    std::vector<bool> taken(program.operands.size(), false);
    for (std::size_t k = 0; k < program.operands.size(); ++k) {
        const jit::Operand& operand = program.operands[k];
        const bool full = operand.access == jit::Access::full;
        memory.strides.push_back(full ? layout.columns + layout.row_gap : 1 + layout.row_gap % 3);
        const std::int64_t count = elements(operand, layout, memory.strides[k]);
        memory.words.emplace_back(static_cast<std::size_t>(count + 2 * kGuard + 32), kGuardWord);
        Word* const begin = aligned(memory.words[k].data()) + kGuard + layout.offset;
        for (std::int64_t i = 0; i < count; ++i) begin[i] = random_word(random, operand.type, layout.data);
        memory.begins.push_back(begin);
        memory.counts.push_back(count);
        memory.bases.push_back(begin);
        if (!layout.in_place || !full || !operand.output) continue;
        for (std::size_t input = 0; input < k; ++input) {
            const jit::Operand& other = program.operands[input];
            if (other.access != jit::Access::full || other.output || other.type != operand.type ||
                taken[input])
                continue;
            taken[input] = true;
            memory.bases[k] = memory.bases[input];
            break;
        }
    }
    return memory;
}

jit::RowArgs arguments(const Memory& memory, const Layout& layout, void* scratch) {
    jit::RowArgs args{};
    args.operands = memory.bases.data();
    args.row_strides = memory.strides.data();
    args.rows = layout.rows;
    args.columns = layout.columns;
    args.first_row = layout.first_row;
    args.first_column = layout.first_column;
    args.continue_columns = layout.continue_columns;
    args.scratch = scratch;
    return args;
}

Word canonical(Word word, jit::Type type) {
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    return type == jit::Type::real && nan ? 0x7fc00000u : word;
}

}  // namespace

Difference compare(const jit::RowKernel& kernel, const Layout& layout) {
    const jit::Program& program = kernel.program();
    const Memory expected = make_memory(program, layout), actual = make_memory(program, layout);

    const std::size_t scratch_words = kernel.scratch_bytes(layout.columns) / 4;
    std::vector<Word> scratch(scratch_words + 16 + kGuard, kGuardWord);
    Word* const scratch_begin = aligned(scratch.data());
    Word* const scratch_end = scratch_begin + scratch_words;

    const jit::RowArgs expected_args = arguments(expected, layout, nullptr);
    Reference(program, expected_args).run();
    kernel.run(arguments(actual, layout, scratch_begin));

    for (std::size_t k = 0; k < program.operands.size(); ++k) {
        const jit::Type type = program.operands[k].type;
        for (std::int64_t i = -kGuard; i < actual.counts[k] + kGuard; ++i) {
            const Word want = expected.begins[k][i], got = actual.begins[k][i];
            if (canonical(want, type) == canonical(got, type)) continue;
            char text[160];
            std::snprintf(text, sizeof text,
                          "operand @%zu, element %lld of [%lld, %lld]: expected %08x, got %08x", k,
                          static_cast<long long>(i), static_cast<long long>(layout.rows),
                          static_cast<long long>(layout.columns), want, got);
            return {true, text};
        }
    }
    for (Word* guard = scratch_end; guard < scratch.data() + scratch.size(); ++guard)
        if (*guard != kGuardWord) return {true, "wrote behind its scratch"};
    return {false, ""};
}

}  // namespace volta::test
