#!/bin/sh
# Training by several processes: 1, 2 and 4 ranks give the bits of one process, a run goes on with another number of
# them, and a rank that dies ends the others, with a sentence, and costs no bit where the run begins again.
#     test_launch.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
launcher=
trap '[ -z "$launcher" ] || kill -9 "$launcher" 2>/dev/null; rm -rf "$work"' EXIT
export HOME="$work" TMPDIR="$work"
unset VOLTA_NUM_THREADS VOLTA_RANK VOLTA_RANKS VOLTA_TRANSPORT VOLTA_ADDRESS VOLTA_TIMEOUT
cd "$work" || exit 1
. "$here/checks.sh"

i=0
while [ $i -lt 600 ]; do
    echo "line $i of a text in which line $((i * 7 % 600)) is named"
    i=$((i + 1))
done >text
small="--text text --layers 1 --dim 16 --heads 2 --context 16 --warmup 2"
model="$small --batch 8 --shards 4"

# learns OUT RANKS OPTIONS...: RANKS 0 is a plain call.
learns() {
    out=$1
    ranks=$2
    shift 2
    if [ "$ranks" -eq 0 ]; then
        # shellcheck disable=SC2086
        "$voltac" train "$@" --out "$out" >told 2>err || bad "train $*: $(cat err)"
    else
        # shellcheck disable=SC2086
        "$voltac" launch -n "$ranks" -- train "$@" --out "$out" >told 2>err || bad "launch -n $ranks train $*: $(cat err)"
    fi
    [ "$(grep -c '^hash ' told)" -eq 1 ] || bad "$ranks ranks, $*: one report is expected: $(cat told)"
}
# same WHAT A B: one hash, and one file.
same() {
    expect "$1" "$("$voltac" hash "$2")" "$("$voltac" hash "$3")"
    cmp -s "$2" "$3" || bad "$1: $2 and $3 differ"
}

# One result.
# shellcheck disable=SC2086
learns one.volta 0 $model --steps 20 --threads 1
for ranks in 1 2 4; do
    for threads in 1 2; do
        # shellcheck disable=SC2086
        learns "n$ranks.volta" $ranks $model --steps 20 --threads $threads
        same "$ranks ranks, $threads threads" one.volta "n$ranks.volta"
    done
done
[ -f n4.volta.logs/rank-3.log ] || bad "rank 3 has no log"
# adds_up FILE RANK: its line of where the time went.
adds_up() {
    parts="s/^time: \([0-9]*\) % compute, \([0-9]*\) % wait, \([0-9]*\) % exchange (rank $2)\$/\1 + \2 + \3/p"
    expect "parts of rank $2's time" 100 "$(($(sed -n "$parts" "$1") + 0))"
}
adds_up n4.volta.logs/rank-3.log 3
expect "lines of rank 3" 1 "$(wc -l <n4.volta.logs/rank-3.log)"
adds_up err 0
# shellcheck disable=SC2086
learns one.volta 0 $model --steps 20 --threads 1
[ "$(grep -c '^time: ' err)" -eq 0 ] || bad "one process says: $(cat err)"
"$voltac" launch -n 2 -- train $model --steps 20 --json --out json.volta >told 2>err || bad "--json: $(cat err)"
expect "steps with times" 20 "$(grep '"event": *"step"' told | grep '"wait_seconds"' | grep -c '"exchange_seconds"')"
expect "ends with times" 1 "$(grep '"event": *"end"' told | grep '"compute_seconds"' | grep '"wait_seconds"' | grep -c '"exchange_seconds"')"
grep '"event": *"end"' told | grep -q '"exchange_seconds": *0\.0*[1-9]' || bad "nothing was exchanged: $(grep '"event": *"end"' told)"
expect "what is said beside" "" "$(cat err)"
adds_up json.volta.logs/rank-1.log 1
[ ! -e n4.volta.logs/rank-0.log ] || bad "rank 0 has a log"
[ -z "$(find . -name 'voltac-*')" ] || bad "folders are left: $(find . -name 'voltac-*')"
"$voltac" launch -n 2 --transport tcp --logs here -- train $model --steps 20 --out tcp.volta >told 2>err || bad "tcp: $(cat err)"
same "tcp" one.volta tcp.volta
[ -f here/rank-1.log ] || bad "--logs is not where the logs are"
# shellcheck disable=SC2086
learns plain.volta 0 $small --batch 8 --steps 20
[ "$("$voltac" hash plain.volta)" != "$("$voltac" hash one.volta)" ] || bad "shards change no bit: is one of them computed?"

# A step's rows are --batch x --accumulate, whatever the shards; the micro-batches are what the shards need.
# shellcheck disable=SC2086
learns parts.volta 0 $small --batch 2 --accumulate 4 --shards 4 --steps 20
same "batch 2 x 4 in 4 shards" one.volta parts.volta
# shellcheck disable=SC2086
learns parts.volta 2 $small --batch 4 --accumulate 2 --shards 4 --steps 20
same "batch 4 x 2 in 4 shards" one.volta parts.volta
# shellcheck disable=SC2086
learns parts.volta 0 $small --batch 1 --accumulate 8 --shards 4 --steps 20
# shellcheck disable=SC2086
learns other.volta 4 $small --batch 1 --accumulate 8 --shards 4 --steps 20
same "batch 1 x 8 in 4 shards" parts.volta other.volta
# shellcheck disable=SC2086
{
    refused 2 "--batch 6 x --accumulate 1 is 6 rows a step, which 4 shards do not divide" train $small --batch 6 --shards 4 --out x.volta
    refused 2 "--accumulate is 3, with 4 shards it must be a multiple or a divisor of them: --batch 3 --accumulate 4 has" train $small --batch 4 --accumulate 3 --shards 4 --out x.volta
    refused 2 "--shards is 3, it must be a power of two" train $small --batch 6 --shards 3 --out x.volta
}

# Other lessons: tokens that are hidden, and pictures, whose batch norms see a shard each.
bert="--text text --architecture bert --layers 1 --dim 16 --heads 2 --context 16 --warmup 2 --batch 4 --shards 2 --steps 5"
# shellcheck disable=SC2086
learns b1.volta 0 $bert
# shellcheck disable=SC2086
learns b2.volta 2 $bert
same "hidden tokens" b1.volta b2.volta
mkdir idx
{ printf '\000\000\010\003\000\000\000\020\000\000\000\034\000\000\000\034' && head -c 12544 text; } >idx/train-images-idx3-ubyte
{ printf '\000\000\010\001\000\000\000\020' && printf '\000\001\002\003\004\005\006\007\000\001\002\003\004\005\006\007'; } >idx/train-labels-idx1-ubyte
pictures="--dataset idx --data idx --model resnet20 --batch 8 --shards 2 --steps 4"
# shellcheck disable=SC2086
learns p1.volta 0 $pictures
# shellcheck disable=SC2086
learns p2.volta 2 $pictures
same "pictures" p1.volta p2.volta

# Another number of ranks goes on.
# shellcheck disable=SC2086
learns half.volta 4 $model --steps 20 --stop-at 9
for ranks in 0 2; do
    cp half.volta whole.volta
    learns whole.volta $ranks --text text --resume half.volta
    same "4 ranks and then $ranks" one.volta whole.volta
done
cp half.volta whole.volta
# shellcheck disable=SC2086
learns whole.volta 0 $model --steps 20 --resume half.volta
same "the call's own options beside --resume" one.volta whole.volta
refused 2 "--shards is 2, the checkpoint has 4" train --text text --resume half.volta --shards 2 --out x.volta
refused 2 "--batch is 16, the checkpoint has 8 rows a step" train --text text --resume half.volta --batch 16 --out x.volta

# Checkpoints in parts, one for each rank: together the file of one process, from which any number goes on.
# shellcheck disable=SC2086
learns parts/ 4 $model --steps 20 --stop-at 9 --sharded
expect "parts of 4 ranks" 4 "$(find parts -name 'volta-*-of-4.part' | wc -l)"
"$voltac" checkpoint merge parts merged.volta || bad "merge"
same "4 parts" half.volta merged.volta
for ranks in 0 2; do
    learns whole.volta $ranks --text text --resume parts
    same "4 parts and then $ranks ranks" one.volta whole.volta
done
"$voltac" launch -n 2 -- train --text text --resume parts >told 2>err || bad "in the same folder: $(cat err)"
expect "parts of 2 ranks" 2 "$(find parts -name '*.part' | wc -l)"
expect "what goes on in parts" "$("$voltac" hash one.volta)" "$("$voltac" hash parts)"
# shellcheck disable=SC2086
{
    refused 1 "'one.volta' is a file, not a folder" train $model --out one.volta --sharded
    refused 1 "it is a directory; with --sharded a checkpoint is one" train $model --out parts
    refused 1 "it is a directory; with --sharded a checkpoint is one" launch -n 2 -- train $model --out new/
}

# A file says it all.
cat >run.json <<'J'
{"ranks": 2, "transport": "local", "command": ["train", "--text", "text", "--layers", "1", "--dim", "16", "--heads", "2",
 "--context", "16", "--warmup", "2", "--batch", "8", "--shards", "4", "--steps", "20", "--out", "file.volta"]}
J
"$voltac" launch --config run.json >told 2>err || bad "--config: $(cat err)"
same "--config" one.volta file.volta
echo '{"rank": 2}' >wrong.json
refused 2 "there is no option 'rank'" launch --config wrong.json

# Calls that cannot be.
# shellcheck disable=SC2086
{
    refused 2 "--ranks is 3, it must be a power of two" launch -n 3 -- train $model --out x.volta
    refused 2 "shards is 4, 8 ranks need one each: give --shards 8" launch -n 8 -- train $model --out x.volta
    refused 2 "shards is 1, 2 ranks need one each: give --shards 2" launch -n 2 -- train $small --out x.volta
    refused 2 "--fewer is of further starts: give --restarts" launch -n 2 --fewer -- train $model --out x.volta
    refused 2 "--ranks is required" launch -- train $model --out x.volta
    refused 2 "the command is 'hash', it must be train" launch -n 2 -- hash one.volta
    refused 2 "it needs a command behind --" launch -n 2
    refused 2 "standard input can be read once" launch -n 2 -- train --text - --shards 2 --out x.volta
    refused 2 "did you mean --shards" launch -n 2 -- train --text text --shard 2 --out x.volta
    refused 1 "--logs /dev/null/logs: " launch -n 2 --logs /dev/null/logs -- train $model --out x.volta
}
export VOLTA_RANKS=2
# shellcheck disable=SC2086
{
    refused 2 "VOLTA_RANK is not set, it must be in 0 .. 1" train $model --out x.volta
    VOLTA_RANK=2
    export VOLTA_RANK
    refused 2 "VOLTA_RANK is '2', it must be in 0 .. 1" train $model --out x.volta
    VOLTA_RANK=0 VOLTA_RANKS=many
    refused 2 "VOLTA_RANKS is 'many'" train $model --out x.volta
    VOLTA_RANKS=8
    refused 2 "shards is 4, 8 ranks need one each" train $model --out x.volta
    VOLTA_RANKS=2 VOLTA_TRANSPORT=pigeons
    export VOLTA_TRANSPORT
    refused 1 'transport is "pigeons"' train $model --out x.volta
}
unset VOLTA_RANK VOLTA_RANKS VOLTA_TRANSPORT

# process_of LAUNCHER RANK
process_of() {
    for child in $(cat "/proc/$1/task/$1/children"); do
        tr '\0' '\n' <"/proc/$child/environ" | grep -qx "VOLTA_RANK=$2" && echo "$child"
    done
}
# comes FILE: within 20 s, and before $launcher ends.
comes() {
    tries=0
    while [ ! -s "$1" ] && [ $tries -lt 400 ] && kill -0 $launcher 2>/dev/null; do
        sleep 0.05
        tries=$((tries + 1))
    done
    [ -s "$1" ] || bad "$1 does not come: $(cat err)"
}
# begins OUT OPTIONS...: 4 ranks in the background, as $launcher, until a checkpoint is there.
begins() {
    out=$1
    shift
    rm -f "$out"
    # shellcheck disable=SC2086
    "$voltac" launch -n 4 "$@" -- train $model --save-every 50 --steps $steps --out "$out" >told 2>err &
    launcher=$!
    comes "$out"
}
# ends STATUS: of $launcher.
ends() {
    wait "$launcher"
    expect "exit status of $2" "$1" $?
    launcher=
}

# begun N: the run in the background has begun N times, within 20 s.
begun() {
    tries=0
    while [ "$(grep -c '^step 1/' err)" -lt "$1" ] && [ $tries -lt 400 ] && kill -0 $launcher 2>/dev/null; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# A rank that dies.
steps=10000000
begins dead.volta
victim=$(process_of $launcher 2)
kill -9 "$victim"
ends 137 "a run whose rank 2 was killed"
expect "sentences of it" 1 "$(grep -c 'rank 2 of 4 was ended by signal 9 (Killed); dead.volta.logs/rank-2.log is empty' err)"
"$voltac" info --verify dead.volta >/dev/null 2>err || bad "the checkpoint of a run that died: $(cat err)"

# One that is asked to end asks all of them, and what was learnt is there.
begins asked.volta
kill -TERM "$(process_of $launcher 1)"
ends 130 "a run whose rank 1 was asked to end"
grep -q 'interrupted at step' err || bad "no word of an interruption: $(cat err)"
begins asked.volta
kill -INT $launcher
ends 130 "a run that was asked to end"
grep -q 'interrupted at step' err || bad "no word of an interruption: $(cat err)"
step=$("$voltac" info asked.volta --json | sed -n 's/.*"step": *\([0-9]*\).*/\1/p')
[ "${step:-0}" -ge 50 ] || bad "the checkpoint is at step ${step:-none}"

# It begins again, from what this run has written and from nothing else.
steps=3000
# shellcheck disable=SC2086
learns whole.volta 0 $model --steps $steps
begins again.volta --restarts 2
kill -9 "$(process_of $launcher 3)"
ends 0 "a run that began again"
grep -q 'rank 3 of 4 was ended by signal 9 .*; start 2 of 3 goes on from again.volta' err || bad "no word of the second start: $(cat err)"
same "a run that began again" whole.volta again.volta
# shellcheck disable=SC2086
"$voltac" launch -n 4 --restarts 2 -- train $model --save-every 50 --steps $steps --out in-parts/ --sharded >told 2>err &
launcher=$!
comes in-parts/volta.manifest
kill -9 "$(process_of $launcher 3)"
ends 0 "a run in parts that began again"
grep -q 'rank 3 of 4 was ended by signal 9 .*; start 2 of 3 goes on from in-parts' err || bad "no word of the second start: $(cat err)"
"$voltac" checkpoint verify in-parts >/dev/null 2>err || bad "verify: $(cat err)"
"$voltac" checkpoint merge in-parts again.volta || bad "merge"
same "a run in parts that began again" whole.volta again.volta

# With fewer ranks: when asked to, and where starts come to nothing.
# shellcheck disable=SC2086
learns whole.volta 0 $model --steps $steps
begins again.volta --restarts 2 --fewer
kill -9 "$(process_of $launcher 3)"
ends 0 "a run that began again with fewer ranks"
grep -q 'rank 3 of 4 was ended by signal 9 .*; start 2 of 3 goes on from again.volta with 2 ranks$' err || bad "no word of 2 ranks: $(cat err)"
same "4 ranks, then 2" whole.volta again.volta
rm -f again.volta
: >err
# shellcheck disable=SC2086
"$voltac" launch -n 4 --restarts 4 -- train $model --save-every 2999 --steps $steps --out again.volta >told 2>err &
launcher=$!
for start in 1 2 3; do
    begun $start
    kill -9 "$(process_of $launcher 1)"
done
ends 0 "a run whose starts came to nothing"
grep -q 'rank 1 of 4 was .*; start 2 of 5 begins anew$' err || bad "the second start: $(cat err)"
grep -q 'rank 1 of 4 was .*; start 3 of 5 begins anew with 2 ranks$' err || bad "the third start: $(cat err)"
grep -q 'rank 1 of 2 was .*; start 4 of 5 begins anew$' err || bad "the fourth start: $(cat err)"
same "4 ranks, then 2, from the beginning" whole.volta again.volta
# And where there is no place for so many: a user who may have three processes, which root can be. A sanitizer that
# looks for leaks would need one more of them.
mkdir crowd && chmod 711 . && chmod 777 crowd && cp text "$voltac" crowd/
crowded() {
    (cd crowd && ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" TMPDIR=. \
        setpriv --reuid 54321 --regid 54321 --clear-groups prlimit --nproc=3:3 ./voltac "$@")
}
if [ "$(id -u)" -eq 0 ] && crowded version >/dev/null 2>&1; then
    crowded launch -n 4 --restarts 1 -- train $model --steps 20 --threads 1 --out crowd.volta >told 2>err || bad "crowded: $(cat err)"
    grep -q 'rank 2 of 4 could not be started: .*; start 2 of 2 begins anew with 2 ranks$' err || bad "no word of a crowd: $(cat err)"
    same "no place for 4 ranks" one.volta crowd/crowd.volta
    crowded launch -n 4 -- train $model --steps 20 --threads 1 --out crowd.volta >told 2>err && bad "4 ranks have no place"
    expect "sentences of a crowd" 1 "$(grep -c '^voltac: launch: rank 2 of 4 could not be started: ' err)"
fi
model="--text text --from one.volta --batch 8 --shards 4"
# shellcheck disable=SC2086
learns whole.volta 0 $model --steps $steps
begins again.volta --restarts 1
kill -9 "$(process_of $launcher 1)"
ends 0 "a run of fine-tuning that began again"
same "fine-tuning that began again" whole.volta again.volta

cp one.volta stale.volta
: >err
"$voltac" launch -n 2 --restarts 1 -- train --text text --from one.volta --batch 8 --shards 4 --steps 10000000 --out stale.volta >told 2>err &
launcher=$!
begun 1
kill -9 "$(process_of $launcher 1)"
begun 2
kill -TERM $launcher
ends 143 "a run that began anew and was asked to end"
grep -q 'rank 1 of 2 was ended by signal 9 .*; start 2 of 2 begins anew' err || bad "an older file is no checkpoint of this run: $(cat err)"

[ $failed -eq 0 ] && echo "ranks give one result, and end together"
exit $failed
