#!/bin/sh
# Runs every fuzz target of a build folder: tools/fuzz.sh BUILD SECONDS
# The committed corpus (fuzz/corpus/<target>) is read, never written: what a run finds goes to BUILD/corpus.
set -eu
build=$1
seconds=$2
top=$(cd "$(dirname "$0")/.." && pwd)

found=0
for target in $(find "$build" -type f -name 'fuzz_*' -perm -u+x ! -path '*/CMakeFiles/*' | sort); do
    found=1
    name=$(basename "$target")
    mkdir -p "$build/corpus/$name" "$build/crashes"
    seeds=$top/fuzz/corpus/${name#fuzz_}
    [ -d "$seeds" ] || seeds=
    echo "== $name, $seconds seconds"
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/crashes/$name-" "$build/corpus/$name" $seeds
done
[ "$found" -eq 1 ] || { echo "no fuzz target in $build" >&2; exit 1; }
