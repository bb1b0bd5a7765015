#!/bin/sh
# Line coverage per folder of a build folder made with --coverage:
#     tools/coverage.sh [--least PERCENT] [--folder PATTERN=PERCENT]... BUILD [FILE-PATTERN]
# Fails where less of all lines ran than --least says, or less of the lines of all folders that match a PATTERN together.
# A line of a header counts as run if it ran in any translation unit. A line with the comment "unreachable: REASON" cannot
# run, or no test can make it: it is not counted, and said how many there are; where the comment has a line of its own, the
# statement or the block below it is meant. One that ran is named: its reason does not hold on this machine. A statement
# fail(VOLTA_INTERNAL, ...) that did not run needs no comment: the status says that a mistake of the library alone gets
# there. Nor are lines counted that are nothing but closing brackets: what gcov has there is the cleaning up after an
# exception, and lines that open a class: what it has there are functions of the compiler's own. With a FILE-PATTERN,
# files that match it are listed with their lines that never ran.
set -eu
least=0
folders=
while [ $# -gt 0 ]; do
    case $1 in
        --least) least=$2 ;;
        --folder) folders="$folders $2" ;;
        *) break ;;
    esac
    shift 2
done
build=$(cd "$1" && pwd)
pattern=${2-}
top=$(cd "$(dirname "$0")/.." && pwd)

# Objects without .gcda were never loaded: gcov reads the .gcno alone and reports their lines as not run.
cd "$build"
find . -name '*.gcno' ! -path './tests/*' ! -path './examples/*' | sort | while read -r notes; do
    gcov --stdout --relative-only --source-prefix "$top" "$notes" 2>/dev/null || true
done | awk -v pattern="$pattern" -v least="$least" -v folders="$folders" '
    /^ +-: +0:Source:/ { file = $0; sub(/^.*Source:/, "", file); below = mistake = 0; next }
    /^-+$/ { below = mistake = 0; next } # the same lines once more, of one instance of a template
    {
        split($0, part, ":"); count = part[1]; line = part[2] + 0; text = $0
        gsub(/[ *]/, "", count); sub(/^[^:]*:[^:]*:/, "", text)
        if (line == 0) next
        if (text ~ /^ *\/\/ unreachable: /) { below = 1; next }
        if (text ~ /^ *\/\//) next
        is_marked = below || text ~ /\/\/.*unreachable: /
        indent = match(text, /[^ ]/)
        if (below == 1) { end = text ~ /\{ *(\/\/.*)?$/ ? "}" : ";"; first = indent; below = 2 }
        else if (below && end == "}" && indent == first && text ~ /^ *\}/) below = 0
        if (below && end == ";" && text ~ /; *(\/\/.*)?$/) below = 0
        if (text ~ /fail\(VOLTA_INTERNAL/) mistake = 1
        is_mistake = mistake
        if (mistake && text ~ /; *\}?$/) mistake = 0
        if (count == "-" || count == "" || text ~ /^ *\}[]});, ]*$/) next
        if (text ~ /^ *(class|struct) [^()=;]*\{ *(\/\/.*)?$/) next
        key = file ":" line; does_run = count != "#####" && count != "====="
        if (is_marked) { marked[key] = 1; if (does_run) wrong[key] = 1; next }
        if (is_mistake) mistakes[key] = 1
        if (!(key in ran)) ran[key] = 0
        if (does_run) ran[key] = 1
    }
    END {
        for (key in mistakes) if (!ran[key]) { marked[key] = 1; delete ran[key] }
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
        for (key in marked) unreachable++
        printf "%d lines are marked as unreachable\n", unreachable
        for (key in wrong) print key " is marked as unreachable, and ran here"
        if (100 * all_hit < least * all) { printf "less than the %s%% that are asked for\n", least; failed = 1 }
        count = split(folders, wanted, " ")
        for (i = 1; i <= count; ++i) {
            split(wanted[i], pair, "=")
            sum = sum_hit = 0
            for (folder in lines) if (folder ~ ("^(" pair[1] ")$")) { sum += lines[folder]; sum_hit += hit[folder] }
            if (sum == 0) { printf "no folder matches %s\n", pair[1]; failed = 1; continue }
            short = 100 * sum_hit < pair[2] * sum
            printf "%-28s %8d %8d %6.1f%%%s\n", pair[1], sum, sum_hit, 100 * sum_hit / sum,
                short ? ", less than the " pair[2] "% that are asked for" : ""
            failed = failed || short
        }
        if (failed) exit 1
    }'
