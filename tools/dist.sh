#!/bin/sh
# The source of a commit as one file, the same bytes wherever and whenever it is made: dist.sh OUT [COMMIT]
# Of the commit (HEAD) are names, contents, modes and the time; uncommitted changes are not in it.
set -eu
out=$1
commit=${2:-HEAD}
top=$(cd "$(dirname "$0")/.." && pwd)
git -C "$top" rev-parse --quiet --verify "$commit^{commit}" >/dev/null 2>&1 ||
    { echo "a source tarball is made of a commit: there is no commit $commit in $top" >&2; exit 1; }
version=$(git -C "$top" show "$commit:CMakeLists.txt" | sed -n 's/^project(volta VERSION \([0-9.]*\).*/\1/p')
name=volta-$version
mkdir -p "$out"
git -C "$top" diff --quiet "$commit" -- || echo "uncommitted changes are not in it" >&2
git -C "$top" -c tar.umask=0022 archive --format=tar --prefix="$name/" "$commit" >"$out/$name.tar"
gzip -9 -n -f "$out/$name.tar"
echo "$out/$name.tar.gz"
