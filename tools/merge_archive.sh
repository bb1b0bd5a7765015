#!/bin/sh
# Puts the objects of another archive into ours, and gives its names a prefix: a host links one archive, and may link
# another version of the other one beside it.
#     merge_archive.sh OURS OTHER PREFIX
set -eu
ours=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
other=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -g --defined-only "$other" 2>/dev/null | awk -v prefix="$3" 'NF == 3 { print $3, prefix $3 }' | sort -u >"$work/names"
[ -s "$work/names" ] || { echo "$other has no names"; exit 1; }
mkdir "$work/objects"
(cd "$work/objects" && ar x "$other")
cp "$ours" "$work/merged.a"
ar qc "$work/merged.a" "$work/objects"/*.o
objcopy --redefine-syms="$work/names" "$work/merged.a"
ranlib "$work/merged.a"
mv "$work/merged.a" "$ours"
