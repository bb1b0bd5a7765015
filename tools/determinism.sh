#!/bin/sh
# One hash: trains the same small models in every way that must not matter, and compares parameter hashes.
#     tools/determinism.sh BUILD [TEXT]    BUILD: a folder with the tests; default text: the beginning of the King
#                                          James Bible. About an hour and a half on 2 cores.
#
#   compilers   gcc and clang, -O0 and -O2
#   doctor      what voltac doctor of each of them says
#   threads     1 2 3 8       instruction sets  scalar avx2 avx512, as far as the processor has them
#   repeats     2 of `tiny` (20 steps), 100 of a model of 2 layers, width 64
#   resume      --stop-at 10, then --resume in a new process
#   pictures    a ResNet-20 from records of made-up pictures: threads, instruction sets, compilers, and a
#               resume in the middle of an epoch
#   generation  the small model in f32, f32_panels, bf16, int8 and int4: one text and loss from threads, instruction sets and compilers
#   tiles       every row of the tile table x threads x 2 repeats, on both models, and once on a perceptron: tests/determinism/test_one_result,
#               which chooses tiles through an internal option
#
# The scalar path runs the small model only: plain C++ takes minutes for a step of `tiny`.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
tests=$(cd "$1" && pwd)/tests/determinism/test_one_result
shift
work=$top/build/determinism
mkdir -p "$work"
runs=0
differing=0

if [ $# -gt 0 ]; then
    cp "$1" "$work/text"
else
    command -v bible >/dev/null || { echo "the program 'bible' is missing: run 'make deps', or name a text" >&2; exit 1; }
    bible -f gen1:1-gen10:32 </dev/null | sed 's/^[^ ]* //' >"$work/text"
fi

small="--layers 2 --dim 64 --heads 4 --context 64 --batch 4"
isas=scalar
for isa in avx2 avx512; do
    grep -qw "$([ $isa = avx2 ] && echo avx2 || echo avx512vl)" /proc/cpuinfo && isas="$isas $isa"
done

# same GROUP WHAT HASH: the first hash of a group is what all others of it must be.
same() {
    runs=$((runs + 1))
    eval "expected=\${expected_$1-}"
    if [ -n "$3" ] && [ -z "$expected" ]; then
        eval "expected_$1=$3"
        expected=$3
    fi
    if [ -n "$3" ] && [ "$3" = "$expected" ]; then
        printf '  %s  %s\n' "$3" "$2"
    else
        printf '! %s  %s, expected %s\n' "$3" "$2" "$expected"
        differing=$((differing + 1))
    fi
}

# train VOLTAC OPTIONS...: a run of seed 1; prints the hash of the file it wrote.
train() {
    voltac=$1
    shift
    rm -f "$work/model.volta"
    "$voltac" train --text "$work/text" --out "$work/model.volta" --seed 1 "$@" >"$work/train.log" 2>&1 ||
        { cat "$work/train.log" >&2; exit 1; }
    "$voltac" hash "$work/model.volta"
}

echo "== build: gcc and clang, -O0 and -O2"
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { echo "$compiler is missing: run 'make deps-ci'" >&2; exit 1; }
    for level in O2 O0; do
        cxx=$([ $compiler = gcc ] && echo g++ || echo clang++)
        cmake -S . -B "build-$level-$compiler" -DCMAKE_BUILD_TYPE=None -DVOLTA_TESTS=OFF \
            -DCMAKE_C_COMPILER=$compiler -DCMAKE_CXX_COMPILER=$cxx \
            "-DCMAKE_C_FLAGS=-$level" "-DCMAKE_CXX_FLAGS=-$level" >/dev/null
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "build-$level-$compiler" -j "${JOBS:-$(nproc)}" >/dev/null
    done
done

echo "== doctor: the digests of the numeric contract, from each compiler"
for build in O2-gcc O0-gcc O2-clang O0-clang; do
    runs=$((runs + 1))
    "$top/build-$build/voltac" doctor --no-tuning >"$work/doctor" 2>&1 && echo "  the contract's  $build" ||
        { differing=$((differing + 1)); echo "! $build: $(grep -v 'same bits\|not on this' "$work/doctor" | tail -n 3)"; }
done

echo "== small model, 20 steps: threads x instruction sets"
voltac=$top/build-O2-gcc/voltac
for isa in $isas; do
    for threads in 1 2 3 8; do
        same small "isa $isa, threads $threads" "$(train "$voltac" $small --steps 20 --isa $isa --threads $threads)"
    done
done

echo "== small model: compilers and optimisation levels"
for build in O0-gcc O2-clang O0-clang; do
    for isa in $isas; do
        same small "$build, isa $isa" "$(train "$top/build-$build/voltac" $small --steps 20 --isa $isa --threads 2)"
    done
done

# written VOLTAC MODEL OPTIONS...: the hash of a text that fills the model's context but for a few tokens, and of
# all digits of the loss on the training text's beginning.
written() {
    voltac_there=$1
    shift
    "$voltac_there" generate "$@" --prompt 'In the beginning' --tokens 44 --seed 5 >"$work/text.out" || return 1
    "$voltac_there" eval "$@" --text "$work/short" --json >>"$work/text.out" || return 1
    cksum <"$work/text.out" | cut -d ' ' -f 1
}

echo "== generation: weights x threads x instruction sets x compilers"
train "$voltac" $small --steps 20 >/dev/null
head -c 3000 "$work/text" >"$work/short"
for weights in f32 f32_panels bf16 int8 int4; do
    model=$work/model.volta
    if [ $weights != f32 ]; then
        model=$work/model_$weights.volta
        "$voltac" quantize "$work/model.volta" --to $weights --out "$model" >/dev/null
    fi
    for isa in $isas; do
        for threads in 1 2 3; do
            same ${weights%_panels} "generate $weights, isa $isa, threads $threads" \
                "$(written "$voltac" "$model" --isa $isa --threads $threads)"
        done
        for build in O0-gcc O2-clang O0-clang; do
            same ${weights%_panels} "generate $weights, $build, isa $isa" \
                "$(written "$top/build-$build/voltac" "$model" --isa $isa --threads 2)"
        done
    done
done

echo "== small model: 100 repeats"
repeat=0
while [ $repeat -lt 100 ]; do
    repeat=$((repeat + 1))
    same small "repeat $repeat, threads $((repeat % 4 + 1))" \
        "$(train "$voltac" $small --steps 20 --threads $((repeat % 4 + 1)))"
done

echo "== tiny, 20 steps: threads x instruction sets x 2 repeats"
for isa in ${isas#scalar}; do
    for threads in 1 2 3 8; do
        for repeat in 1 2; do
            same tiny "isa $isa, threads $threads, repeat $repeat" \
                "$(train "$voltac" --preset tiny --steps 20 --isa $isa --threads $threads)"
        done
    done
done

echo "== tiny: stop at 10, resume to 20"
for isa in ${isas#scalar}; do
    train "$voltac" --preset tiny --steps 20 --stop-at 10 --isa $isa >/dev/null
    mv "$work/model.volta" "$work/half.volta"
    same tiny "isa $isa, resumed" \
        "$(train "$voltac" --preset tiny --steps 20 --isa $isa --resume "$work/half.volta")"
done

# pictures VOLTAC OPTIONS...: two epochs of four steps.
records=$work/records.bin
: >"$records"
record=0
while [ $record -lt 64 ]; do
    printf "\\$(printf %03o $((record % 10)))" >>"$records"  # the class, then 3 planes of 32 x 32
    tail -c +$((record * 400 + 1)) "$work/text" | head -c 3072 >>"$records"
    record=$((record + 1))
done
pictures() {
    voltac_there=$1
    shift
    rm -f "$work/pictures.volta"
    "$voltac_there" train --model resnet20 --dataset cifar10 --data "$records" --batch 16 --epochs 2 --seed 1 \
        --out "$work/pictures.volta" "$@" >"$work/train.log" 2>&1 || { cat "$work/train.log" >&2; exit 1; }
    "$voltac" hash "$work/pictures.volta"
}

echo "== ResNet-20, 8 steps: threads x instruction sets, compilers, resume"
for isa in ${isas#scalar}; do
    for threads in 1 2 3 8; do
        same pictures "isa $isa, threads $threads" "$(pictures "$voltac" --isa $isa --threads $threads)"
    done
    for build in O0-gcc O2-clang O0-clang; do
        same pictures "$build, isa $isa" "$(pictures "$top/build-$build/voltac" --isa $isa --threads 2)"
    done
    pictures "$voltac" --isa $isa --stop-at 3 >/dev/null
    mv "$work/pictures.volta" "$work/half.volta"
    same pictures "isa $isa, resumed" "$(pictures "$voltac" --isa $isa --resume "$work/half.volta")"
done
same pictures "isa scalar, threads 2" "$(pictures "$voltac" --isa scalar --threads 2)"

echo "== every tile, on the small model and on tiny"
(cd tests && VOLTA_TEST_TINY=all "$tests") || differing=$((differing + 1))

echo "$runs runs, $differing differing"
[ $differing -eq 0 ]
