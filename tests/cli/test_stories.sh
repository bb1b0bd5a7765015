#!/bin/sh
# A trained model of another program says, from the start of a text and always the likeliest next, what it is known to
# say, byte for byte.
#     test_stories.sh PATH_OF_VOLTAC
set -eu
voltac=$1
data=${VOLTA_TEST_DATA:-$(cd "$(dirname "$0")/../.." && pwd)/../shared/data}/stories260K
if [ ! -r "$data/stories260K.bin" ]; then
    echo "no $data: set VOLTA_TEST_DATA to a folder with stories260K/"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
"$voltac" convert "$data/stories260K.bin" --tokenizer "$data/tok512.bin" --out "$work/m.volta" >"$work/hash"
"$voltac" hash "$work/m.volta" | cmp - "$work/hash"
"$voltac" generate "$work/m.volta" --temperature 0 --tokens 200 >"$work/text"
cmp "$data/expected_greedy_200.txt" "$work/text"
echo "stories260K tells its story"
