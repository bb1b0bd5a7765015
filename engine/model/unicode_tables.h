// What tokenizers need to know of Unicode: tables that tools/unicode_tables.py writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volta {

struct CodePointRange {
    std::uint32_t first, last;
};
struct CodePointTable {  // ascending, apart from each other
    const CodePointRange* ranges;
    std::size_t count;
};
struct Folding {
    std::uint32_t from, to[3];  // as many as are not 0
};
struct FoldingTable {  // ascending by `from`
    const Folding* rows;
    std::size_t count;
};

extern const CodePointTable kControlTable;  // Cc, Cf, Co, without tab and line ends; not what is unassigned
extern const CodePointTable kMarkTable;     // Mn
extern const CodePointTable kSignTable;     // P*, and every sign of ASCII
extern const CodePointTable kLetterTable;   // L*
extern const CodePointTable kNumberTable;   // N*
extern const FoldingTable
    kFoldingTable;  // what becomes of letters that are made small and lose their accents
extern const char kUnicodeVersion[];

bool contains(const CodePointTable& table, std::uint32_t code_point);
const Folding* find_folding(std::uint32_t code_point);  // NULL: the code point stays

}  // namespace volta
