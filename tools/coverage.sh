#!/bin/sh
# Line coverage per folder of a build folder made with --coverage: tools/coverage.sh [--least PERCENT] BUILD [FILE-PATTERN]
# Fails where less of all lines ran than PERCENT.
# A line of a header counts as run if it ran in any translation unit. With a pattern, files that match it are
# listed with their lines that never ran.
set -eu
least=0
[ "$1" != --least ] || { least=$2; shift 2; }
build=$(cd "$1" && pwd)
pattern=${2-}
top=$(cd "$(dirname "$0")/.." && pwd)

# Objects without .gcda were never loaded: gcov reads the .gcno alone and reports their lines as not run.
cd "$build"
find . -name '*.gcno' ! -path './tests/*' ! -path './examples/*' | sort | while read -r notes; do
    gcov --stdout --relative-only --source-prefix "$top" "$notes" 2>/dev/null || true
done | awk -v pattern="$pattern" -v least="$least" '
    /^ +-: +0:Source:/ { file = $0; sub(/^.*Source:/, "", file); next }
    {
        split($0, part, ":"); count = part[1]; line = part[2] + 0
        gsub(/[ *]/, "", count)
        if (line == 0 || count == "-" || count == "") next
        key = file ":" line
        if (!(key in ran)) ran[key] = 0
        if (count != "#####" && count != "=====") ran[key] = 1
    }
    END {
        for (key in ran) {
            file = key; sub(/:[0-9]+$/, "", file)
            folder = file; if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
            lines[folder]++; hit[folder] += ran[key]; all++; all_hit += ran[key]
            if (pattern != "" && file ~ pattern && !ran[key]) print "never ran " key | "sort -t: -k1,1 -k2n"
        }
        close("sort -t: -k1,1 -k2n")
        if (all == 0) { print "no coverage data found"; exit 1 }
        printf "%-28s %8s %8s %7s\n", "folder", "lines", "run", "%"
        for (folder in lines)
            printf "%-28s %8d %8d %6.1f%%\n", folder, lines[folder], hit[folder], 100 * hit[folder] / lines[folder] | "sort"
        close("sort")
        printf "%-28s %8d %8d %6.1f%%\n", "all", all, all_hit, 100 * all_hit / all
        if (100 * all_hit < least * all) { printf "less than the %s%% that are asked for\n", least; exit 1 }
    }'
