#!/bin/sh
# voltac's ranks on devices: shards on one, ranks that exchange by way of the host, and from device to device by NCCL,
# have the bits of the processor; a checkpoint in parts goes on elsewhere.
#     test_device_ranks.sh PATH_OF_VOLTAC [DEVICE]    default: cuda
set -u
voltac=$1
device=${2:-cuda}
. "$(dirname "$0")/../cli/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work" VOLTA_FAKE_CUDA_DEVICES=2
i=0
while [ $i -lt 12 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt

call="--text text.txt --seed 1 --layers 1 --dim 32 --heads 2 --context 16 --batch 4 --dropout 0.1 --shards 4 --steps 4"
"$voltac" train $call --out cpu.volta >cpu.log 2>&1 || bad "on the processor: $(tail -1 cpu.log)"
expected=$("$voltac" hash cpu.volta)
same() { # WHAT FILE
    [ -n "$expected" ] && [ "$("$voltac" hash "$2")" = "$expected" ] || bad "$1: $("$voltac" hash "$2"), the processor has $expected"
}

"$voltac" train $call --device "$device" --out one.volta >one.log 2>&1 || bad "on one device: $(tail -1 one.log)"
same "shards on one device" one.volta
cmp -s cpu.volta one.volta || bad "the checkpoints are not the same bytes"
for transport in local tcp nccl; do
    "$voltac" launch -n 2 --transport $transport -- train $call --device "$device" --out $transport.volta >told 2>&1 ||
        bad "$transport: $(tail -1 told)"
    same "ranks over $transport" $transport.volta
done

# Half by ranks into a folder, half by one process on the processor.
"$voltac" launch -n 2 --transport nccl -- train $call --device "$device" --stop-at 2 --out folder/ --sharded >told 2>&1 ||
    bad "a checkpoint in parts: $(tail -1 told)"
"$voltac" train --text text.txt --resume folder --out rest.volta >told 2>&1 || bad "resumed: $(tail -1 told)"
same "resumed from parts" rest.volta

# NCCL refuses ranks that share a device: above, each had its own.
"$voltac" launch -n 2 --transport nccl -- train $call --device "$device:0" --out x.volta >told 2>&1 && bad "two ranks on one device"
grep -q "ncclCommInitRankConfig of NCCL 2.20.5: invalid usage" told || bad "two ranks on one device: $(cat told)"
"$voltac" launch -n 2 --transport nccl --timeout 5 -- train $call --out x.volta >told 2>&1 && bad "ranks without devices"
grep -q 'transport is nccl, and the context has no device: its device is "cpu"' told || bad "ranks without devices: $(cat told)"
[ ! -e x.volta ] || bad "a refused call left a file"
exit $failed
