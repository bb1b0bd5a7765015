#!/bin/sh
# One hash, COUNT times: a small model trains, is saved, and writes a text, each time in new processes and with another
# number of threads and instruction set. Some five seconds each; `make determinism` has every other way.
#     tools/determinism_repeats.sh BUILD COUNT
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
voltac=$(cd "$1" && pwd)/voltac
count=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

isas="scalar"
grep -qw avx2 /proc/cpuinfo && isas="$isas avx2"
grep -qw avx512vl /proc/cpuinfo && isas="$isas avx512"
# shellcheck disable=SC2086  # the list is meant to be split
set -- $isas
expected= differing=0 i=0
while [ $i -lt "$count" ]; do
    i=$((i + 1))
    isa=$1
    shift
    set -- "$@" "$isa" # in turn
    threads=$((i % 4 + 1))
    "$voltac" train --text "$top/README.md" --out m.volta --layers 2 --dim 64 --heads 4 --context 64 --batch 4 \
        --steps 10 --seed 1 --isa "$isa" --threads $threads >log 2>&1 || { cat log >&2; exit 1; }
    "$voltac" generate m.volta --prompt 'The ' --tokens 40 --seed 5 --isa "$isa" --threads $threads >text
    got="$("$voltac" hash m.volta) $(cksum <text | cut -d ' ' -f 1)"
    [ -n "$expected" ] || expected=$got
    if [ "$got" != "$expected" ]; then
        differing=$((differing + 1))
        echo "! run $i, isa $isa, threads $threads: $got, expected $expected"
    fi
done
echo "$count runs on $isas and 1 to 4 threads, $differing differing: $expected"
[ "$count" -gt 0 ] && [ $differing -eq 0 ]
