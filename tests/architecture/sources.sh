# Sourced by the checks: `sources FOLDER...` lists the C and C++ files of a tree, in a stable order.
sources() {
    for folder in "$@"; do
        [ -d "$folder" ] && find "$folder" -type d -name fixtures -prune -o -type f \
            \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) -print
    done | LC_ALL=C sort
}

# `code FILE`: the file without comments and without the text of literals, one line per line.
code() {
    awk -f "$here/strip_comments.awk" "$1"
}
