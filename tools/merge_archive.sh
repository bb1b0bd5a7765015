#!/bin/sh
# Makes one object of an archive of ours, and of what it uses of others, in which volta_* are the only names: a host links
# one archive, may link another version of the others beside it, and its operator new, its templates and ours do not meet.
#     merge_archive.sh OURS [OTHER...]
set -eu
ours=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -g --defined-only "$ours" 2>/dev/null | awk 'NF == 3 && $2 == "T" && $3 ~ /^volta_/ { print $3 }' | sort -u >"$work/names"
[ -s "$work/names" ] || { echo "$ours has no functions volta_*" >&2; exit 1; }
# What no name of ours leads to is left out; groups of equal templates become the one that is taken.
sed 's/^/-u /' "$work/names" >"$work/roots"
ld -r --gc-sections --force-group-allocation -o "$work/volta.o" "@$work/roots" --start-group "$ours" "$@" --end-group
# gcc makes inline variables unique in a process, which objcopy localises only once they are weak.
nm -g --defined-only "$work/volta.o" | awk '$2 == "u" { print $3 }' >"$work/unique"
[ ! -s "$work/unique" ] || objcopy --weaken-symbols="$work/unique" "$work/volta.o"  # it refuses an empty list
objcopy --keep-global-symbols="$work/names" "$work/volta.o"
foreign=$(nm -g --defined-only "$work/volta.o" | awk 'NF == 3 && $3 !~ /^volta_/ { print $3 }' | head -n 3)
[ -z "$foreign" ] || { printf "%s would keep names:\n%s\n" "$ours" "$foreign" >&2; exit 1; }
rm -f "$work/merged.a"
ar rcs "$work/merged.a" "$work/volta.o"
mv "$work/merged.a" "$ours"
