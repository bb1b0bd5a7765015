# shellcheck shell=sh
# The interface of a header as a library, for abidw and abidiff: its functions do nothing, its types are the header's.
# Sourced.     stub ROOT CC NAME OUT

stub() {
    map=$1/engine/api/api.map
    [ "$3" = volta ] || map=$1/data/data.map
    python3 -B "$1/tools/check_abi.py" --root "$1" --stub "$3" >"$4.c"
    # One folder, one name and no lines: the description is the same wherever it is made.
    (cd "$(dirname "$4")" && "$2" -std=c99 -g -O0 -fPIC -fdebug-prefix-map="$(pwd)=." -fdebug-prefix-map="$1=." -I"$1/include" -shared \
        -Wl,--version-script="$map" -Wl,-soname="lib$3.so.1" -o "$4" "$4.c")
}
