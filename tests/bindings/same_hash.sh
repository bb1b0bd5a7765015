#!/bin/sh
# The same program in every language gives the same model: same_hash.sh ROOT BUILD
# train_gpt TEXT OUT STEPS of examples/c and of each binding; the files, byte for byte, and the hash of each.
set -eu
root=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c 20000 "$root/docs/numerics.md" >"$folder/text"
export VOLTA_LIBRARIES="$build" PYTHONPATH="$root/bindings/python"

run() { # LANGUAGE COMMAND...
    language=$1
    shift
    "$@" "$folder/text" "$folder/$language.volta" 60 >"$folder/$language.out" 2>"$folder/$language.err" ||
        { echo "$language: train_gpt failed"; cat "$folder/$language.err"; exit 1; }
    sed -n 's/^hash //p' "$folder/$language.out" | sed "s/^/$language /"
}
run c "$build/examples/c/train_gpt"
run cpp "$build/tests/bindings/train_gpt_cpp"
run python python3 -B "$root/bindings/python/examples/train_gpt.py"
if command -v cargo >/dev/null; then
    export VOLTA_DIR="$build" CARGO_TARGET_DIR="$build/cargo"
    (cd "$root/bindings/rust" && cargo build --quiet --offline --locked --example train_gpt)
    run rust "$build/cargo/debug/examples/train_gpt"
fi
if command -v go >/dev/null && command -v pkg-config >/dev/null; then
    # shellcheck source=tests/bindings/go_environment.sh
    . "$(dirname "$0")/go_environment.sh"
    (cd "$root/bindings/go" && go build -o "$build/go/" ./examples/train_gpt)
    run go "$build/go/train_gpt"
else
    echo "go: not here, skipped"
fi
for file in "$folder"/*.volta; do
    cmp "$folder/c.volta" "$file" || exit 1
done
hashes=$(for out in "$folder"/*.out; do sed -n 's/^hash //p' "$out"; done | sort -u)
[ "$(printf '%s\n' "$hashes" | grep -c .)" = 1 ] || { echo "not one hash: $hashes"; exit 1; }
echo "one hash: $hashes"
