#!/bin/sh
# Tables of the documentation that are printed by the code: a table stands between the comments NAME:begin and
# NAME:end of a page, or is the whole page, and must be what `print_tables NAME` prints.
#     check_tables.sh PRINT_TABLES ROOT [--write]
set -eu
print_tables=$1
cd "$2"
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# with_table NAME PAGE: the page with the table $work/table in its place.
with_table() {
    awk -v name="$1" -v table="$work/table" '
        index($0, "<!-- " name ":end -->") { inside = 0; ended = 1 }
        !inside { print }
        index($0, "<!-- " name ":begin -->") { inside = 1; while ((getline line < table) > 0) print line }
        END { if (!ended) exit 1 }
    ' "$2"
}

while read -r name page place; do
    "$print_tables" "$name" >"$work/table"
    case $place in
        whole) cp "$work/table" "$work/page" ;;
        part) with_table "$name" "$page" >"$work/page" ||
            { echo "$page has no place for the table $name"; failed=1; continue; } ;;
    esac
    cmp -s "$work/page" "$page" && continue
    if [ "${3-}" = --write ]; then
        cp "$work/page" "$page"
        echo "wrote the table $name of $page"
    else
        echo "$page: the table $name is not what the code says; run 'make docs-tables'"
        diff "$page" "$work/page" | head -n 10
        failed=1
    fi
done <<TABLES
special docs/numerics.md part
elementwise docs/numerics.md part
polynomials docs/numerics.md part
operators docs/operators.md whole
passes docs/architecture.md part
families docs/import.md part
imports docs/import.md part
capabilities docs/capabilities.md part
onnx docs/onnx.md part
written docs/onnx.md part
patterns docs/onnx.md part
reasons docs/compile.md part
TABLES
[ "$failed" -eq 0 ]
