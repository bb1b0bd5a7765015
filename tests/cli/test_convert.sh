#!/bin/sh
# voltac convert: out of Volta and back, into it from other programs, and one line for every wrong call.
#     test_convert.sh PATH_OF_VOLTAC PATH_OF_PT_TO_SAFETENSORS
set -u
voltac=$1
. "$(dirname "$0")/checks.sh"
pt_to_safetensors=$2
data=${VOLTA_TEST_DATA:-$(cd "$(dirname "$0")/../.." && pwd)/../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work"
i=0
while [ $i -lt 100 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt
"$voltac" train --text text.txt --out m.volta --layers 1 --dim 16 --heads 2 --context 16 --batch 2 --steps 2 \
    >/dev/null 2>&1 || bad "train"
hash=$("$voltac" hash m.volta)
expect "out of Volta" "$hash" "$("$voltac" convert m.volta --out m.safetensors)"
expect "and back" "$hash" "$("$voltac" convert m.safetensors --out again.volta)"
expect "the file" "$hash" "$("$voltac" hash again.volta)"
"$voltac" convert again.volta --out again.safetensors >/dev/null
cmp -s m.safetensors again.safetensors || bad "two exports of one model differ"

expect "out of Volta as ONNX" "$hash" "$("$voltac" convert m.volta --out m.onnx --opset 17)"
"$voltac" info m.onnx | grep -q "opset              ai.onnx 17" || bad "info of a file that was written"
"$voltac" info m.onnx | grep -q "it can be converted" || bad "a file that was written is not read"
expect "and back from ONNX" "$hash" "$("$voltac" convert m.onnx --out again.volta 2>/dev/null)"
expect "with its tokenizer" "$("$voltac" generate m.volta --prompt line --tokens 8 --temperature 0 2>&1)" \
    "$("$voltac" generate again.volta --prompt line --tokens 8 --temperature 0 2>&1)"
expect "from safetensors to ONNX" "$hash" "$("$voltac" convert m.safetensors --out other.onnx --opset 17)"
# Endings say what is written; there is no other way to say it.
for name in x.foo x.volta.bak .x.foo; do
    refused 2 "--out is '$name', it must end with .volta (a model file), .safetensors (safetensors), .onnx (ONNX), .gguf (GGUF) or .adapter (LoRA adapters)" \
        convert m.volta --out $name
done
# A folder is a model, and one that is not a model file is told how it becomes one.
mkdir folder "a folder"
cp m.safetensors folder/model.safetensors
expect "a folder" "$hash" "$("$voltac" convert folder --out of_folder.volta)"
refused 1 "it is a folder without weights" convert "a folder" --out x.volta
echo '{}' | tee folder/config.json >"a folder/config.json"
for command in "generate" "info" "eval --text text.txt" "hash"; do
    refused 1 "; voltac convert m.safetensors --out m.volta makes a model file of it" $command m.safetensors
    refused 1 "; voltac convert folder --out folder.volta makes a model file of it" $command folder/
    refused 1 "; voltac convert folder --out folder.volta makes a model file of it" $command folder/model.safetensors
    refused 1 "; voltac convert 'a folder' --out 'a folder.volta' makes a model file of it" $command "a folder"
    printf 'GGUF\003' >f.gguf
    refused 1 "; voltac convert f.gguf --out f.volta makes a model file of it" $command f.gguf
    refused 1 "it is no Volta model" $command text.txt
    grep -q "voltac convert" err && bad "voltac $command: a text would be converted"
done
refused 2 "--opset needs an --out that ends in .onnx" convert m.volta --out x.volta --opset 17
refused 2 "--opset" convert m.volta --out x.onnx --opset 14
refused 2 "--out is required" convert m.volta
refused 2 "--tokenizer, --model-config and --keys are for models of other programs" convert m.volta --model-config c.json --out x.volta
refused 1 "cannot open 'none'" convert none --out x.volta
refused 1 "no file of weights that is known" convert text.txt --out x.volta
printf nonsense >keys.txt
refused 1 "line 1 of the key map has no '=' ('keys.txt')" convert m.safetensors --keys keys.txt --out x.volta
head -c 100 m.safetensors >cut.safetensors
refused 1 "it is cut: its header makes a file of at least " convert cut.safetensors --out x.volta
refused 1 "no/such/x.volta" convert m.safetensors --out no/such/x.volta
[ ! -e x.volta ] || bad "a refused conversion left a file"

# A graph of ONNX: x [N, 2], LeakyRelu and a sum, opset 17.
printf '\010\010\022\000\072\153\012\042\012\001\170\022\001\150\042\011LeakyRelu\052\017\012\005alpha\025\000\000\200\076\240\001\001\012\016\012\001\150\012\001\167\022\001\171\042\003Add\022\001\147\052\021\010\002\020\001\042\010\000\000\300\077\000\000\040\100\102\001\167\132\024\012\001\170\022\017\012\015\010\001\022\011\012\003\022\001\116\012\002\010\002\142\011\012\001\171\022\004\012\002\010\001\102\004\012\000\020\021' >g.onnx
"$voltac" info g.onnx | grep -q "it can be converted" || bad "info of an ONNX file"
"$voltac" info g.onnx | grep -q "LeakyRelu *1" || bad "info of an ONNX file counts operators"
"$voltac" convert g.onnx --out g.volta >/dev/null || bad "convert an ONNX file"
"$voltac" info g.volta | grep -q "f32\[?, 2\]" || bad "the batch of an ONNX file is open"
"$voltac" convert g.onnx --shape x=3x2 --out g.volta >/dev/null || bad "convert an ONNX file of a given shape"
"$voltac" info g.volta | grep -q "f32\[3, 2\]" || bad "the batch of an ONNX file is given"
refused 1 "axis 1 of the input 'x' has the extent 2, the shape that is given has 5" convert g.onnx --shape x=3x5 --out g.volta
refused 1 "a shape is given for 'z', which is no input of the model" convert g.onnx --shape z=3 --out g.volta
refused 2 "--shape x=3x is not of the form NAME=1x3x224x224" convert g.onnx --shape x=3x --out g.volta
refused 2 "--shape is for ONNX files; m.volta is a model file" convert m.volta --shape x=3 --out g.volta
refused 1 "shapes are given, but it is no ONNX file" convert m.safetensors --shape x=3 --out g.volta
# x [3, 2], Sigmoid and Mul, which are a silu, and a sum.
printf '\010\010\022\001\164\072\161\012\017\012\001\170\022\001\163\042\007\123\151\147\155\157\151\144\012\016\012\001\163\012\001\170\022\001\150\042\003\115\165\154\012\016\012\001\150\012\001\167\022\001\171\042\003\101\144\144\022\001\147\052\021\010\002\020\001\102\001\167\112\010\000\000\300\077\000\000\000\100\132\023\012\001\170\022\016\012\014\010\001\022\010\012\002\010\003\012\002\010\002\142\023\012\001\171\022\016\012\014\010\001\022\010\012\002\010\003\012\002\010\002\102\004\012\000\020\021' >s.onnx
"$voltac" info s.onnx | grep -q "^recognised" || bad "info says what is recognised"
"$voltac" info s.onnx | grep -q "silu *1" || bad "info counts what is recognised"
"$voltac" convert s.onnx --out s.volta >/dev/null || bad "convert a pattern"
"$voltac" convert s.onnx --exact-graph --out exact.volta >/dev/null || bad "convert a graph as it is written"
grep -aq silu s.volta || bad "a pattern becomes an operator"
! grep -aq silu exact.volta || bad "--exact-graph keeps the nodes"
refused 2 "--exact-graph is for ONNX files; m.volta is a model file" convert m.volta --exact-graph --out g.volta
refused 1 "an exact graph is asked for, but it is no ONNX file" convert m.safetensors --exact-graph --out g.volta
sed s/LeakyRelu/LeakyReal/ g.onnx >foreign.onnx
refused 1 "node 0 (LeakyReal, opset 17): the operator is not imported" convert foreign.onnx --out g.volta
"$voltac" info foreign.onnx | grep -q "LeakyReal *1 *not imported" || bad "info names what is not imported"

# A Llama of one layer as GGUF, its matrices q8_0: each of them is kept, made f32, or made another type.
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import struct
text = lambda s: struct.pack("<Q", len(s)) + s.encode()
keys = [("general.architecture", 8, text("llama"))]
for name, value in (("block_count", 1), ("context_length", 32), ("embedding_length", 64), ("feed_forward_length", 96),
                    ("attention.head_count", 4), ("attention.head_count_kv", 2)):
    keys.append(("llama." + name, 4, struct.pack("<I", value)))
matrices = {"token_embd": (48, 64), "blk.0.attn_q": (64, 64), "blk.0.attn_k": (32, 64), "blk.0.attn_v": (32, 64),
            "blk.0.attn_output": (64, 64), "blk.0.ffn_gate": (96, 64), "blk.0.ffn_up": (96, 64), "blk.0.ffn_down": (64, 96)}
vectors = ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")
infos, data = b"", b""
for name, (rows, columns) in matrices.items():
    infos += text(name + ".weight") + struct.pack("<IQQIQ", 2, columns, rows, 8, len(data))
    for block in range(rows * columns // 32):
        data += struct.pack("<e32b", 0.001, *((block * 7 + i * 5) % 255 - 127 for i in range(32)))
    data += bytes(-len(data) % 32)
for name in vectors:
    infos += text(name + ".weight") + struct.pack("<IQIQ", 1, 64, 0, len(data))
    data += struct.pack("<64f", *[1.0] * 64)
head = b"GGUF" + struct.pack("<IQQ", 3, len(matrices) + len(vectors), len(keys))
head += b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in keys) + infos
open("q8.gguf", "wb").write(head + bytes(-len(head) % 32) + data)
PYTHON
    "$voltac" convert q8.gguf --out q8.volta >q8.hash 2>err || bad "q8_0: $(cat err)"
    expect "q8_0: the line" "5 of 8 parameters are stored as int8: the model runs, but cannot be trained or exported; \
--weights f32 makes one that can" "$(cat err)"
    expect "q8_0: the hash" "$(cat q8.hash)" "$("$voltac" hash q8.volta)"
    "$voltac" info q8.volta | grep -q "block.0.qkv.weight *int8\[128, 64\]" || bad "q8_0: info"
    [ $(($(wc -c <q8.volta) * 10)) -lt $(($(wc -c <q8.gguf) * 15)) ] || bad "q8_0: the model file is not small"
    expect "q8_0: --weights int8" "$(cat q8.hash)" "$("$voltac" convert q8.gguf --weights int8 --out i8.volta 2>err)"
    expect "q8_0: --weights int8 as ONNX" "$(cat q8.hash)" \
        "$("$voltac" convert q8.gguf --weights int8 --opset 21 --out i8.onnx 2>err)"
    expect "q8_0: and back" "$(cat q8.hash)" "$("$voltac" convert i8.onnx --out i8.volta 2>err)"
    refused 1 "is stored as int8, which is written from opset 21 on" convert q8.gguf --weights int8 --out i8.onnx
    "$voltac" convert q8.gguf --weights int4 --out i4.volta >out 2>err && grep -q "stored as int4" err || bad "int4"
    whole=$("$voltac" convert q8.gguf --weights f32 --out f32.volta 2>err) || bad "f32"
    expect "f32 needs no line" "" "$(cat err)"
    "$voltac" info f32.volta | grep -q "block.0.qkv.weight *f32\[64, 128\]" || bad "f32: info"
    expect "safetensors are f32" "$whole" "$("$voltac" convert q8.gguf --out q8.safetensors)"
    "$voltac" convert q8.gguf --weights int4 --out i4.volta 2>&1 >/dev/null |
        grep -q "^voltac: weights as int4 differ from the file's by 0\.[0-9]* of their root mean square, most in " ||
        bad "int4: the error is not printed"
    refused 1 "is stored as int8" convert q8.volta --out x.safetensors
    # What was read is written: blocks that were kept come back, f32 is quantised, and both are read again.
    expect "q8_0: to GGUF" "$(cat q8.hash)" "$("$voltac" convert q8.volta --out back.gguf --tokenizer none)"
    expect "q8_0: and back" "$(cat q8.hash)" "$("$voltac" convert back.gguf --out back.volta 2>err)"
    expect "q8_0: straight to GGUF" "$(cat q8.hash)" "$("$voltac" convert q8.gguf --out straight.gguf 2>err)"
    expect "no line" "" "$(cat err)"
    cmp -s back.gguf straight.gguf || bad "q8_0: two ways to GGUF differ"
    expect "f32 to GGUF" "$whole" "$("$voltac" convert f32.volta --out f32.gguf --tokenizer none)"
    expect "f32 from GGUF" "$whole" "$("$voltac" convert f32.gguf --out again.volta)"
    for type in f16 bf16 q8_0 q4_0; do
        "$voltac" convert f32.volta --weights $type --out $type.gguf >/dev/null || bad "$type: GGUF"
        "$voltac" convert $type.gguf --out $type.volta >/dev/null 2>&1 || bad "$type: and back"
    done
    [ "$(wc -c <q4_0.gguf)" -lt "$(wc -c <q8_0.gguf)" ] || bad "q4_0 is not smaller than q8_0"
    refused 2 "--weights int8 is for a model file: GGUF has f32, f16, bf16, q8_0 and q4_0" convert f32.volta --weights int8 --out x.gguf
    refused 2 "--weights q8_0 needs an --out that ends in .gguf" convert q8.gguf --weights q8_0 --out x.volta
    refused 2 "--weights int8 is for a model file" convert q8.gguf --weights int8 --out x.safetensors
else
    echo "no python3: quantised files are not tried"
fi
refused 2 "--weights is for models of other programs" convert m.volta --weights int8 --out x.volta
refused 2 "--weights" convert m.safetensors --weights int3 --out x.volta

if python3 -c 'import torch, numpy' 2>/dev/null; then
    python3 - <<'PYTHON'
import json, struct, torch
tensors, data = {}, open("m.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
for name, entry in json.loads(data[8:8 + size]).items():
    if name != "__metadata__":
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(entry["shape"])
theirs = {"token_embedding": "wte.weight", "position_embedding": "wpe.weight"}
for ours, name in (("norm1", "ln_1"), ("norm2", "ln_2"), ("qkv", "attn.c_attn"), ("proj", "attn.c_proj"),
                   ("fc", "mlp.c_fc"), ("fc_proj", "mlp.c_proj")):
    for kind in ("weight", "bias"):
        theirs[f"block.0.{ours}.{kind}"] = f"h.0.{name}.{kind}"
for kind in ("weight", "bias"):
    theirs[f"norm_final.{kind}"] = f"ln_f.{kind}"
torch.save({"model": {theirs[name]: value for name, value in tensors.items()}, "step": 2}, "m.pt")
PYTHON
    refused 1 "tools/pt_to_safetensors.py" convert m.pt --out x.volta
    python3 "$pt_to_safetensors" m.pt pt.safetensors >/dev/null || bad "pt_to_safetensors"
    echo '{"model_type": "gpt2", "n_head": 2}' >gpt2.json
    expect "from PyTorch" "$hash" "$("$voltac" convert pt.safetensors --model-config gpt2.json --out pt.volta)"
else
    echo "no torch: pt_to_safetensors.py is not tried"
fi

if [ -r "$data/stories260K/stories260K.bin" ]; then
    expect "stories260K" 8b406df5ed3f204a57ac2f55d7e66008 \
        "$("$voltac" convert "$data/stories260K/stories260K.bin" --out stories.volta)"
    head -c 1056539 "$data/stories260K/stories260K.bin" >cut.bin
    refused 1 "its sizes make a file of 1056540 bytes, it has 1056539" convert cut.bin --out x.volta
else
    echo "no $data/stories260K: set VOLTA_TEST_DATA to a folder with it"
fi
[ "$failed" -eq 0 ] || exit 1
echo "conversions give the models they should"
