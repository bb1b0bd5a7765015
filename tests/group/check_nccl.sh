#!/bin/sh
# What is declared of NCCL, against a real one: check_nccl.sh COMPILER OPEN_NCCL
# It is looked for in VOLTA_NCCL, a folder with include/nccl.h and lib/libnccl.so.2 as PyPI's nvidia-nccl-cu12 has it,
# in that package of python3, and in /usr. Exit status 77: there is none.
set -eu
compiler=$1 open_nccl=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
package=$(python3 -c 'import os, nvidia.nccl as n; print(os.path.dirname(n.__file__) if n.__file__ else list(n.__path__)[0])' 2>/dev/null || true)
for folder in "${VOLTA_NCCL:-}" "$package" /usr; do
    [ -n "$folder" ] && [ -f "$folder/include/nccl.h" ] || continue
    "$compiler" -std=c++17 -fsyntax-only -Wall -Wextra -Werror -I "$top" -I "$top/include" -I "$top/tests/group/nccl" \
        -isystem "$folder/include" "$top/tests/group/nccl/nccl_abi.cpp"
    echo "$folder/include/nccl.h: the same interface"
    for library in "$folder/lib/libnccl.so.2" "$folder/lib/x86_64-linux-gnu/libnccl.so.2"; do
        [ ! -f "$library" ] || exec "$open_nccl" "$library"
    done
    echo "$folder has no library"
    exit 0
done
echo "no NCCL was found: VOLTA_NCCL may name its folder (PyPI: nvidia-nccl-cu12)"
exit 77
