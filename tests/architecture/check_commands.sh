#!/bin/sh
# The calls of voltac that pages show exist: in lines of code blocks and in backquotes, every command is one and every
# option is in its help. What stands behind the -- of launch is a call of its own.
#     check_commands.sh VOLTAC ROOT
set -eu
voltac=$1
cd "$2"
work=${TMPDIR:-/tmp}/commands.$$
mkdir "$work"
trap 'rm -rf "$work"' EXIT

pages=$(find . -maxdepth 1 -name '*.md' ! -name CHANGELOG.md; find docs schemas -maxdepth 1 -name '*.md' 2>/dev/null || true)
# "PAGE voltac COMMAND ...": comments of code blocks are dropped, calls in backquotes may go on in the next line.
for page in $pages; do
    awk -v page="$page" '
        /^```/ { code = !code; next }
        code { sub(/[ \t]#.*/, ""); if ($1 == "voltac") print page, $0; next }
        /^ *$/ { text = text "`\n" ; next }
        { text = text " " $0 }
        END { count = split(text, piece, "`"); for (i = 1; i <= count; ++i) if (piece[i] ~ /^voltac [a-z]/) print page, piece[i] }' "$page"
done | tr -d "'" | sed 's/^\([^ ]*\) voltac launch \(.*\) -- \(.*\)$/\1 voltac launch \2\n\1 voltac \3/' >"$work/calls"
[ -s "$work/calls" ] || { echo "no calls found: wrong folder?"; exit 1; }

help_of() { # COMMAND [NAME]: its help, kept
    [ -f "$work/$1.${2:-}" ] || "$voltac" "$1" ${2:+"$2"} --help >"$work/$1.${2:-}" 2>/dev/null || : >"$work/$1.${2:-}"
    cat "$work/$1.${2:-}"
}
while read -r page _ names rest; do
    for name in $(printf '%s' "$names" | tr '|' ' '); do
        second=
        # shellcheck disable=SC2086
        set -- $rest
        case $name:${1:-} in bench:[a-z]*) second=$1 ;; esac
        [ "$name" = help ] && continue
        [ -n "$(help_of "$name" "$second")" ] || { echo "$page: voltac $name $second is no command"; continue; }
        for option in $(printf ' %s' "$rest" | grep -oE '[ [(]--[a-z][a-z0-9-]*' | tr -d ' [('); do
            # `voltac bench --level` says of every suite what its own help says.
            [ "$name" = bench ] && [ -z "$second" ] && second=train
            help_of "$name" "$second" | grep -qE -e "(^|[^a-z-])$option([^a-z0-9-]|\$)" ||
                echo "$page: voltac $name${second:+ $second} has no option $option"
        done
    done
done <"$work/calls" >"$work/wrong"
sort -u "$work/wrong"
[ ! -s "$work/wrong" ] || exit 1
echo "$(wc -l <"$work/calls" | tr -d ' ') calls of voltac are what its help says"
