#!/bin/sh
# The documentation points at things that exist: links between pages, `make` targets, files and folders in backquotes,
# functions and constants of volta.h, tests; layers are those of layers.txt, and what a page calls absent is no
# operator. It cannot know whether a page is true; it knows when a name has moved.
#     check_docs.sh ROOT
set -eu
cd "$1"
# docs/reference is printed from the headers, with links that its printer knows (make docs checks them).
pages=$(find . -maxdepth 1 -name '*.md'; find docs schemas engine -path docs/reference -prune -o -name '*.md' -print 2>/dev/null || true)
[ -n "$pages" ] || { echo "no pages found: wrong folder?"; exit 1; }

scratch=${TMPDIR:-/tmp}/docs.$$
trap 'rm -f "$scratch" "$scratch.names" "$scratch.rule" "$scratch.page"' EXIT
{
    grep -ohE 'VOLTA_[A-Z0-9_]+' include/*.h
    [ ! -d tests ] || grep -rohIE --exclude-dir=fixtures '(test_[a-z0-9_]+|VOLTA_[A-Z0-9_]+)' tests
    [ ! -d tests ] || find tests -name 'test_*' | sed 's#.*/##; s/[.].*//'
} | sort -u >"$scratch.names" || true
for page in $pages; do
    folder=$(dirname "$page")
    # Links: [text](target), targets inside the repository.
    grep -noE '\]\([^)# ]+[^) ]*\)' "$page" | sed 's/](//; s/)$//' | while IFS=: read -r line target; do
        case $target in http://* | https://* | mailto:*) continue ;; esac
        file=${target%%#*}
        [ -e "$folder/$file" ] || echo "$page:$line: link to $target, which does not exist"
        anchor=${target#"$file"}
        [ -z "$anchor" ] && continue
        grep -E '^#+ ' "$folder/$file" | sed 's/^#* //' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n_-' |
            grep -qxF -e "${anchor#\#}" || echo "$page:$line: no heading for $target"
    done
    # Commands: make <target>, in backquotes or at the start of a line of a code block.
    awk '/^```/ { code = !code; next }
         code && /^make [a-z]/ { print FNR ":" $2; next }
         { rest = $0; while (match(rest, /`make [a-z][a-z-]*/)) {
               print FNR ":" substr(rest, RSTART + 6, RLENGTH - 6); rest = substr(rest, RSTART + RLENGTH) } }' "$page" |
        while IFS=: read -r line target; do
            grep -qE "^$target:" Makefile || echo "$page:$line: make $target is no target"
        done
    # Paths in backquotes that start with a folder of this repository.
    grep -noE '`(engine|jitgen|data|include|cli|tests|tools|fuzz|bench|schemas|examples|docs)/[A-Za-z0-9_./-]*`' "$page" | tr -d '`' |
        while IFS=: read -r line path; do
            [ -e "$path" ] || echo "$page:$line: $path does not exist"
        done
    # Witnesses: a file or a function of the tests. Constants: of the public header, or of the tests. Not in history.
    [ "$page" = ./CHANGELOG.md ] || grep -noE '`(test_[a-z0-9_]+|VOLTA_[A-Z0-9_]+)`' "$page" | tr -d '`' | while IFS=: read -r line name; do
        grep -qxF -e "$name" "$scratch.names" || echo "$page:$line: $name is neither in volta.h nor in the tests"
    done
    # What a page calls not in the library yet: <!-- absent: WORDS -->, words of which operators' names are made.
    grep -noE '<!-- absent: [a-z0-9_ ]+ -->' "$page" | sed 's/<!-- absent: //; s/ -->//' | while IFS=: read -r line words; do
        for word in $words; do
            grep -oE '^\| `[a-z0-9_]+`' docs/operators.md | tr -d '|` ' | grep -E "(^|_)$word(_|[0-9]|\$)" |
                sed "s#.*#$page:$line: called absent, but there is an operator &#"
        done
    done
    # Folders and their layers: "| N | `folder` |" is what layers.txt says, and every folder of it stands there.
    case $page in
        */architecture.md)
            sed -nE 's/^([0-9]+) *\| *([a-z/]+) *\|.*/| \1 | `\2` |/p' tests/architecture/layers.txt | LC_ALL=C sort >"$scratch.rule"
            grep -oE '^\| [0-9]+ \| `[a-z/]+` \|' "$page" | LC_ALL=C sort >"$scratch.page" || true
            LC_ALL=C comm -3 "$scratch.rule" "$scratch.page" | tr -d '\t' | sed "s#.*#$page: & stands here or in layers.txt, not in both#" ;;
    esac
    # Functions of the public header.
    grep -noE 'volta_[a-z0-9_]+ *\(' "$page" | tr -d ' (' | while IFS=: read -r line name; do
        grep -qE "(^|[^a-z_])$name\(" include/*.h || echo "$page:$line: $name is not in volta.h"
    done
done >"$scratch"
# Decisions that sources cite, as reasons or as the evidence of a rule.
for folder in engine jitgen data bench cli; do
    [ ! -d "$folder" ] || grep -rnoIE 'decisions/[0-9]{4}[a-z0-9-]*(\.md)?' "$folder" | while IFS=: read -r file line page; do
        ls docs/"${page%.md}"*.md >/dev/null 2>&1 || echo "$file:$line: cites $page, which does not exist"
    done
done >>"$scratch"

cat "$scratch"
[ ! -s "$scratch" ] || exit 1
echo "$(printf '%s\n' "$pages" | wc -l | tr -d ' ') pages point at things that exist"
