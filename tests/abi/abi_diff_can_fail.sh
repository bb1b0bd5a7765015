#!/bin/sh
# abi_diff.sh notices what breaks a program, and nothing else: abi_diff_can_fail.sh ROOT CC
set -eu
root=$1
cc=$2
command -v abidiff >/dev/null 2>&1 || { echo "skipped: there is no abidiff (abigail-tools)"; exit 77; }
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# tried NAME noticed|allowed SED-COMMAND: abi_diff.sh with a header that was changed so.
tried() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/tools" "$work/tree/engine/api" "$work/tree/data"
    cp -r "$root/include" "$root/api" "$work/tree"
    cp "$root/tools/check_abi.py" "$work/tree/tools"
    cp "$root/engine/api/api.map" "$work/tree/engine/api"
    cp "$root/data/data.map" "$work/tree/data"
    sed -i "$3" "$work/tree/include/volta.h"
    cmp -s "$root/include/volta.h" "$work/tree/include/volta.h" && { echo "$1: nothing was changed"; exit 1; }
    got=allowed
    sh "$here/abi_diff.sh" "$work/tree" "$cc" >"$work/said" 2>&1 || got=noticed
    grep -q 'error:' "$work/said" && { cat "$work/said"; echo "$1: does not compile"; exit 1; }
    [ $got = "$2" ] || { cat "$work/said"; echo "$1: $got, it must be $2"; exit 1; }
}
tried "a field of another type" noticed 's/^    uint32_t thread_count;/    uint64_t thread_count;/'
tried "a field in between" noticed 's/^    uint32_t thread_count;.*/    double first;\n&/'
tried "two fields that changed places" noticed '/^    volta_level level;/{h;d};/^    volta_isa isa;/{G}'
tried "a field of another sign" noticed 's/^    uint32_t thread_count;/    int32_t thread_count;/'
tried "a type of another width" noticed 's/^typedef int32_t volta_level;/typedef int64_t volta_level;/'
tried "a field at the end" allowed 's/^} volta_gpt_options;/    double last;\n&/'
echo "changes of fields are noticed, growth is allowed"
