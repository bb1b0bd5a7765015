#!/bin/sh
# Pages and comments use the field's nouns: no phrase of words.txt stands in the documents, nor in the folders below.
# Preludes are text of device kernels, whose bytes name what is cached.
#     check_words.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
folders='include docs bench cli engine jitgen data'
files=$(for folder in $folders; do
    if [ -d "$folder" ]; then
        find "$folder" -type f \( -name '*.md' -o -name '*.h' -o -name '*.cpp' -o -name '*.py' \) ! -name '*_prelude.cpp'
    fi
done
ls README.md CONTRIBUTING.md SECURITY.md 2>/dev/null || true)
[ -n "$files" ] || { echo "no files found: wrong folder?"; exit 1; }

found=$(sed -e '/^#/d' -e '/^ *$/d' "$here/words.txt" | while IFS= read -r row; do
    phrase=${row% | *}
    # shellcheck disable=SC2086
    grep -nHiE -e "$phrase" $files | sed "s#\$#    <- say: ${row##* | }#"
done)
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
echo "$(printf '%s\n' "$files" | wc -l | tr -d ' ') files use the field's words"
