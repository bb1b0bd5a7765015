#!/bin/sh
# voltac plan: the bill before anything runs, its refusals, and the pictures of memory over a step.
#     test_plan.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"

plan() { "$voltac" plan --preset tiny --threads 1 "$@"; }
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
count() { grep -c -- "$1" "$2"; }

# --- the picture: ten rows, an axis, where the parts begin, and the fullest step
plan --batch 2 --seq 32 --picture >told || bad "a picture"
expect "rows" 10 "$(count '|#\|| *#' told)"
grep -q '^activations, batch 2, seq 32$' told || bad "no heading: $(cat told)"
for part in forward backward update; do grep -q "^ .*| $part" told || bad "no $part: $(cat told)"; done
grep -q '^ *0 +-\{64\}$' told || bad "no axis: $(cat told)"
most=$(sed -n 's/^ *most: \(.*\) at step [0-9]* of [0-9]*, [a-z_]* (\(forward\|backward\))$/\1/p' told)
[ -n "$most" ] || bad "no word of the fullest step: $(tail -n 1 told)"
grep -q "^ *$most |.*#" told || bad "the peak does not reach the top: $(cat told)"
expect "lines above 80 columns" 0 "$(sed '1,3d' told | awk 'length > 80' | wc -l)"

# --- the numbers
plan --batch 2 --seq 32 --picture --json >json || bad "its numbers"
sed 's/.*"alive":\[\([0-9,]*\)\].*/\1/' json | tr , '\n' >alive
sed 's/.*"part":\[\([^]]*\)\].*/\1/' json | tr , '\n' >part
sed 's/.*"operation":\[\([^]]*\)\].*/\1/' json | tr , '\n' >operation
activations=$(number activations <json)
largest=$(sort -n alive | tail -n 1)
[ "$largest" -le "$activations" ] && [ "$largest" -gt $((activations / 10 * 9)) ] || bad "the fullest step has $largest of $activations"
expect "parts" "$(wc -l <alive)" "$(wc -l <part)"
expect "operations" "$(wc -l <alive)" "$(wc -l <operation)"
expect "the order of parts" '"forward" "backward" "update" ' "$(uniq part | tr '\n' ' ')"
plan --batch 2,4 --seq 32 --svg both.svg --json >json || bad "an SVG beside numbers"
grep -q '"steps"' json && bad "arrays that nobody asked for"
expect "panels of both" 2 "$(count '>activations, batch' both.svg)"

# --- several rows, of which one does not fit; as SVG too
least=$(sed 's/"batch":4.*//' json | number smallest_activations)
plan --batch 2,4 --seq 32 --activation-memory "$least" --picture --svg memory.svg >told || bad "two rows"
expect "pictures of rows that fit" 1 "$(count '^activations, batch' told)"
expect "refused rows" 1 "$(count 'activation_budget is' told)"
expect "panels" 1 "$(count '>activations, batch 2, seq 32<' memory.svg)"
expect "parts drawn" 3 "$(count '<path fill' memory.svg)"
[ "$(head -c 4 memory.svg)" = "<svg" ] && [ "$(tail -n 1 memory.svg)" = "</svg>" ] || bad "no SVG: $(cat memory.svg)"
if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' memory.svg || bad "no XML"
fi

# --- clipping with updates in the backward pass: two passes, one below the other's activations, not on top of them
most() { sed -n 's/^ *most: \([0-9.]*\) MiB at .*/\1/p' told; }
plan --batch 2 --seq 32 --update-in-backward --picture >told || bad "updates in the backward pass"
expect "passes" "2 2" "$(grep -o '| forward' told | wc -l) $(grep -o '| backward' told | wc -l)"
twice=$(most)
plan --batch 2 --seq 32 --update-in-backward --clip 0 --picture >told || bad "updates without a norm"
expect "one pass" "1 1" "$(grep -o '| forward' told | wc -l) $(grep -o '| backward' told | wc -l)"
echo "$twice $(most)" | awk '{ exit !($1 > 0 && $1 <= 1.02 * $2) }' || bad "both passes hold $twice MiB, one $(most)"

# --- what is refused
refused 2 "--svg" plan --preset tiny --svg memory.png
refused 2 "--svg" plan --preset tiny --svg -
refused 1 "--svg" plan --preset tiny --svg nowhere/memory.svg
refused 2 "give a model file or --preset" plan --picture

exit $failed
