#!/bin/sh
# Compiles generated kernels for devices, without one: CUDA C to PTX, PTX to machine code, for each architecture,
# and fails on instructions that the numeric contract forbids (docs/numerics.md, 1): approximations, flushing to
# zero, and additions, products and conversions whose rounding the assembler may choose. Kernels whose names begin with
# tensor_ are not strict: they may round operands to bf16 and tf32, multiply them on tensor cores, and approximate 2^x.
#     check_ptx.sh NVCC FOLDER_FOR_OUTPUT ARCHITECTURES FILE.cu...
# ARCHITECTURES: numbers, for example "80 90 100". FILE.ptx: checked as it is, and neither compiled nor assembled.
set -eu
[ $# -ge 4 ] || { echo "usage: check_ptx.sh NVCC FOLDER ARCHITECTURES FILE..." >&2; exit 2; }
nvcc=$1 folder=$2 architectures=$3
shift 3
mkdir -p "$folder"
# Without -fmad=false, NVVM for sm_100 makes an open add.f32 of __fmaf_rn(x, 1, y), and mul.f32 of __fmaf_rn(x, y, -0),
# which the assembler may then contract with what follows.
options="-std=c++17 -fmad=false -Werror all-warnings"

# What tensor_ kernels may hold beside what all may.
tensor='^(ex2[.]approx[.]ftz[.]f32|cvt[.]rn[.]bf16x2[.]f32|cvt[.]rna[.]tf32[.]f32'
tensor=$tensor'|mma[.]sync[.]aligned[.]m16n8k16[.]row[.]col[.]f32[.]bf16[.]bf16[.]f32'
tensor=$tensor'|mma[.]sync[.]aligned[.]m16n8k8[.]row[.]col[.]f32[.]tf32[.]tf32[.]f32)$'

# Without a rounding suffix the assembler may join a product and a sum into one fma. max, min, neg, abs, setp and
# selp round nothing.
check_text() {
    awk -v file="$1" -v tensor="$tensor" '
        /^[ \t]*\/\// { next }
        {
            sub(/^[ \t]+/, ""); sub(/^@!?%p[0-9]+[ \t]+/, "")
            name = $1; sub(/;$/, "", name)
        }
        match($0, /\.entry [A-Za-z0-9_]+/) { entry = substr($0, RSTART + 7, RLENGTH - 7) }
        /^}/ { entry = "" }
        entry ~ /^tensor_/ && name ~ tensor { ++floats; next }
        name ~ /\.(approx|ftz|full)(\.|$)/ { bad("approximates or flushes to zero"); next }
        name ~ /\.(bf16|f16|tf32)/ { bad("is not single precision"); next }
        name ~ /^(add|sub|mul|mad|fma|div|sqrt|rcp|cvt)\..*f32/ && name !~ /\.(rn|rzi|rz\.s32)(\.|$)/ \
            && name !~ /^cvt\.f64\.f32$/ { bad("leaves its rounding open"); next }
        name ~ /^(atom|red)\..*f32/ { bad("adds in an order of its own"); next }
        name ~ /^[a-z]+\..*f32/ { ++floats }
        function bad(what) { print file ":" FNR ": " (entry ? entry ": " : "") name " " what; failed = 1 }
        END {
            if (!floats && !failed) { print file ": no instruction on floats: is this PTX?"; failed = 1 }
            exit failed
        }' "$1"
}

failed=0 checked=0
for source in "$@"; do
    case $source in
        *.ptx)
            check_text "$source" || failed=1
            checked=$((checked + 1))
            continue ;;
    esac
    for architecture in $architectures; do
        ptx=$folder/$(basename "$source" .cu)_$architecture.ptx
        "$nvcc" $options -arch="compute_$architecture" -ptx -o "$ptx" "$source"
        check_text "$ptx" || failed=1
        "$nvcc" -arch="sm_$architecture" -Xptxas -O0 -cubin -o "${ptx%.ptx}.cubin" "$ptx" # that it can be assembled
        checked=$((checked + 1))
    done
done
[ "$failed" -eq 0 ] || exit 1
echo "$checked modules hold what their kernels may hold"
