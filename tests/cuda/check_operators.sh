#!/bin/sh
# Device code may round by intrinsics only: builds it with floats that have no operators.
#     check_operators.sh CXX ROOT FILE.cu...
set -eu
cxx=$1 root=$2
shift 2
[ $# -gt 0 ] || { echo "usage: check_operators.sh CXX ROOT FILE..." >&2; exit 2; }
for file in "$@"; do
    "$cxx" -std=c++17 -fsyntax-only -I "$root" -include "$root/tests/cuda/strict_floats.h" -x c++ "$file"
done
echo "$# files name every rounding"
