#!/bin/sh
# Targets of the Makefile that build in the folder build without tests leave tests there that were asked for before, and
# ask for none in a new folder: check_make.sh ROOT
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1/Makefile" "$work"

# What each target would run, in a folder that has the options given.
options() { # TARGET
    make --no-print-directory -n -C "$work" DEPS=no "$1" 2>/dev/null | grep -oE -- '-B build |-DVOLTA_TESTS=[A-Z]+' | tr -d '\n'
}

for target in all demo install wheel parity determinism-repeats; do
    rm -rf "$work/build"
    found=$(options $target)
    [ "$found" = "-B build -DVOLTA_TESTS=OFF" ] || { echo "make $target in a new tree configures '$found'"; exit 1; }
    mkdir "$work/build"
    echo "VOLTA_TESTS:BOOL=ON" >"$work/build/CMakeCache.txt"
    found=$(options $target)
    [ "$found" = "-B build " ] || { echo "make $target takes tests away: '$found'"; exit 1; }
done
echo "no target takes tests from the folder build"
