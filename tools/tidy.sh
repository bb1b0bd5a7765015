#!/bin/sh
# clang-tidy with the checks of .clang-tidy; whatever it says is an error. A header is checked through the sources that
# include it: each changed one through the first of them, where none of its includers changed itself.
#     tools/tidy.sh BUILD [all]     BUILD: a folder configured with clang, whose generated headers are there
#                                   default: what changed since the commit in .ci/tidy_base; all: the whole tree
set -eu
cd "$(dirname "$0")/.."
build=$1
[ -f "$build/compile_commands.json" ] || { echo "$build/compile_commands.json is missing: run 'make tidy'" >&2; exit 2; }
list=$(mktemp)
trap 'rm -f "$list" "$list".*' EXIT

# The sources that the build compiles: what it leaves out (another processor's files) has no flags to be checked with.
sed -nE "s#^ *\"file\": \"$(pwd)/(.*\.(c|cpp))\",?\$#\1#p" "$build/compile_commands.json" | sort -u |
    grep -E '^(engine|jitgen|data|cli|fuzz|tests|bench|examples)/' >"$list.built"

if [ "${2:-}" = all ]; then
    cp "$list.built" "$list"
else
    base=$(cat .ci/tidy_base)
    git cat-file -e "$base^{commit}" 2>/dev/null || {
        echo "the commit of .ci/tidy_base, $base, is not here: fetch the whole history (git fetch --unshallow)" >&2
        exit 2
    }
    # Committed since then, changed and not committed, and new.
    { git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | sort -u >"$list.changed"
    grep -E '\.(c|cpp)$' "$list.changed" | comm -12 - "$list.built" >"$list" || true
    grep -E '\.h$' "$list.changed" | while read -r header; do
        xargs grep -lF "#include \"$header\"" <"$list.built" >"$list.users" 2>/dev/null || continue
        grep -qxFf "$list" "$list.users" || head -n 1 "$list.users" >>"$list"
    done
    sort -u -o "$list" "$list"
fi
count=$(wc -l <"$list")
echo "$(clang-tidy --version | sed -nE 's/.*(LLVM version.*)/clang-tidy, \1/p'): $count files"
[ "$count" -gt 0 ] || exit 0
# stderr: how many warnings of other people's headers were left out.
if xargs -P "${JOBS:-$(nproc)}" -n 2 clang-tidy -p "$build" --quiet <"$list" >"$list.said" 2>"$list.err"; then
    echo "nothing found"
else
    # Headers are seen by many sources; each finding is said once.
    grep -E '(warning|error):' "$list.said" "$list.err" -h | sed "s#$(pwd)/##" | sort -u
    exit 1
fi
