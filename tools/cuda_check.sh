#!/bin/sh
# What CUDA promises, tried on the GPU of this machine: `make cuda-check` (docs/cuda.md).
#     cuda_check.sh [--fake] [--steps N] [--page FILE] FOLDER
# FOLDER is a build folder, or one of binaries (`make cuda-bundle`). Every part prints lines of its own, then "PART: ok",
# "PART: FAILED ..." or "PART: not run: why"; a failure does not stop the others. On a GPU the parts and the benchmarks
# are written into FILE. --fake: small forms on the driver without a GPU; no benchmarks, no page.
# Exit status: 0; 1 if a part failed; 77 without a device.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
fake=no steps=200 page=
while [ $# -gt 1 ]; do
    case $1 in
        --fake) fake=yes ;;
        --steps) steps=$2; shift ;;
        --page) page=$2; shift ;;
        *) break ;;
    esac
    shift
done
[ $# -eq 1 ] && [ -d "$1" ] || { echo "usage: cuda_check.sh [--fake] [--steps N] [--page FILE] FOLDER" >&2; exit 2; }
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" # kernels of earlier runs are not used
libraries=$folder
[ $fake = no ] || libraries=$folder/tests/cuda/fake_cuda/lib:$folder/tests/cuda/fake_cuda/lib_cublaslt:$folder
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# find NAME PLACES...: the first place in FOLDER or the source tree that has it.
find_file() {
    name=$1
    shift
    for place in "$folder" "$@"; do
        [ ! -f "$place/$name" ] || { echo "$place/$name"; return; }
    done
}
check=$(find_file cuda_check "$folder/tests/cuda")
backend=$(find_file test_backend "$folder/tests/runtime")
voltac=$(find_file voltac)
golden=$(find_file function_hashes.txt "$top/tests/golden")
peers=$(find_file cuda_peers.py "$top/bench")

# told LINE: on the terminal and, at the end, on the page.
told() { echo "$1" | tee -a "$work/verdicts"; }
failed=0

# The sentence of an error that a part says with its name, else its last other line.
reason() {
    { grep -v "^$1: " "$work/$1" | tail -n 1; sed -n "s/^$1: FAILED: //p" "$work/$1"; } | tail -n 1
}

# part NAME SECONDS COMMAND...: its lines, and a verdict. Exit status 77 of a command: it has said why it was not run.
part() {
    name=$1 limit=$2 begin=$(date +%s)
    shift 2
    if [ -z "$1" ]; then
        told "$name: not run: there is no such program in $folder"
        return
    fi
    timeout "$limit" "$@" >"$work/$name" 2>&1
    status=$?
    grep -v "^$name: " "$work/$name" | tail -n 40
    case $status in
        0) told "$name: ok ($(($(date +%s) - begin)) s)" ;;
        77) told "$(grep "^$name: not run" "$work/$name" || echo "$name: not run: exit status 77")" ;;
        124) told "$name: FAILED: not done after $limit s"; failed=1 ;;
        *) told "$name: FAILED: exit status $status; $(reason "$name")"; failed=1 ;;
    esac
}
not_run() { told "$1: not run: $2"; }

if [ $fake = yes ]; then
    small=--small
    echo "device: the driver without a GPU (docs/cuda.md)"
else
    small=
    [ -n "$voltac" ] || { echo "cuda-check: there is no voltac in $folder" >&2; exit 1; }
    "$voltac" doctor >"$work/doctor" 2>&1
    doctor=$?
    device=$(grep '^cuda' "$work/doctor" | head -n 1)
    case $device in
        cuda:*) ;;
        *) echo "cuda-check: not run: $(echo "$device" | tr -s " ")"; exit 77 ;;
    esac
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    echo "device: $device"
    echo "driver: ${driver:-unknown: there is no nvidia-smi}"
    "$voltac" version
    [ $doctor -eq 0 ] && told "doctor: ok" || { told "doctor: FAILED: $(grep 'OTHER BITS' "$work/doctor" | head -n 1)"; failed=1; }
fi

# ---- Cheap ones first ------------------------------------------------------------------------------------------------

part memory 240 "$check" memory $small --folder "$work"
if [ $fake = yes ]; then
    part training 400 "$check" training --small --steps "$steps" --folder "$work"
    part shards 240 "$check" shards --small
    part products 400 "$check" products --small
    part choices 400 "$check" choices --small --folder "$work"
    part functions 400 "$check" functions --small
    for precision in fp32 tf32 bf16; do
        part levels_$precision 240 "$check" levels_$precision --small --steps "$steps" --folder "$work"
    done
    not_run operators "test_backend_on_cuda runs them on the driver without a GPU"
    not_run sanitizer "there is no GPU"
    not_run benchmarks "there is no GPU"
    exit $failed
fi
part products 240 "$check" products
part choices 240 "$check" choices --folder "$work"
part training 420 "$check" training --steps "$steps" --folder "$work"
part shards 240 "$check" shards
for precision in fp32 tf32 bf16; do
    part levels_$precision 240 "$check" levels_$precision --steps "$steps" --folder "$work"
done
# The doctor has found the device: a test that does not is no reason to leave it out.
part operators 240 sh -c '"$1" cuda; status=$?; [ $status -ne 77 ] || status=1; exit $status' sh "$backend"
part functions 300 "$check" functions ${golden:+--golden "$golden"}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -n "$sanitizer" ]; then
    part sanitizer 240 "$sanitizer" --error-exitcode 9 "$check" training --small --steps 2 --folder "$work"
else
    not_run sanitizer "compute-sanitizer is not installed"
fi

# ---- Benchmarks, and the page ----------------------------------------------------------------------------------------

bench() { # NAME SECONDS COMMAND...: its whole output is kept for the page.
    name=$1
    part "$@"
    { echo; echo "## $name"; echo; echo '```'; cat "$work/$name" 2>/dev/null; echo '```'; } >>"$work/benchmarks"
}
bench bench_train 120 "$voltac" bench train --preset gpt2 --device cuda
bench bench_infer 120 "$voltac" bench infer --preset gpt2 --device cuda --no-speedup
if [ -z "$peers" ] || ! command -v python3 >/dev/null; then
    not_run bench_peers "python3 or bench/cuda_peers.py is missing"
else
    bench bench_peers 420 python3 -B "$peers" --voltac "$voltac"
fi

[ -n "$page" ] || { [ -d "$top/docs" ] && page=$top/docs/benchmarks_cuda.md || page=$folder/benchmarks_cuda.md; }
{
    echo "# CUDA, checked and measured"
    echo
    echo "Written by \`make cuda-check\` ([cuda.md](cuda.md)); what was not run says so."
    echo
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- device: $device"
    echo "- driver: ${driver:-unknown}"
    echo "- version: $("$voltac" version)"
    echo "- training steps compared with the processor: $steps"
    echo
    echo "| part | result |"
    echo "|---|---|"
    sed 's/^\([a-z_0-9]*\): \(.*\)$/| \1 | \2 |/' "$work/verdicts"
    cat "$work/benchmarks" 2>/dev/null
} >"$work/page" && cp "$work/page" "$page" && echo "wrote $page"
exit $failed
