#!/bin/sh
# --profile FILE of train, generate and bench: the trace is JSON whose events nest, the report needs nothing but itself,
# results stay as they are, and a file that cannot be written is refused before the work starts.
#     test_profile.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work/home"
mkdir "$HOME"
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
}
expect() { if [ "$2" = "$3" ]; then ok; else bad "$1: expected '$2', got '$3'"; fi; }

# refused STATUS TEXT ARGUMENTS...: exit status, one line on standard error that holds TEXT, nothing on output.
refused() {
    status=$1
    text=$2
    shift 2
    "$voltac" "$@" >out 2>err
    got=$?
    if [ "$got" -eq "$status" ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] && grep -qF -- "$text" err; then
        ok
    else
        bad "voltac $*: status $got (expected $status): $(cat err)"
    fi
}

# trace_holds FILE NAME...: valid JSON; complete events lie in the one around them on their lane; these names occur.
trace_holds() {
    command -v python3 >/dev/null || return 0
    python3 - "$@" <<'PYTHON' && ok || bad "the trace $1 is not what it should be"
import json, sys
from fractions import Fraction

trace = json.load(open(sys.argv[1]), parse_float=Fraction)
events = trace["traceEvents"]
spans = [event for event in events if event["ph"] == "X"]
assert trace["otherData"]["dropped_events"] >= 0 and spans
names = {event["name"] for event in spans}
assert set(sys.argv[2:]) <= names, set(sys.argv[2:]) - names
open_on = {}
for span in spans:  # of one lane in the order of their beginnings
    stack = open_on.setdefault(span["tid"], [])
    end = span["ts"] + span["dur"]
    while stack and span["ts"] >= stack[-1]:
        stack.pop()
    assert not stack or end <= stack[-1], span
    stack.append(end)
    if span["cat"] == "step":
        assert {"step", "value", "kernel"} <= set(span["args"]), span
counters = {event["name"] for event in events if event["ph"] == "C"}
assert counters == {"tensor memory held", "activations alive"}, counters
assert all(event["args"]["bytes"] >= 0 for event in events if event["ph"] == "C")
lanes = {event["tid"] for event in events if event["name"] == "thread_name"}
assert set(open_on) <= lanes
PYTHON
}

# page_holds FILE TEXT...: one page that fetches nothing, closes what it opens, and holds these texts; its script draws.
page_holds() {
    page=$1
    shift
    grep -qiE '(src|href) *=|@import|url\(|https?:' "$page" && bad "$page fetches something" || ok
    for text; do
        grep -qF -- "$text" "$page" && ok || bad "$page does not say '$text'"
    done
    if command -v node >/dev/null; then
        node "$here/run_page.js" "$page" >out 2>&1 && ok || bad "the script of $page: $(grep -m 1 Error out)"
    fi
    command -v python3 >/dev/null || return 0
    python3 - "$page" <<'PYTHON' && ok || bad "$page is not a whole page"
import html.parser, json, re, sys

text = open(sys.argv[1], encoding="utf-8").read()
data = json.loads(re.search(r'<script type="application/json" id=data>(.*?)</script>', text, re.S).group(1))
assert len(data["events"]) % 6 == 0 and data["lanes"] >= 1
assert all(0 <= data["events"][i] < len(data["labels"]) for i in range(0, len(data["events"]), 6))
class Counter(html.parser.HTMLParser):
    open, seen = [], set()
    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag in ("table", "script", "svg", "style", "canvas", "h2", "p"): self.open.append(tag)
    def handle_endtag(self, tag):
        if tag in ("table", "script", "svg", "style", "canvas", "h2", "p"): assert self.open.pop() == tag, tag
counter = Counter()
counter.feed(text)
for table in re.findall(r"<table>.*?</table>", text, re.S):  # what takes longest stands first
    heads = re.findall(r"<th[^>]*>([^<]*)", table)
    if "total ms" not in heads or "calls" not in heads: continue
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr>")]
    totals = [float(row[heads.index("total ms")]) for row in rows if len(row) == len(heads)]
    assert totals and totals == sorted(totals, reverse=True), totals
assert not counter.open and {"table", "svg", "canvas", "script"} <= counter.seen
PYTHON
}

i=0
while [ $i -lt 400 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt
train="train --text text.txt --layers 1 --dim 16 --heads 2 --context 16 --batch 2 --steps 4"

echo "== wrong calls"
ending="it must end with .json (a trace) or .html (a report)"
refused 2 "voltac train: --profile is 'p.txt', $ending" $train --out m.volta --profile p.txt
refused 2 "voltac train: --profile is '.json', $ending" $train --out m.volta --profile .json
refused 2 "voltac generate: --profile is 'p', $ending" generate missing.volta --profile p
refused 2 "voltac bench train: --profile is 'p.svg', $ending" bench train --profile p.svg
refused 2 "voltac bench infer: --profile is 'p.json.gz', $ending" bench infer --profile p.json.gz
refused 1 "--profile: cannot write 'missing/p.json': the folder missing: No such file" $train --out m.volta --profile missing/p.json
mkdir folder.html
refused 1 "--profile: cannot write 'folder.html': it is a directory" bench infer --profile folder.html
[ ! -e m.volta ] && ok || bad "a refused call trained"

echo "== training"
"$voltac" $train --out plain.volta >plain.out 2>/dev/null || bad "train"
"$voltac" $train --out traced.volta --threads 2 --profile train.json >traced.out 2>err || bad "train --profile: $(cat err)"
expect "output of a profiled run" "$(cat plain.out)" "$(cat traced.out)"
expect "hash of a profiled run" "$("$voltac" hash plain.volta)" "$("$voltac" hash traced.volta)"
trace_holds train.json train_step each reduce update matmul adamw evaluate
"$voltac" $train --out traced.volta --threads 2 --profile train.html >/dev/null 2>err || bad "train --profile: $(cat err)"
page_holds train.html "<h1>voltac train</h1>" "<td class=t>matmul" "GFLOP/s" "block.0.qkv.weight" "train_step" "<svg" "<h2>Threads" "worker 1"
expect "temporary files" "" "$(find . -name '*.tmp-*')"

echo "== generation"
"$voltac" generate plain.volta --prompt "line 1" --tokens 5 >plain.out || bad "generate"
"$voltac" generate plain.volta --prompt "line 1" --tokens 5 --profile text.json >traced.out || bad "generate --profile"
expect "text of a profiled run" "$(cat plain.out)" "$(cat traced.out)"
trace_holds text.json token_step prefill decode sample cached_attention
"$voltac" generate plain.volta --prompt "line 1" --tokens 5 --profile text.html >/dev/null || bad "generate --profile"
page_holds text.html "<h1>voltac generate</h1>" "cached_attention" "prefill"

echo "== benchmarks"
"$voltac" bench train --model mlp:8-16-1 --batch 4 --runs 2 --threads 1 --profile step.json >/dev/null 2>err || bad "bench train"
[ ! -s err ] && ok || bad "bench train --profile wrote to standard error: $(cat err)"
trace_holds step.json train_step sgd_plain
expect "steps of bench train" 2 "$(grep -c '"name":"train_step"' step.json)"
"$voltac" bench infer --preset small --prompt-tokens 9 --tokens 4 --no-speedup --runs 1 --threads 1 --profile infer.html >/dev/null ||
    bad "bench infer --profile"
page_holds infer.html "<h1>voltac bench infer</h1>" "token_step"
grep -q '<h2>Threads' infer.html && bad "a report of one thread compares threads" || ok

echo "== a full disk"
(ulimit -f 1; "$voltac" generate plain.volta --prompt "line 1" --tokens 9 --profile full.html >/dev/null 2>err)
expect "status of a report that does not fit" 1 $?
grep -q 'full.html: File too large' err && ok || bad "a report that does not fit: $(cat err)"
(ulimit -f 1; "$voltac" generate plain.volta --prompt "line 1" --tokens 9 --profile full.json >/dev/null 2>err)
expect "status of a trace that does not fit" 1 $?
grep -q 'full.json' err && ok || bad "a trace that does not fit: $(cat err)"
expect "what is left of them" "" "$(find . -name 'full*')"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
