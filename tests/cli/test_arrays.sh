#!/bin/sh
# voltac run and voltac embed: files of NumPy in and out, one result for threads and batches, wrong files in one sentence.
#     test_arrays.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"

# npy DESCR ORDER SHAPE <elements: a file of version 1.0.
npy() {
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$1', 'fortran_order': $2, 'shape': ($3), }"
    cat
}
header_of() { head -c 128 "$1" | tail -c 118 | tr -d '\n' | sed 's/ *$//'; }
i=0
while [ $i -lt 60 ]; do
    echo "to be, or not to be, that is the question of line $((i % 7))"
    i=$((i + 1))
done >text
small="--layers 1 --dim 32 --heads 2 --context 64 --steps 2 --warmup 1"
"$voltac" train --text text --architecture bert $small --out bert.volta >/dev/null 2>&1 || bad "no BERT"
"$voltac" train --text text $small --out gpt.volta >/dev/null 2>&1 || bad "no GPT"

# --- run
printf '\001\000\000\000\002\000\000\000\003\000\000\000\004\000\000\000\005\000\000\000\006\000\000\000' | npy '<i4' False '2, 3' >i4.npy
printf '\001\002\003\004\005\006' | npy '|u1' False '2, 3' >u1.npy
printf '\001\000\000\000\000\000\000\000\377\377\377\377\377\377\377\377' | npy '<i8' False '1, 2' >negative.npy
printf '\001\000\000\000\000\001\000\000' | npy '<i8' False '1, 1' >large.npy
printf '\001\002' | npy '|i1' False '2' >flat.npy
printf '\000\000\200\077\000\000\000\100' | npy '<f4' False '1, 2' >f4.npy
printf '\000\000\000\001' | npy '>i4' False '1, 1' >big.npy
head -c 24 i4.npy >short.npy
{ cat i4.npy && printf 'x'; } >long.npy
printf '\001\002\003\004' | npy '|u1' True '2, 2' >fortran.npy
printf '' | npy '<i4' False '400000000000000000, 400000000000000000' >overflow.npy
"$voltac" run gpt.volta --input tokens=i4.npy --out out4 --threads 1 >told || bad "run"
vocabulary=$("$voltac" info gpt.volta | sed -n 's/^ *vocabulary *//p' | head -n 1)
grep -q '^logits  f32 \[2, 3, [0-9]*\]  out4/logits.npy$' told || bad "run tells: $(cat told)"
header_of out4/logits.npy | grep -q "^{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, [0-9]*), }$" ||
    bad "the header is $(header_of out4/logits.npy)"
"$voltac" run gpt.volta --input tokens=u1.npy --out out1 --threads 3 --json >told || bad "run of uint8"
grep -q '^{"output":"logits","dtype":"f32","shape":\[2,3,[0-9]*\],"file":"out1/logits.npy"}$' told || bad "run --json tells: $(cat told)"
cmp out4/logits.npy out1/logits.npy || bad "threads, or the type of tokens, change logits"
# Rows are those of a batch of one.
printf '\004\005\006' | npy '|u1' False '1, 3' >row.npy
"$voltac" run gpt.volta --input tokens=row.npy --out row >/dev/null
tail -c +129 row/logits.npy >one
tail -c "$(wc -c <one)" out4/logits.npy | cmp - one || bad "the batch changes a row"

# Names of outputs that are no names of files: "/a/y" of an ONNX file, beside "_a_y".
{
    printf '\010\010:M'
    printf '\012\016\012\001x\022\004/a/y\042\003Neg\012\016\012\001x\022\004_a_y\042\003Abs'
    printf 'Z\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002'
    for name in /a/y _a_y; do printf 'b\014\012\004%s\022\004\012\002\010\001' $name; done
    printf 'B\002\020\015'
} >names.onnx
printf '\000\000\200\077\000\000\000\100' | npy '<f4' False '2' >two.npy
"$voltac" convert names.onnx --out names.volta >/dev/null || bad "names.onnx"
"$voltac" run names.volta --input x=two.npy --out outn >told || bad "run of names with a slash"
grep -q '^/a/y  f32 \[2\]  outn/_a_y.npy$' told || bad "run tells of names: $(cat told)"
grep -q '^_a_y  f32 \[2\]  outn/_a_y_1.npy$' told || bad "run tells of equal names: $(cat told)"
[ "$(tail -c 8 outn/_a_y.npy | od -An -tx1 | tr -d ' ')" = 000080bf000000c0 ] || bad "the first of two equal names"
[ "$(tail -c 8 outn/_a_y_1.npy | od -An -tx1 | tr -d ' ')" = 0000803f00000040 ] || bad "the second of two equal names"

# An input of float32 takes numbers of other types that are floats.
printf '\001\000\000\000\000\000\000\000\376\377\377\377\377\377\377\377' | npy '<i8' False '2' >two8.npy
"$voltac" run names.volta --input x=two8.npy --out outi >/dev/null || bad "integers for floats"
[ "$(tail -c 8 outi/_a_y.npy | od -An -tx1 | tr -d ' ')" = 000080bf00000040 ] || bad "integers become other floats"
printf '\001\000\000\001\000\000\000\000\000\000\000\000\000\000\000\000' | npy '<i8' False '2' >odd8.npy
refused 1 "odd8.npy: element 0 is no float32, which input 'x' takes" run names.volta --input x=odd8.npy --out x
printf '\000\000\000\000\000\000\340\077\232\231\231\231\231\231\271\077' | npy '<f8' False '2' >tenth.npy
refused 1 "tenth.npy: element 1 is no float32, which input 'x' takes" run names.volta --input x=tenth.npy --out x
printf '\000\074\000\074' | npy '<f2' False '2' >half.npy
refused 1 "half.npy: the array is of float16, but input 'x' takes float32" run names.volta --input x=half.npy --out x

in="run gpt.volta --out x --input"
refused 1 "f4.npy: the array is of float32, but input 'tokens' takes int32" $in tokens=f4.npy
refused 1 "large.npy: element 0 does not fit the int32 of input 'tokens'" $in tokens=large.npy
refused 1 "token" $in tokens=negative.npy
refused 1 "flat.npy: the array is [2], but input 'tokens' takes [?, ?]" $in tokens=flat.npy
refused 1 "big.npy: the array is big-endian (>i4)" $in tokens=big.npy
refused 1 "short.npy: the file ends within its header" $in tokens=short.npy
refused 1 "long.npy: [2, 3] of int32 do not fit the 25 bytes behind the header" $in tokens=long.npy
refused 1 "fortran.npy: the array is in Fortran's order" $in tokens=fortran.npy
refused 1 "overflow.npy: [400000000000000000, 400000000000000000] of int32 do not fit the 0 bytes" $in tokens=overflow.npy
refused 1 "text: the file is no .npy file of NumPy" $in tokens=text
refused 1 "missing.npy: No such file" $in tokens=missing.npy
refused 1 "the model has no input 'token'; did you mean tokens?" $in token=i4.npy
refused 1 "input 'tokens' is not given: --input tokens=FILE.npy of [?, ?]" run gpt.volta --out x
refused 2 "'tokens' is not NAME=FILE.npy" $in tokens
refused 2 "'=i4.npy' is not NAME=FILE.npy" $in =i4.npy
refused 2 "'tokens' is given twice" $in tokens=i4.npy --input tokens=u1.npy
refused 2 "--out is required" run gpt.volta --input tokens=i4.npy
refused 1 "text is not a folder" run gpt.volta --input tokens=i4.npy --out text
refused 1 "cannot make the folder no/x" run gpt.volta --input tokens=i4.npy --out no/x
[ -e x ] && bad "a refused call has made its folder"

# --- embed
printf 'to be\nor not\n\nto be, that is\nnot to be, or to\n' >lines
for pool in mean first max; do
    "$voltac" embed bert.volta --text lines --pool $pool --batch 1 --threads 1 --out $pool.npy >/dev/null 2>err &&
        bad "an empty line without ends has an embedding"
done
grep -q "lines, line 3: it is empty, and has no tokens" err || bad "an empty line: $(cat err)"
sed -i '3d' lines
for pool in mean first max; do
    "$voltac" embed bert.volta --text lines --pool $pool --batch 1 --threads 1 --out $pool.npy >told || bad "embed"
    expect "embed tells" "lines 4 width 32" "$(tr -s ' \n' ' ' <told | sed 's/ $//')"
    "$voltac" embed bert.volta --text - --pool=$pool --batch 7 --threads 3 --json --out again.npy <lines >told || bad "embed --text -"
    expect "embed --json tells" '{"lines":4,"width":32,"out":"again.npy"}' "$(cat told)"
    cmp $pool.npy again.npy || bad "batch or threads change $pool"
done
cmp -s mean.npy max.npy && bad "--pool changes nothing"
expect "the header" "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 32), }" "$(header_of mean.npy)"
expect "the size" $((128 + 4 * 4 * 32)) "$(wc -c <mean.npy)"
tail -n 1 lines | "$voltac" embed bert.volta --text - --out last.npy >/dev/null
tail -c 128 last.npy >one
tail -c 128 mean.npy | cmp - one || bad "other lines change a vector"
# The mean of states that voltac run gives by another way: one token's mean, first and largest are the same.
echo t >t
for pool in mean first max; do "$voltac" embed gpt.volta --text t --pool $pool --out $pool.npy >/dev/null || bad "embed of a GPT"; done
cmp mean.npy first.npy && cmp mean.npy max.npy || bad "one token, several vectors"

awk 'BEGIN { for (i = 0; i < 70; ++i) printf "t"; print "" }' >long
refused 1 "long, line 1: its 70 tokens are more than the 64 that the model takes; --cut leaves the rest out" embed gpt.volta --text long --out x.npy
"$voltac" embed gpt.volta --text long --cut --out cut.npy >/dev/null || bad "embed --cut"
head -c 64 long | "$voltac" embed gpt.volta --text - --out head.npy >/dev/null
cmp cut.npy head.npy || bad "--cut takes other tokens"
refused 2 "--pool is 'last', it must be one of mean|first|max" embed gpt.volta --text lines --pool last --out x.npy
refused 2 "--out is 'x.txt', it must end with .npy" embed gpt.volta --text lines --out x.txt
refused 2 "--text is required" embed gpt.volta --out x.npy
[ "$failed" -eq 0 ] && echo "arrays go in and come out"
exit "$failed"
