#!/bin/sh
# libvolta.a is enough: a C program links with it and the flags of the pkg-config file alone and runs.
#     check_archive.sh BUILD-FOLDER ROOT [COMPILER]
set -eu
build=$1
root=$2
compiler=${3:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=$(sed -n 's/^Libs.private: //p' "$build/packaging/volta.pc")
[ -n "$flags" ] || { echo "packaging/volta.pc names no Libs.private"; exit 1; }
for documented in $flags; do
    grep -qF -e "libvolta.a" "$root/README.md" && grep -qF -e "$documented" "$root/README.md" ||
        { echo "README.md does not say that libvolta.a needs $documented"; exit 1; }
done
"$compiler" -std=c99 -I"$root/include" -o "$work/train_mlp" "$root/examples/c/train_mlp.c" "$build/libvolta.a" $flags ||
    { echo "libvolta.a does not link with $flags"; exit 1; }
"$work/train_mlp" "$work/mlp.volta" >"$work/out" || { cat "$work/out"; exit 1; }
echo "libvolta.a links with $flags"
