#!/bin/sh
# All 2^32 arguments of every function of the contract, on every backend: tools/sweep.sh BUILD [--update]
# A function's first line is its largest error, where, and the hash of all results; one line per instruction set
# follows. Fails if a bound does not hold, if two backends differ, or if a line differs from
# tests/golden/function_hashes.txt, which is part of the contract and the source of the table in docs/numerics.md.
# --update writes both.
set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
golden=$top/tests/golden/function_hashes.txt
result=$build/sweep.txt

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$build" -j "${JOBS:-$(nproc)}" --target sweep_functions >/dev/null
program=$build/tests/jitgen/sweep_functions
mkfifo "$result.pipe" && trap 'rm -f "$result.pipe"' EXIT
tee "$result" <"$result.pipe" &
"$program" >"$result.pipe" || { wait; echo "a bound does not hold or a backend differs" >&2; exit 1; }
wait

# One line per function: name, error, unit, argument, hash.
awk '$2 == "scalar" { printf "%-15s %10s %-4s %-16s %s\n", $1, $3, $4, $6, $7 }' "$result" >"$result.golden"

if [ "${2-}" = --update ]; then
    { echo "# function, largest error, at, hash of all 2^32 results; written by make sweep, part of the contract"
      cat "$result.golden"; } >"$golden"
    page=$top/docs/numerics.md
    awk -v golden="$golden" '
        /<!-- sweep:end -->/ { inside = 0 }
        !inside { print }
        /<!-- sweep:begin -->/ {
            inside = 1
            print "| function | largest error | at x | hash of all results |\n|---|---:|---|---|"
            while ((getline line < golden) > 0) {
                if (line ~ /^#/) continue
                split(line, part, " ")
                printf "| %s | %s %s | %s | `%s` |\n", part[1], part[2], part[3], part[4], part[5]
            }
        }' "$page" >"$page.new" && mv "$page.new" "$page"
    echo "wrote $golden and docs/numerics.md"
else
    grep -v '^#' "$golden" | cmp - "$result.golden" ||
        { diff "$golden" "$result.golden"; echo "results differ from $golden" >&2; exit 1; }
    echo "all functions as in $golden"
fi
