#!/bin/sh
# A check that cannot fail proves nothing: runs a check on a fixture with one violation and passes only if it fails
# and names it.
#     expect_failure.sh PATTERN CHECK ARGUMENT...
set -eu
pattern=$1
shift
if output=$(sh "$@" 2>&1); then
    echo "passed, but should have found: $pattern"
    exit 1
fi
printf '%s\n' "$output" | grep -qE -e "$pattern" && exit 0
echo "failed, but for another reason than: $pattern"
printf '%s\n' "$output"
exit 1
