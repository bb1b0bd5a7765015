#!/bin/sh
# Debian packages of a commit: deb.sh OUT [COMMIT]. Built from the tarball of dist.sh and packaging/debian, below OUT/work,
# with what the distribution has (packages.txt, group deb); then judged by lintian, where it is installed.
set -eu
out=$1
commit=${2:-HEAD}
top=$(cd "$(dirname "$0")/.." && pwd)
command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null ||
    { echo "debhelper is missing: run 'make deps-deb'" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -rf "$out/work"
mkdir -p "$out/work"
tarball=$(sh "$top/tools/dist.sh" "$out/work" "$commit")
name=$(basename "$tarball" .tar.gz)
version=${name#volta-}
mv "$tarball" "$out/work/volta_$version.orig.tar.gz"
tar -xzf "$out/work/volta_$version.orig.tar.gz" -C "$out/work"
cp -r "$out/work/$name/packaging/debian" "$out/work/$name/debian"
(cd "$out/work/$name" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc ${JOBS:+-j"$JOBS"}) >"$out/log" 2>&1 ||
    { tail -n 40 "$out/log"; echo "the packages do not build: $out/log" >&2; exit 1; }
rm -f "$out"/*.deb
cp "$out"/work/*.deb "$out"
if command -v lintian >/dev/null 2>&1; then
    # On its own list of tags no package of a tree that is nobody's upload passes: an error fails, the rest is printed.
    lintian --fail-on error --tag-display-limit 0 "$out"/work/*.changes
fi
ls "$out"/*.deb
