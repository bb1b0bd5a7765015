#!/bin/sh
# volta.h is what it says: pedantic C99, also C11, C++11 and C++17, under every compiler given, alone in a file.
#     check_header.sh HEADER COMPILER...      (gcc, clang, g++, clang++; one that is not installed is skipped)
set -eu
header=$1
shift
strict='-fsyntax-only -Wall -Wextra -Wpedantic -pedantic-errors -Wshadow -Werror'
tested=0
for compiler in "$@"; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    case $compiler in
        *++*) language=c++ standards='c++11 c++17' more= ;;
        *) language=c standards='c99 c11' more=-Wstrict-prototypes ;;
    esac
    for standard in $standards; do
        # Included twice: the guard holds.
        printf '#include "%s"\n#include "%s"\nint main(void);\n' "$header" "$header" |
            "$compiler" -x "$language" -std="$standard" $strict $more - ||
            { echo "$header is not accepted by $compiler -std=$standard"; exit 1; }
        tested=$((tested + 1))
    done
done
[ "$tested" -gt 0 ] || { echo "no compiler of: $*"; exit 1; }
echo "$tested combinations of compiler and standard accept $(basename "$header")"
