#!/bin/sh
# The source tarball is the same bytes from another clone, in another folder, zone, language and umask; it holds the commit's
# files and nothing else; and without git it configures. With "build" it is built, and its first example runs.
#     dist.sh ROOT [build]
set -eu
root=$1
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: $root is no clone"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

first=$(sh "$root/tools/dist.sh" "$work/first" 2>/dev/null)
git clone --quiet --no-checkout "$root" "$work/clone"
git -C "$work/clone" -c core.autocrlf=false checkout --quiet "$(git -C "$root" rev-parse HEAD)"
cp "$root/tools/dist.sh" "$work/clone/tools/dist.sh" # of this tree, committed or not
second=$(umask 077 && cd / && TZ=Asia/Tokyo LC_ALL=C GZIP='' sh "$work/clone/tools/dist.sh" "$work/second" HEAD 2>/dev/null)
cmp "$first" "$second" || { echo "two tarballs of one commit differ"; exit 1; }

name=$(basename "$first" .tar.gz)
tar -tzf "$first" | sed -n "s|^$name/||p" | grep -v '/$' | grep . | LC_ALL=C sort >"$work/has"
git -C "$root" ls-tree -r --name-only -z HEAD | tr '\0' '\n' | LC_ALL=C sort >"$work/must"
cmp "$work/must" "$work/has" || { echo "the tarball does not hold the commit's files"; exit 1; }

# Without git: a program of that name fails and says so.
mkdir "$work/bin"
printf '#!/bin/sh\necho used >>"%s"\nexit 1\n' "$work/git" >"$work/bin/git"
chmod +x "$work/bin/git"
PATH=$work/bin:$PATH
export PATH
tar -xzf "$first" -C "$work"
if [ "${2:-}" = build ]; then
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$work/$name" DEPS=no all >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
    "$work/$name/build/voltac" doctor
else
    cmake -S "$work/$name" -B "$work/build" -DVOLTA_TESTS=OFF >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
fi
[ ! -e "$work/git" ] || { echo "the build asked for git"; exit 1; }
echo "$name: $(wc -c <"$first" | tr -d ' ') bytes, twice the same"
