#!/usr/bin/env python3
"""Writes engine/model/unicode_tables.cpp: what tokenizers need to know of Unicode 16.

    pip install unicodedata2==16.0.0
    python3 tools/unicode_tables.py > engine/model/unicode_tables.cpp

Run by hand when the tables are to follow a later version of Unicode; the build uses the committed file. unicodedata2 is Python's
unicodedata of a version of one's choice; it has no small letters, which are Python's own and those that came since.
"""
import sys

import unicodedata2 as unicodedata

HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
POINTS = range(0x110000)
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
# Capital letters of Unicode 15 and 16, which an older Python lacks.
LATER_SMALL = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B}
LATER_SMALL.update({c: c + 0x20 for c in range(0x10D50, 0x10D66)})


def category(c):
    return unicodedata.category(chr(c))


def small(c):
    """The small letter of a capital one; U+0130, which becomes two, is left to the code."""
    if c in LATER_SMALL:
        return LATER_SMALL[c]
    text = chr(c).lower()
    return ord(text) if len(text) == 1 and category(c) != "Cn" and category(c) != "Cs" else c


def print_rows(rows, width=110):
    line = "   "
    for row in rows:
        if len(line) + 1 + len(row) > width:
            print(line)
            line = "   "
        line += " " + row
    print(line)


def print_list(declaration, rows):
    print("%s = {" % declaration)
    print_rows(["%s," % row for row in rows])
    print("};\n")


def category_rows():
    rows = []
    for c in POINTS:
        value = CATEGORIES.index(category(c))
        if not rows or rows[-1][1] != value:
            rows.append((c, value))
    return rows


def case_rows():
    """first, last, step, delta: every step-th code point has a small letter that lies delta behind it."""
    rows = []
    for c in POINTS:
        if small(c) == c:
            continue
        delta = small(c) - c
        if rows and rows[-1][3] == delta and rows[-1][1] < c <= rows[-1][1] + 2:
            first, last, step, _ = rows[-1]
            if first == last or c - last == step:
                rows[-1] = (first, c, c - last, delta)
                continue
        rows.append((c, c, 1, delta))
    return rows


def decompositions():
    """code point, whether only for compatibility, text: one step, as UnicodeData has it."""
    rows = []
    for c in POINTS:
        field = unicodedata.decomposition(chr(c))
        if not field or c in HANGUL:
            continue
        words = field.split()
        loose = words[0].startswith("<")
        rows.append((c, loose, "".join(chr(int(x, 16)) for x in words[loose:])))
    return rows


def class_rows():
    rows = []
    for c in POINTS:
        value = unicodedata.combining(chr(c))
        if value == 0:
            continue
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == value:
            rows[-1][1] = c
        else:
            rows.append([c, c, value])
    return rows


def main():
    print("// Written by tools/unicode_tables.py from Unicode %s: never edited." % unicodedata.unidata_version)
    print("// clang-format off")
    print('#include "engine/model/unicode_tables.h"\n')
    print("namespace volta {\n")
    rows = category_rows()
    print("// Where a category begins: code point * 32 + category; and, of each 256 code points, the row of the first.")
    print_list("const std::uint32_t kCategoryRows[]", ["0x%x" % (c * 32 + value) for c, value in rows])
    pages, at = [], 0
    for page in range(0x1100):
        while at + 1 < len(rows) and rows[at + 1][0] <= page * 256:
            at += 1
        pages.append(at)
    pages.append(len(rows) - 1)
    print_list("const std::uint16_t kCategoryPages[]", pages)
    print("// Small letters: every step-th code point from first to last has one, delta behind it.")
    rows = case_rows()
    print_list("const CaseRow kCaseRows[]", ["{0x%x, 0x%x, %d, %d}" % row for row in rows])
    print("const std::size_t kCaseRowCount = %d;\n" % len(rows))
    pool, places = b"", {}
    rows = decompositions()
    for _, _, text in sorted(rows, key=lambda row: -len(row[2].encode())):
        encoded = text.encode()
        place = pool.find(encoded)
        if place < 0:
            place = len(pool)
            pool += encoded
        places[encoded] = place
    assert len(pool) < 65536
    print("// Decompositions: code point, whether only for compatibility, bytes and place of the text.")
    print_list("const DecompositionRow kDecompositionRows[]",
               ["{0x%x, %d, %d, %d}" % (c, loose, len(text.encode()), places[text.encode()]) for c, loose, text in rows])
    print("const std::size_t kDecompositionRowCount = %d;\n" % len(rows))
    print_list("const unsigned char kDecompositionTexts[]", [str(b) for b in pool])
    pairs = []
    for i, (c, loose, text) in enumerate(rows):
        if not loose and len(text) == 2 and unicodedata.normalize("NFC", chr(c)) == chr(c):
            pairs.append((ord(text[0]), ord(text[1]), i))
    print("// Rows above that compose again, by their first and second code points.")
    print_list("const std::uint16_t kCompositionRows[]", [str(i) for _, _, i in sorted(pairs)])
    print("const std::size_t kCompositionRowCount = %d;\n" % len(pairs))
    print("// Canonical combining classes: first, last, class.")
    rows = class_rows()
    print_list("const ClassRow kClassRows[]", ["{0x%x, 0x%x, %d}" % tuple(row) for row in rows])
    print("const std::size_t kClassRowCount = %d;\n" % len(rows))
    print('const char kUnicodeVersion[] = "%s";' % unicodedata.unidata_version)
    print("\n}  // namespace volta")


if __name__ == "__main__":
    sys.exit(main())
