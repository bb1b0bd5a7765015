#!/bin/sh
# What cargo says of the Rust crates beside their tests: rust.sh ROOT BUILD doc|valgrind
#   doc       cargo doc has no warning
#   valgrind  the tests, and the example train_gpt, under valgrind's memcheck: no error, nothing lost for good
# 77: there is no cargo, or no valgrind.
set -eu
root=$1 build=$2
export VOLTA_DIR="$build" CARGO_TARGET_DIR="$build/cargo"
command -v cargo >/dev/null || { echo "cargo is missing"; exit 77; }
cd "$root/bindings/rust"
if [ "$3" = doc ]; then
    RUSTDOCFLAGS="-D warnings" exec cargo doc --quiet --offline --locked --no-deps
fi
command -v valgrind >/dev/null || { echo "valgrind is missing"; exit 77; }
cargo test --quiet --offline --locked --no-run
cargo build --quiet --offline --locked --example train_gpt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
head -c 4000 "$root/README.md" >"$work/text"
program=$(find "$build/cargo/debug/deps" -name 'volta-*' -type f -perm -100 -newer Cargo.toml -exec grep -l resumes_exactly {} + | xargs ls -t | head -n 1)
# Instructions that valgrind does not know would end the program: kernels of AVX2.
check="valgrind --quiet --error-exitcode=99 --errors-for-leak-kinds=definite --leak-check=full --show-leak-kinds=definite"
$check "$program" --test-threads=1
$check "$build/cargo/debug/examples/train_gpt" "$work/text" "$work/out.volta" 2 >/dev/null
echo "nothing wrong with memory"
