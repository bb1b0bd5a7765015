#!/bin/sh
# The same programs in every language: same_examples.sh ROOT BUILD
# train_mlp, fine_tune, classify_pictures, embed and resume of examples/c and of each binding write the same files, byte for byte, and
# print the same hashes and answers. train_gpt is same_hash.sh's. A language that is not installed is left out with a message.
set -eu
root=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x "$build/voltac" ] || { echo "there is no $build/voltac"; exit 1; }
python3 -B "$root/tests/docs/materials.py" "$build/voltac" "$work/m"
cd "$work/m"
"$build/voltac" convert bytes.volta --out gpt2.safetensors --names huggingface --config-out config.json >/dev/null
head -c 6000 book.txt >short.txt

languages="c cpp python"
if command -v cargo >/dev/null; then
    export VOLTA_DIR="$build" CARGO_TARGET_DIR="$build/cargo"
    (cd "$root/bindings/rust" && cargo build --quiet --offline --locked --examples)
    languages="$languages rust"
else
    echo "rust: not here, skipped"
fi
if command -v go >/dev/null && command -v pkg-config >/dev/null; then
    # shellcheck source=tests/bindings/go_environment.sh
    . "$here/go_environment.sh"
    (cd "$root/bindings/go" && go build -o "$build/go/" ./examples/...)
    languages="$languages go"
else
    echo "go: not here, skipped"
fi

start() { # LANGUAGE PROGRAM ARGUMENTS...
    language=$1 program=$2
    shift 2
    case $language in
        c)
            [ "$program" != embed ] || program=embed_server
            "$build/examples/c/$program" "$@"
            ;;
        cpp) "$build/tests/bindings/${program}_cpp" "$@" ;;
        python) VOLTA_LIBRARIES="$build" PYTHONPATH="$root/bindings/python" python3 -B "$root/bindings/python/examples/$program.py" "$@" ;;
        rust) "$build/cargo/debug/examples/$program" "$@" ;;
        go) "$build/go/$program" "$@" ;;
    esac
}
failed=0
for language in $languages; do
    mkdir "$work/$language"
    out="$work/$language"
    {
        start "$language" train_mlp "$out/mlp.volta" | grep -v '^hash'
        start "$language" fine_tune gpt2.safetensors short.txt "$out/tuned" 20
        start "$language" classify_pictures pictures pictures/test/rows/00.png "$out/pictures.volta" | grep -v '^hash'
        { head -2 lines.txt && printf '\nIn \342\202\254\n'; } | start "$language" embed book.volta
        start "$language" resume short.txt "$out/half.volta" 10
        start "$language" resume short.txt "$out/half.volta" 10
    } >"$out/said" 2>"$work/errors" || { echo "$language: a program failed: $(cat "$work/errors")"; exit 1; }
    for file in "$work"/c/*; do
        name=$(basename "$file")
        cmp "$file" "$out/$name" || failed=1
    done
    [ "$(grep -c . "$out/said")" -gt 12 ] || { echo "$language says little: $(cat "$out/said")"; failed=1; }
done
[ $failed = 0 ] && echo "the same files and answers: $languages"
exit $failed
