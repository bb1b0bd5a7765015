#!/bin/sh
# libvolta_data.a is enough: a C program links with it and the flags of the pkg-config file alone and runs, also beside
# libvolta.a, and no name of the decoders that lie in it is in a host's way.
#     check_data_archive.sh BUILD-FOLDER ROOT [COMPILER]
set -eu
build=$1
root=$2
compiler=${3:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=$(sed -n 's/^Libs.private: //p' "$build/packaging/volta_data.pc")
[ -n "$flags" ] || { echo "packaging/volta_data.pc names no Libs.private"; exit 1; }
mkdir -p "$work/set/photos" "$work/set/drawings"
cp "$root"/tests/data/files/*.jpg "$work/set/photos" && cp "$root"/tests/data/files/rgb*.png "$work/set/drawings"
for beside in "" "$build/libvolta.a"; do
    "$compiler" -std=c99 -I"$root/include" -o "$work/load" "$root/examples/c/load_pictures.c" "$build/libvolta_data.a" $beside $flags ||
        { echo "libvolta_data.a does not link with $beside $flags"; exit 1; }
    "$work/load" "$work/set" >"$work/out" 2>"$work/log" || { cat "$work/log"; exit 1; }
done
cat "$work/out"
grep -q 'skipped: .*rgb16.png' "$work/log" || { echo "the picture of 16 bits was not skipped by name"; exit 1; }
foreign=$(nm -g --defined-only "$build/libvolta_data.a" 2>/dev/null |
    awk 'NF == 3 && $3 ~ /^_?(jpeg_|jinit|jsimd_|png_|inflate|deflate|adler32|crc32)/ { print $3 }' | sort -u | head -n 3)
[ -z "$foreign" ] || { echo "libvolta_data.a has names of its decoders:" $foreign; exit 1; }
echo "libvolta_data.a links with $flags"
