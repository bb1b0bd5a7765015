// What tokenizers need to know of Unicode: tables that tools/unicode_tables.py writes. unicode.h reads them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volta {

struct CaseRow {
    std::uint32_t first, last;
    std::int32_t step, delta;
};
struct DecompositionRow {
    std::uint32_t code_point : 21, compatible : 1, bytes : 6;
    std::uint16_t place;  // of its text
};
struct ClassRow {
    std::uint32_t first, last, combining_class;
};

extern const std::uint32_t kCategoryRows[];   // ascending: code point * 32 + category, up to the next one
extern const std::uint16_t kCategoryPages[];  // by code point / 256; one more at the end
extern const CaseRow kCaseRows[];
extern const std::size_t kCaseRowCount;
extern const DecompositionRow kDecompositionRows[];  // ascending
extern const std::size_t kDecompositionRowCount;
extern const unsigned char kDecompositionTexts[];
extern const std::uint16_t kCompositionRows[];  // of kDecompositionRows, ascending by what they decompose to
extern const std::size_t kCompositionRowCount;
extern const ClassRow kClassRows[];  // ascending
extern const std::size_t kClassRowCount;
extern const char kUnicodeVersion[];

}  // namespace volta
