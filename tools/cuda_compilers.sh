#!/bin/sh
# The generated CUDA text by the real compilers, without a GPU: tools/cuda_compilers.sh BUILD [ARCHITECTURE...]
#
#   NVRTC   compiles it from memory, and its PTX holds what kernels may hold (tests/cuda/check_nvrtc.sh)
#   ptxas   assembles that PTX; registers, spills and shared memory of each kernel go into BUILD/cuda_kernels.txt, and the
#           largest of each file are printed, with all kernels that spill
# From the toolkit where it is installed, else from PyPI (nvidia-cuda-nvrtc-cu12, nvidia-cuda-nvcc-cu12) into
# BUILD/cuda_tools. Fails if a kernel spills more than most_spilled bytes: then its sums are no longer in registers.
set -eu
most_spilled=1024
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- 80 90 100
tools=$build/cuda_tools

ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null || true)
libraries=
if [ -z "$ptxas" ] || ! ldconfig -p | grep -q 'libnvrtc[.]so[.]1[23]'; then
    if [ ! -d "$tools/nvidia" ]; then
        python3 -m pip --version >/dev/null 2>&1 || sh "$(dirname "$0")/install_deps.sh" cuda
        mkdir -p "$tools"
        python3 -m pip download -q --no-deps -d "$tools" 'nvidia-cuda-nvrtc-cu12==12.9.*' 'nvidia-cuda-nvcc-cu12==12.9.*' ||
            { echo "no CUDA toolkit, and PyPI gives none: not run" >&2; exit 1; }
        for wheel in "$tools"/*.whl; do python3 -m zipfile -e "$wheel" "$tools"; done
        chmod +x "$tools/nvidia/cuda_nvcc/bin/ptxas"
    fi
    ptxas=$tools/nvidia/cuda_nvcc/bin/ptxas
    libraries=$tools/nvidia/cuda_nvrtc/lib
fi
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

pattern=$(printf '|%s' "$@")
cd "$build"
ctest --output-on-failure --no-tests=error -j "${JOBS:-$(nproc)}" -R "^(test_cuda_nvrtc|cuda_nvrtc_sm_(${pattern#|}))\$" | tee nvrtc.log
! grep -q 'Skipped' nvrtc.log || { echo "NVRTC was not found although it is there" >&2; exit 1; }

"$ptxas" --version | tail -n 2
: >cuda_kernels.txt
for architecture in "$@"; do
    for ptx in tests/cuda/ptx/nvrtc/*_nvrtc_"$architecture".ptx; do
        "$ptxas" -v -arch="sm_$architecture" -o /dev/null "$ptx" >ptxas.log 2>&1 || { cat ptxas.log >&2; exit 1; }
        awk -v file="$(basename "$ptx" "_nvrtc_$architecture.ptx")" -v architecture="$architecture" '
            /Compiling entry function/ { split($0, quoted, "\047"); kernel = quoted[2] }
            /bytes spill stores/ { for (i = 2; i <= NF; ++i) if ($i == "spill") spills[kernel] += $(i - 2) }
            /Used [0-9]+ registers/ {
                shared = 0
                for (i = 2; i <= NF; ++i) { if ($i == "registers,") registers = $(i - 1); if ($i ~ /^smem/) shared = $(i - 2) }
                print architecture, file, kernel, registers, spills[kernel] + 0, shared
            }' ptxas.log >>cuda_kernels.txt
    done
done

# Per file: how many kernels, the most registers, how many spill, and the kernel with the most registers.
awk -v most_spilled=$most_spilled '
    { key = $1 " " $2; ++count[key]; if ($5 > 0) { ++spilling[key]; spills[$1 " " $3] = $5 } }
    $4 > most[key] { most[key] = $4; which[key] = $3 }
    $6 > shared[key] { shared[key] = $6 }
    END {
        if (NR == 0) { print "no kernels were assembled"; exit 1 }
        printf "%-4s %-18s %8s %10s %8s %8s  %s\n", "sm", "file", "kernels", "registers", "spilling", "shared", "most registers"
        for (key in count) {
            split(key, part, " ")
            printf "%-4s %-18s %8d %10d %8d %8d  %s\n", part[1], part[2], count[key], most[key], spilling[key], shared[key], which[key] | "sort"
        }
        close("sort")
        printf "\n%-4s %-40s %8s\n", "sm", "kernel that spills", "bytes"
        for (key in spills) {
            split(key, part, " ")
            remark = ""
            if (spills[key] > most_spilled) { remark = "  too many"; bad = 1 }
            printf "%-4s %-40s %8d%s\n", part[1], part[2], spills[key], remark | "sort"
        }
        close("sort")
        exit bad
    }' cuda_kernels.txt
