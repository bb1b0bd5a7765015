#!/bin/sh
# What `cmake --install` puts where is what files.txt says; it comes to lie in TO, moved there from where it was made for.
# What uninstall.sh leaves of another one is nothing.
#     install.sh BUILD ROOT TO VERSION
set -eu
build=$1
root=$2
to=$3
version=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$build/install_manifest.txt" "$work/kept" 2>/dev/null || true
DESTDIR="$work/stage" cmake --install "$build" --prefix /opt/volta >"$work/log" || { cat "$work/log"; exit 1; }
(cd "$work/stage/opt/volta" && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort) >"$work/found"
sed "s/VERSION/$version/; /^#/d" "$root/tests/install/files.txt" | LC_ALL=C sort >"$work/expected"
diff "$work/expected" "$work/found" || { echo "an installation is not what tests/install/files.txt says"; exit 1; }

# No file says where it was made, or where it was made for.
if grep -rlIF -e "$build" -e "$root/" -e /opt/volta "$work/stage"; then
    echo "these files know a place of this machine"
    exit 1
fi
rm -rf "$to"
mkdir -p "$(dirname "$to")"
cp -a "$work/stage/opt/volta" "$to"

sh "$root/tools/uninstall.sh" "$build" "$work/stage" >"$work/log" || { cat "$work/log"; exit 1; }
left=$(find "$work/stage" ! -type d)
[ -z "$left" ] || { echo "left by uninstall.sh: $left"; exit 1; }
left=$(find "$work/stage" -type d -path '*/volta' ! -path "$work/stage/opt/volta")
[ -z "$left" ] || { echo "folders left by uninstall.sh: $left"; exit 1; }
if [ -f "$work/kept" ]; then cp "$work/kept" "$build/install_manifest.txt"; else rm -f "$build/install_manifest.txt"; fi
echo "$(wc -l <"$work/expected" | tr -d ' ') files"
