#!/bin/sh
# Thresholds of products are constants of gemm/rules.cpp or columns of gemm/machine.h: no other file of that folder
# names a number, unless a comment on its line begins with "fixed:" and says why it is none.
#     check_thresholds.sh ROOT
set -eu
cd "$1"
failed=0
for file in engine/backend/cpu/gemm/*.h engine/backend/cpu/gemm/*.cpp; do
    [ -f "$file" ] || continue
    case $file in
        */rules.cpp | */machine.h | */machine.cpp) continue ;;
    esac
    found=$(grep -nE 'constexpr[^(]*\bk[A-Z][A-Za-z0-9]* *= *-?[0-9(]' "$file" | grep -v '// fixed:' || true)
    [ -z "$found" ] && continue
    echo "$found" | while IFS= read -r line; do echo "$file:${line%%:*}: a threshold outside of rules.cpp and machine.h: ${line#*:}"; done
    failed=1
done
[ "$failed" -eq 0 ]
