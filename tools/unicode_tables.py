#!/usr/bin/env python3
"""Writes engine/model/unicode_tables.cpp: what tokenizers need to know of Unicode, from Python's unicodedata.

    python3 tools/unicode_tables.py > engine/model/unicode_tables.cpp

Run by hand when the tables are to follow a later version of Unicode; the build uses the committed file.
"""
import sys
import unicodedata

HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
SURROGATES = range(0xD800, 0xE000)
POINTS = [c for c in range(0x110000) if c not in SURROGATES]


def category(c):
    return unicodedata.category(chr(c))


def ranges(points):
    """Consecutive code points as [first, last]."""
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def base(text):
    """Canonically decomposed, without marks."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def folded(c):
    """Small and without accents. Until nothing changes: a small letter may decompose once more."""
    text = chr(c)
    while True:
        after = base("".join(x.lower() for x in base(text)))
        if after == text:
            return text
        text = after


def print_rows(rows, width):
    line = "   "
    for row in rows:
        if len(line) + 1 + len(row) > width:
            print(line)
            line = "   "
        line += " " + row
    print(line)


def print_ranges(name, points):
    rows = ranges(points)
    print("constexpr CodePointRange %s[] = {" % name)
    print_rows(["{0x%x, 0x%x}," % (a, b) for a, b in rows], 110)
    print("};")


def main():
    letters = [c for c in POINTS if category(c)[0] != "C" and category(c) != "Mn" and c not in HANGUL]
    changed = {c: folded(c) for c in letters if folded(c) != chr(c)}
    assert all(1 <= len(t) <= 3 for t in changed.values()), "more than three code points"
    ascii_signs = [c for c in range(0x21, 0x7F) if not chr(c).isalnum()]

    print("// Written by tools/unicode_tables.py from Unicode %s: never edited." % unicodedata.unidata_version)
    print("// clang-format off")
    print('#include "engine/model/unicode_tables.h"\n')
    print("namespace volta {")
    print("namespace {\n")
    print("// Control, format and private code points (C*), without tab, line ends and what is not assigned yet.")
    print_ranges("kControls", [c for c in POINTS if category(c) in ("Cc", "Cf", "Co") and chr(c) not in "\t\n\r"])
    print("\n// Nonspacing marks (Mn): accents.")
    print_ranges("kMarks", [c for c in POINTS if category(c) == "Mn"])
    print("\n// Punctuation (P*), and every sign of ASCII.")
    print_ranges("kSigns", sorted(set(ascii_signs + [c for c in POINTS if category(c)[0] == "P"])))
    print("\n// Letters (L*).")
    print_ranges("kLetters", [c for c in POINTS if category(c)[0] == "L"])
    print("\n// Numbers (N*).")
    print_ranges("kNumbers", [c for c in POINTS if category(c)[0] == "N"])
    print("\n// Code points that change when they are made small and lose their accents: from, to (0: no more).")
    print("constexpr Folding kFoldings[] = {")
    rows = []
    for c, text in sorted(changed.items()):
        rows.append("{0x%x, {%s}}," % (c, ", ".join("0x%x" % ord(x) for x in text)))
    print_rows(rows, 110)
    print("};\n")
    print("}  // namespace\n")
    print("const CodePointTable kControlTable = {kControls, sizeof kControls / sizeof *kControls};")
    print("const CodePointTable kMarkTable = {kMarks, sizeof kMarks / sizeof *kMarks};")
    print("const CodePointTable kSignTable = {kSigns, sizeof kSigns / sizeof *kSigns};")
    print("const CodePointTable kLetterTable = {kLetters, sizeof kLetters / sizeof *kLetters};")
    print("const CodePointTable kNumberTable = {kNumbers, sizeof kNumbers / sizeof *kNumbers};")
    print("const FoldingTable kFoldingTable = {kFoldings, sizeof kFoldings / sizeof *kFoldings};")
    print('const char kUnicodeVersion[] = "%s";' % unicodedata.unidata_version)
    print("\n}  // namespace volta")


if __name__ == "__main__":
    sys.exit(main())
