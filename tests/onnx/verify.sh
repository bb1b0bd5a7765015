#!/bin/sh
# The conformance cases of ONNX that are on this machine, compared with tests/onnx/expectations.txt: Debian's package
# libonnx-testdata, and onnx/ below VOLTA_TEST_DATA, whose archives are unpacked into a temporary folder.
#     verify.sh RUN_CASES [--write] [--only TEXT]
# The list is of version 1.12 of the package: another one is told and left alone. Exit status 77: there are none.
set -eu
run_cases=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
data=${VOLTA_TEST_DATA:-$here/../../../shared/data}/onnx
debian=/usr/share/libonnx-testdata/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

set -- "$here/expectations.txt" "$@"
version=$(dpkg-query -W -f '${Version}' libonnx-testdata 2>/dev/null || true)
case $version in
1.12*) [ ! -d "$debian" ] || set -- "$@" "debian=$debian" ;;
?*) echo "libonnx-testdata is $version: the list is of 1.12" ;;
esac
if [ -f "$data/onnx-node-cases.tar.gz" ]; then
    for archive in "$data"/onnx-*.tar.gz; do
        tar -xzf "$archive" -C "$work"
    done
    set -- "$@" "further=$work" "mnist=$data/mnist-8" "ultraface=$data/ultraface-slim-320"
fi
case "$*" in
*=*) "$run_cases" "$@" ;;
*)
    echo "no $debian and no $data: install libonnx-testdata, or set VOLTA_TEST_DATA to a folder with onnx/"
    exit 77
    ;;
esac
