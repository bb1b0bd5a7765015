#!/bin/sh
# volta.h is what it says: pedantic C99, also C11, C17, C++11 to C++20, under every compiler given, alone in a file. Every
# struct that begins with struct_size has its VOLTA_<NAME>_INIT, which warns in none of them, names every field, and is
# all zeros but for struct_size.
#     check_header.sh HEADER COMPILER...      (gcc, clang, g++, clang++; one that is not installed is skipped)
set -eu
header=$1
shift
strict='-Wall -Wextra -Wpedantic -pedantic-errors -Wshadow -Wmissing-field-initializers -Wmissing-braces -Werror'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# volta_tune_report and volta_plan_step are the library's alone to fill.
structs=$(sed -n 's/^typedef struct \(volta_[a-z0-9_]*\) {.*/\1/p; s/^    size_t struct_size;.*/struct_size/p' "$header" |
    awk '$0 == "struct_size" { if (name != "volta_tune_report" && name != "volta_plan_step") print name; next } { name = $0 }')
{
    # Included twice: the guard holds.
    printf '#include "%s"\n#include "%s"\n#include <stdio.h>\n#include <string.h>\n' "$header" "$header"
    printf 'static int wrong(const char *name, const void *object, size_t claimed, size_t bytes) {\n'
    printf '    const unsigned char *at = (const unsigned char *)object;\n    size_t i = sizeof(size_t);\n'
    printf '    if (bytes == 0) i = 0, bytes = claimed;\n    if (claimed != bytes) { printf("%%s: another struct_size\\n", name); return 1; }\n'
    printf '    for (; i < bytes; ++i) if (at[i] != 0) { printf("%%s: byte %%u is not 0\\n", name, (unsigned)i); return 1; }\n    return 0;\n}\n'
    printf 'int main(void) {\n    int count = 0;\n'
    for name in $structs; do
        macro=$(echo "$name" | tr 'a-z' 'A-Z')_INIT
        printf '    { static const %s of_this = %s; count += wrong("%s", &of_this, of_this.struct_size, sizeof of_this); }\n' "$name" "$macro" "$macro"
    done
    if grep -q VOLTA_CANCEL_INIT "$header"; then
        printf '    { static const volta_cancel of_this = VOLTA_CANCEL_INIT; count += wrong("VOLTA_CANCEL_INIT", &of_this, sizeof of_this, 0); }\n'
    fi
    printf '    return count != 0;\n}\n'
} >"$work/all.c"

tested=0
for compiler in "$@"; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    case $compiler in
        *++*) language=c++ standards='c++11 c++14 c++17 c++20' more= ;;
        *) language=c standards='c99 c11 c17' more=-Wstrict-prototypes ;;
    esac
    for standard in $standards; do
        "$compiler" -x "$language" -std="$standard" $strict $more -c -o "$work/all.o" "$work/all.c" ||
            { echo "$header is not accepted by $compiler -std=$standard"; exit 1; }
        tested=$((tested + 1))
    done
    "$compiler" -o "$work/all" "$work/all.o" && "$work/all" || exit 1
done

# The example of the README, in a host's function; and nowhere {sizeof x}, of which the reader's -Wextra warns.
top=$(dirname "$header")/..
readme=$top/README.md
if [ -f "$readme" ]; then
    if grep -rnE '\{ *sizeof' "$readme" "$top/docs" "$top/examples"; then
        echo "options begin with VOLTA_..._INIT, not with {sizeof"
        exit 1
    fi
    {
        printf '#include "%s"\n#include <stdio.h>\nvoid example(const int32_t *tokens, size_t token_count);\n' "$header"
        printf 'void example(const int32_t *tokens, size_t token_count) {\n'
        awk '/^```/ { if (on) exit; on = $0 == "```c"; next } on && !/^#include/' "$readme"
        printf '}\n'
    } >"$work/readme.c"
    grep -q volta_context_create "$work/readme.c" || { echo "$readme has no example"; exit 1; }
    "$1" -std=c99 $strict -c -o "$work/readme.o" "$work/readme.c" ||
        { echo "the example of $readme is not accepted"; exit 1; }
fi
[ "$tested" -gt 0 ] || { echo "no compiler of: $*"; exit 1; }
echo "$tested combinations of compiler and standard accept $(basename "$header") and its $(echo $structs | wc -w) initialisers"
