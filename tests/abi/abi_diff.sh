#!/bin/sh
# abidiff of the headers' interface with api/abi/*.abi: abi_diff.sh ROOT CC [--write]
# Structs that grow at their end, and new functions, are no change for a program that is there.
set -eu
root=$(cd "$1" && pwd)
cc=$2
here=$(dirname "$0")
. "$here/stub.sh"
command -v abidiff >/dev/null 2>&1 || { echo "skipped: there is no abidiff (abigail-tools)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for name in volta volta_data; do
    stub "$root" "$cc" "$name" "$work/lib$name.so.1"
    if [ "${3:-}" = --write ]; then
        abidw --no-corpus-path --no-comp-dir-path --no-show-locs --short-locs "$work/lib$name.so.1" >"$root/api/abi/$name.abi"
        continue
    fi
    # What it may say: that a struct has become longer by fields at the end of it. Which structs may, check_abi.py knows.
    code=0
    abidiff --leaf-changes-only --no-added-syms --no-show-locs "$root/api/abi/$name.abi" "$work/lib$name.so.1" >"$work/said" || code=$?
    if [ $((code & 3)) -ne 0 ] || grep -vE -e '^$' -e '^(Leaf changes|Changed leaf types) summary:' -e 'summary: 0 Removed, 0 Changed,' \
        -e "^'struct [a-z_]+' changed:" -e '^  type size changed from' -e '^  [0-9]+ data member insertions?:' -e "^    '.*', at offset" \
        "$work/said"; then
        echo "the interface of $name.h is not what api/abi/$name.abi promises"
        status=1
    fi
done
exit $status
