#!/bin/sh
# voltac train --lora, --adapter, merge, and adapters to and from PEFT's folder.
#     test_adapters.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"
hash_of() { sed -n 's/^hash *//p'; }

i=0
while [ $i -lt 80 ]; do
    echo "to be, or not to be, that is the question of line $((i % 9))"
    i=$((i + 1))
done >text
small="--layers 2 --dim 32 --heads 2 --context 64 --steps 2 --warmup 1"
"$voltac" train --text text $small --out gpt.volta >/dev/null 2>&1 || bad "no GPT"
"$voltac" train --text text $small --architecture llama --out llama.volta >/dev/null 2>&1 || bad "no Llama"
"$voltac" train --text text $small --architecture bert --out bert.volta >/dev/null 2>&1 || bad "no BERT"
"$voltac" quantize llama.volta --to int8 --out llama8.volta >/dev/null || bad "no stored Llama"
lesson="--text text --steps 6 --warmup 0 --lr 0.01"
for base in gpt llama llama8 bert; do
    before=$("$voltac" hash $base.volta)
    lora="--from $base.volta --lora r=4,alpha=8,targets=q+v+o --context 32"
    "$voltac" train $lesson $lora --threads 1 --out whole.a 2>/dev/null | hash_of >whole || bad "train --lora on a $base"
    "$voltac" train $lesson $lora --threads 3 --stop-at 2 --out part.a >/dev/null 2>&1
    "$voltac" train --text text --from $base.volta --resume part.a 2>/dev/null | hash_of >parts
    [ -s whole ] && cmp whole parts || bad "a resumed run of adapters on a $base ends otherwise"
    cmp whole.a part.a || bad "their files differ on a $base"
    expect "the base stays" "$before" "$("$voltac" hash $base.volta)"
    "$voltac" info $base.volta --adapter whole.a >told || bad "info --adapter"
    grep -q '^  targets  *q+v+o$' told || bad "info --adapter tells: $(cat told)"
    "$voltac" info whole.a | grep -q 'block.1.qkv.lora.v.b  *f32\[4, 32\]' || bad "info of adapters: $("$voltac" info whole.a)"
    "$voltac" merge $base.volta whole.a --out merged.volta >told || bad "merge"
    grep -q '^largest difference of a weight  [0-9]' told || bad "merge tells: $(cat told)"
    [ "$base" = bert ] && continue
    "$voltac" generate $base.volta --adapter whole.a --prompt "to be" --tokens 20 --temperature 0 >apart || bad "generate --adapter"
    loss=$("$voltac" eval $base.volta --text text | sed -n 's/^loss *//p')
    apart=$("$voltac" eval $base.volta --adapter whole.a --text text | sed -n 's/^loss *//p')
    merged=$("$voltac" eval merged.volta --text text | sed -n 's/^loss *//p')
    awk "BEGIN { exit !($apart < $loss - 0.01) }" || bad "adapters on a $base teach nothing: $loss, $apart"
    awk "BEGIN { exit !($merged < $apart + 0.02 && $merged > $apart - 0.02) }" || bad "merged $base: $apart, $merged"
done

# --- PEFT's folder and back: the same function
for base in gpt llama; do
    "$voltac" train $lesson --from $base.volta --lora r=4,targets=q+v+o --context 32 --out a.a >/dev/null 2>&1 || bad "train"
    "$voltac" convert a.a --out folder/ || bad "convert to a folder"
    "$voltac" convert folder --base $base.volta --out b.volta || bad "convert from a folder"
    "$voltac" eval $base.volta --adapter a.a --text text >first
    "$voltac" eval $base.volta --adapter b.volta --text text >second
    cmp first second || bad "adapters of a $base by PEFT's folder compute something else"
done
python3 - <<'E' || bad "the config"
import json
config = json.load(open("folder/adapter_config.json"))
assert config["r"] == 4 and config["lora_alpha"] == 8 and config["peft_type"] == "LORA", config
assert "model.layers.1.self_attn.q_proj" in config["target_modules"], config
json.dump(dict(config, use_dora=True), open("folder/adapter_config.json", "w"))
E
refused 1 "the config has 'use_dora' true, Volta's model is one where it is false" convert folder --base llama.volta --out x.volta
sed 's/"use_dora": true/"use_dora": false/' folder/adapter_config.json >config && cp config folder/adapter_config.json
sed 's/"lora_alpha": 8/"lora_alpha": 0/' config >folder/adapter_config.json
refused 1 "its adapters have the rank 4 and the alpha 0: Volta's have a rank up to 4096, and an alpha above 0" convert folder --base llama.volta --out x.volta
cp config folder/adapter_config.json
refused 1 "the base has no weight for the module 'model.layers.0.self_attn.o_proj'" convert folder --base gpt.volta --out x.volta

# --- refusals
refused 1 "the adapters are of another base" generate llama8.volta --adapter b.volta --prompt a
refused 1 "the file holds no adapters" generate gpt.volta --adapter llama.volta --prompt a
refused 2 "--lora needs --from" train --text text --lora r=4 --out x.a
refused 2 "--lora 'rank=4' has 'rank=4'; it takes r=N, alpha=X and targets=PART+PART" train --text text --from gpt.volta --lora rank=4 --out x.a
refused 2 "--lora 'r=0' gives r as '0', which is no number above 0" train --text text --from gpt.volta --lora r=0 --out x.a
refused 2 "--lora 'alpha=nan' gives alpha as 'nan', which is no number above 0" train --text text --from gpt.volta --lora alpha=nan --out x.a
refused 1 "rank is 99999; it must be from 1 to 4096" train --text text --from gpt.volta --lora r=99999 --out x.a
refused 1 "the model has no part 'gate': none of its weights is a 'gate_up.weight'" train --text text --from gpt.volta --lora targets=gate --out x.a
refused 2 "--out and --from are the same file" train --text text --from gpt.volta --lora r=4 --out gpt.volta
refused 2 "--out is one of the files that are merged" merge llama.volta b.volta --out llama.volta
refused 2 "is a folder, as adapters are written for PEFT; the model has none" convert gpt.volta --out folder/
refused 2 "--base makes a file of adapters, whose name ends with .adapter or .volta, not b.gguf" convert folder --base gpt.volta --out b.gguf
refused 2 "--out b.adapter is a file of adapters, which needs --base and a folder of PEFT" convert gpt.volta --out b.adapter
[ "$failed" -eq 0 ] && echo "adapters are trained, used, merged and handed over"
exit "$failed"
