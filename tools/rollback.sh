#!/bin/sh
# Whoever goes back to the last release finds its files, and those that this version wrote meanwhile:
#     tools/rollback.sh BUILD [COMMIT]      COMMIT: another release than the last tag v*
#
#   golden   files of every format version so far still load and hash as recorded (tests/golden/models)
#   forward  the release trains, saves and quantizes; this version reads the same bits, writes the same text and
#            resumes to the same parameters
#   back     the same the other way round, with files that need nothing newer than the release
# Before the first release there is only the first of the three, and the script says so.
set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
release=${2:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}

echo "== golden: files of all format versions"
(cd "$build" && ctest --output-on-failure --no-tests=error -R '^(test_model|test_model_file|test_broken_model)$')
if [ -z "$release" ]; then
    echo "forward, back: not run: there is no tag v*, so no release to go back to"
    exit 0
fi

old_source=$build/rollback/source
rm -rf "$build/rollback"
mkdir -p "$old_source"
git archive "$release" | tar -x -C "$old_source"
echo "== build of $release"
cmake -S "$old_source" -B "$build/rollback/build" -DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=OFF >/dev/null
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$build/rollback/build" -j "${JOBS:-$(nproc)}" --target voltac >/dev/null
old=$build/rollback/build/voltac new=$build/voltac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
small="--layers 2 --dim 32 --heads 2 --context 32 --batch 2 --seed 3"
failed=0
same() { # WHAT A B
    if [ -n "$2" ] && [ "$2" = "$3" ]; then echo "  same $1"; else echo "! $1: $2, then $3"; failed=1; fi
}
said() { # VOLTAC MODEL: parameters and text; nothing after a failure
    "$1" hash "$2" >said && "$1" generate "$2" --prompt 'The ' --tokens 20 --seed 5 >>said && cksum <said
}
# pass NAME WRITER READER
pass() {
    echo "== $1"
    "$2" train --text "$top/README.md" --out whole.volta $small --steps 8 >log 2>&1
    "$2" train --text "$top/README.md" --out half.volta $small --steps 8 --stop-at 4 >log 2>&1
    same "parameters and text" "$(said "$2" whole.volta)" "$(said "$3" whole.volta)"
    "$3" train --text "$top/README.md" --out resumed.volta $small --steps 8 --resume half.volta >log 2>&1
    same "parameters after resuming" "$("$2" hash whole.volta)" "$("$3" hash resumed.volta)"
    for weights in bf16 int8 int4; do
        "$2" quantize whole.volta --to $weights --out $weights.volta >log 2>&1
        same "$weights" "$(said "$2" $weights.volta)" "$(said "$3" $weights.volta)"
    done
}
pass forward "$old" "$new"
pass back "$new" "$old"
exit $failed
