#!/bin/sh
# Debian packages of a commit: deb.sh OUT [COMMIT]. Built from the tarball of dist.sh and packaging/debian, below OUT/work,
# with what the distribution has (packages.txt, group deb); then judged by lintian, where it is installed.
# TWICE=1: and again in another folder, zone and language, without ccache; each package must be the same bytes.
set -eu
out=$1
commit=${2:-HEAD}
top=$(cd "$(dirname "$0")/.." && pwd)
command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null ||
    { echo "debhelper is missing: run 'make deps-deb'" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Packages to try and to install, not to debug: no debug information, which is a third of compiling, and no packages of it.
# packaging/debian/rules says nothing of that: a distribution has both.
DEB_CFLAGS_STRIP=-g
DEB_CXXFLAGS_STRIP=-g
DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS:-}"
export DEB_CFLAGS_STRIP DEB_CXXFLAGS_STRIP DEB_BUILD_OPTIONS
# debhelper gives each build a HOME of its own, and what ccache keeps there ends with the folder.
if command -v ccache >/dev/null 2>&1; then
    CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)}
    export CCACHE_DIR
fi

build() { # FOLDER LOG
    rm -rf "$1"
    mkdir -p "$1"
    tarball=$(sh "$top/tools/dist.sh" "$1" "$commit")
    name=$(basename "$tarball" .tar.gz)
    version=${name#volta-}
    mv "$tarball" "$1/volta_$version.orig.tar.gz"
    tar -xzf "$1/volta_$version.orig.tar.gz" -C "$1"
    cp -r "$1/$name/packaging/debian" "$1/$name/debian"
    (cd "$1/$name" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc ${JOBS:+-j"$JOBS"}) >"$2" 2>&1 ||
        { tail -n 40 "$2"; echo "the packages do not build: $2" >&2; exit 1; }
}

build "$out/work" "$out/log"
rm -f "$out"/*.deb
cp "$out"/work/*.deb "$out"
if command -v lintian >/dev/null 2>&1; then
    # Nothing is uploaded, and no wish for these packages is closed by it. Any other error or warning fails.
    lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --tag-display-limit 0 "$out"/work/*.changes
fi
if [ -n "${TWICE:-}" ]; then
    (export TZ=Asia/Tokyo LC_ALL=C CCACHE_DISABLE=1; build "$out/again/elsewhere" "$out/log.again")
    for package in "$out"/*.deb; do
        cmp "$package" "$out/again/elsewhere/$(basename "$package")" || { echo "two builds differ: $package" >&2; exit 1; }
    done
    echo "built twice, the same bytes"
    rm -rf "$out/again"
fi
ls "$out"/*.deb
