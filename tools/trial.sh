#!/bin/sh
# The lines of docs/install.md in empty roots of a distribution, one for each language, from
# nothing to a model that is trained, saved, read again and writes text. Prints seconds, commands and the hash of each, and
# fails if one fails, if the hashes differ, or if one takes more than 5 commands or 5 minutes.
#     trial.sh SUITE FOLDER PACKAGES [LANGUAGE...]
# SUITE: bookworm, trixie. FOLDER: for the roots; the empty one is made by debootstrap when it is not there. PACKAGES: the
# folder of make deb, with the tarball of make dist. Needs root. MIRROR=URL: of the distribution.
set -eu
[ $# -ge 3 ] || { echo "usage: tools/trial.sh SUITE FOLDER PACKAGES [LANGUAGE...]" >&2; exit 2; }
suite=$1
folder=$2
packages=$3
shift 3
top=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "trial.sh needs root" >&2; exit 1; }
[ $# -gt 0 ] || set -- C C++ Python Rust Go
mkdir -p "$folder"
empty=$folder/$suite
if [ ! -f "$empty/etc/debian_version" ]; then
    command -v debootstrap >/dev/null || { echo "debootstrap is missing" >&2; exit 1; }
    rm -rf "$empty"
    debootstrap --variant=minbase "$suite" "$empty" ${MIRROR:+"$MIRROR"} >"$folder/$suite.log" 2>&1 ||
        { tail -n 5 "$folder/$suite.log"; exit 1; }
fi

root=$folder/$suite.try
leave() { rm -rf --one-file-system "$root"; }
trap leave EXIT

status=0
hashes=
for language in "$@"; do
    # The block of docs/install.md below "LANGUAGE:".
    awk -v start="$language:" '$0 == start { on = 1; next } on && /^```sh/ { code = 1; next } code && /^```/ { exit } code' \
        "$top/docs/install.md" >"$folder/commands"
    [ -s "$folder/commands" ] || { echo "$language: docs/install.md has no lines for it"; status=1; continue; }
    leave
    cp -a "$empty" "$root"
    mkdir -p "$root/volta"
    cp "$packages"/*.deb "$packages"/*.tar.gz "$root/volta"
    head -c 20000 "$top/docs/numerics.md" >"$root/volta/book.txt"
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    { echo "set -e; cd /volta; export HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C"; cat "$folder/commands"; } >"$root/volta/commands"
    begin=$(date +%s)
    # In a namespace of its own, so that nothing that is mounted or started outlives it.
    # shellcheck disable=SC2016 # the inner shell's
    if unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh /volta/commands' sh "$root" \
        >"$folder/$suite.$language.log" 2>&1; then
        seconds=$(($(date +%s) - begin))
        hash=$(sed -n 's/^hash //p' "$folder/$suite.$language.log")
        count=$(wc -l <"$folder/commands" | tr -d ' ')
        echo "$suite $language: $count commands, $seconds s, hash $hash"
        hashes="$hashes $hash"
        [ "$count" -le 5 ] && [ "$seconds" -le 300 ] || { echo "$language: more than 5 commands or 5 minutes"; status=1; }
    else
        tail -n 15 "$folder/$suite.$language.log"
        echo "$suite $language: failed"
        status=1
    fi
done
# shellcheck disable=SC2086 # words
[ "$(printf '%s\n' $hashes | sort -u | wc -l)" -eq 1 ] || { echo "not one hash:$hashes"; status=1; }
exit $status
