#!/bin/sh
# A model in one file and in parts: merged and split it is the same, byte for byte, and what is wrong is named.
#     test_checkpoint.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"

i=0
while [ $i -lt 300 ]; do
    echo "line $i of a text in which line $((i * 7 % 300)) is named"
    i=$((i + 1))
done >text
small="--text text --layers 1 --dim 16 --heads 2 --context 16 --warmup 2"
# shellcheck disable=SC2086
"$voltac" train $small --steps 3 --out m.volta >told 2>err || bad "train: $(cat err)"
hash=$("$voltac" hash m.volta)
bytes=$(wc -c <m.volta)

# Both ways.
for parts in 1 2 5; do
    "$voltac" checkpoint split m.volta folder/ --parts $parts >told 2>err || bad "split: $(cat err)"
    expect "files of $parts parts" $((parts + 1)) "$(find folder -type f | wc -l)"
    "$voltac" checkpoint merge folder merged.volta >told 2>err || bad "merge: $(cat err)"
    cmp -s m.volta merged.volta || bad "$parts parts are another file"
    expect "verify of $parts parts" "parts  $parts
bytes  $bytes
step   3
hash   $hash
valid" "$("$voltac" checkpoint verify folder)"
done
"$voltac" checkpoint split folder again --parts 3 || bad "split of a folder"
expect "verify of a file" "parts  1" "$("$voltac" checkpoint verify m.volta | head -1)"
expect "verify --json" "{\"parts\":3,\"bytes\":$bytes,\"step\":3,\"hash\":\"$hash\",\"valid\":true}" "$("$voltac" checkpoint verify again --json)"

# A folder is a model to whoever reads one.
expect "hash of a folder" "$hash" "$("$voltac" hash folder)"
expect "info of a folder" "$bytes" "$("$voltac" info folder | sed -n 's/^bytes *//p')"
expect "text of a folder" "$("$voltac" generate m.volta --prompt line --tokens 9)" "$("$voltac" generate folder --prompt line --tokens 9)"
"$voltac" eval folder --text text >/dev/null 2>err || bad "eval: $(cat err)"
"$voltac" convert folder --out m.safetensors >/dev/null 2>err || bad "convert: $(cat err)"
"$voltac" convert m.volta --out same.safetensors >/dev/null 2>err && cmp -s m.safetensors same.safetensors || bad "convert makes another file of a folder"
"$voltac" quantize folder --to bf16 --out q.volta >/dev/null 2>err || bad "quantize: $(cat err)"

# One process that trains writes one part, and goes on from it.
# shellcheck disable=SC2086
"$voltac" train $small --steps 6 --stop-at 3 --out alone/ --sharded >told 2>err || bad "train --sharded: $(cat err)"
expect "saved" 1 "$(grep -c 'saved alone$' err)"
"$voltac" train --text text --resume alone >told 2>err || bad "train --resume FOLDER: $(cat err)"
# shellcheck disable=SC2086
"$voltac" train $small --steps 6 --out six.volta >told 2>err || bad "train: $(cat err)"
expect "a run that went on in a folder" "$("$voltac" hash six.volta)" "$("$voltac" hash alone)"
"$voltac" train --text text --resume alone --extend 2 --out eight.volta >told 2>err || bad "from a folder to a file: $(cat err)"
[ -f eight.volta ] || bad "--out names a file, and --sharded is not given"

# Adapters, which are saved without their base.
for out in lora/ lora.volta; do
    sharded=
    [ $out != lora/ ] || sharded=--sharded
    # shellcheck disable=SC2086
    "$voltac" train --text text --from m.volta --lora r=2 --steps 2 --out $out $sharded >told 2>err || bad "train --lora --out $out: $(cat err)"
done
"$voltac" checkpoint merge lora merged.volta || bad "merge of adapters"
cmp -s lora.volta merged.volta || bad "adapters in parts are another file"
"$voltac" generate m.volta --adapter lora --prompt line --tokens 9 >/dev/null 2>err || bad "generate --adapter FOLDER: $(cat err)"

# What is wrong has a sentence, and status 1.
part=$(find folder -name '*-1-of-5.part')
cp "$part" kept
printf X | dd of="$part" bs=1 seek=9 conv=notrunc 2>/dev/null
refused 1 "the checksum of part '$(basename "$part")' is not that of 'volta.manifest': it is damaged, or of another save" checkpoint verify folder
refused 1 "the checksum of part" checkpoint merge folder x.volta
[ ! -e x.volta ] || bad "a damaged checkpoint was merged"
head -c 100 kept >"$part"
refused 1 "part '$(basename "$part")' has 100 bytes, 'volta.manifest' says $(wc -c <kept)" checkpoint verify folder
rm "$part"
refused 1 "cannot open '$part': No such file or directory" checkpoint verify folder
cp kept "$part"
"$voltac" checkpoint verify folder >/dev/null || bad "what is whole again is refused"
sed 's/^bytes .*/bytes 7/' folder/volta.manifest >other
cp other folder/volta.manifest
refused 1 "'volta.manifest': its checksum does not match" checkpoint verify folder
mkdir empty
refused 1 "it is a directory without 'volta.manifest'" checkpoint verify empty
# One bit of a tensor: it is mapped and not looked at, but by verify.
cp m.volta bit.volta
printf X | dd of=bit.volta bs=1 seek=$((bytes - 9)) conv=notrunc 2>/dev/null
refused 1 "the checksum of tensor" checkpoint verify bit.volta

# Calls that cannot be.
refused 2 "say what: merge|split|verify" checkpoint
refused 2 "there is no 'merg', it must be one of merge|split|verify; did you mean merge?" checkpoint merg folder x.volta
refused 2 "--parts is required" checkpoint split m.volta x
refused 2 "--parts" checkpoint split m.volta x --parts 4097
refused 2 "both are 'again'" checkpoint merge again again/
refused 1 "'m.volta' is a file, not a folder" checkpoint split m.volta m.volta --parts 2
refused 1 "cannot write 'again'" checkpoint merge alone again
refused 2 "a name of safetensors, which is not written" checkpoint merge again x.safetensors

[ $failed -eq 0 ] && echo "a model in parts is the model"
exit $failed
