#!/bin/sh
# Manual pages and completions say what the commands take: test_manual.sh VOLTAC FOLDER
# What checks them for form is asked where it is installed: man, groff, mandoc, bash, zsh, fish.
set -u
voltac=$1
folder=$2
. "$(dirname "$0")/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

commands=$("$voltac" --help | sed -n 's/^ *voltac \([a-z]*\) .*/\1/p' | sort -u)
benchmarks=$("$voltac" bench --help | sed -n 's/^ *voltac bench \([a-z]*\) .*/\1/p' | sort -u)
[ "$(echo "$commands" | wc -l)" -gt 10 ] || bad "only these commands: $commands"
[ "$(echo "$benchmarks" | wc -l)" -gt 4 ] || bad "only these benchmarks: $benchmarks"

# Every option of --help is on the page and in each completion.
checked=0
page_of() { # PAGE COMMAND...
    page=$folder/voltac-$1.1
    shift
    [ -f "$page" ] || { bad "there is no $page"; return; }
    case "$*" in help | bench | checkpoint | tune) return ;; esac
    options=$("$voltac" "$@" --help | grep -oE '^ *--[a-z][a-z0-9-]*' | tr -d ' ' | sort -u)
    for option in $options; do
        grep -qF -- "$(printf '%s' "$option" | sed 's/^--/\\-\\-/')" "$page" || bad "$page lacks $option"
        grep -F "'$*')" "$folder/voltac.bash" | grep -qE -- " $option[ ']" || bad "voltac.bash: $* lacks $option"
        grep -qF -- "'__voltac_of $*' -l ${option#--} " "$folder/voltac.fish" || bad "voltac.fish: $* lacks $option"
        awk -v start="'$*') _arguments" 'index($0, start) { on = 1 } on { print } on && / ;;$/ { exit }' "$folder/_voltac" |
            grep -qE -- "'\*${option}(=|)\[" || bad "_voltac: $* lacks $option"
        checked=$((checked + 1))
    done
}
for command in $commands; do page_of "$command" "$command"; done
for benchmark in $benchmarks; do page_of "bench-$benchmark" bench "$benchmark"; done
[ $checked -gt 100 ] || bad "only $checked options were looked at"
page_of tune-matmul tune matmul
for part in merge split verify; do page_of "checkpoint-$part" checkpoint "$part"; done
for page in "$folder"/*.1; do
    name=$(basename "$page" .1)
    [ "$name" = voltac ] || grep -q "^.BR $(echo "$name" | sed 's/-/\\\\-/g') (1)" "$folder/voltac.1" || bad "voltac.1 does not name $name"
done

# Their form.
has() { command -v "$1" >/dev/null 2>&1; }
for page in "$folder"/*.1; do
    if has groff; then
        groff -ww -man -Tutf8 -z "$page" 2>&1 | grep . && bad "groff warns of $page"
    fi
    if has man; then
        LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | grep . && bad "man warns of $page"
    fi
    if has mandoc; then
        # A page has no date, since nothing in a build knows one.
        mandoc -T lint -W warning "$page" | grep -v 'missing date' | grep . && bad "mandoc warns of $page"
    fi
done
for shell in bash zsh fish; do
    file=$folder/voltac.$shell
    [ $shell != zsh ] || file=$folder/_voltac
    [ -s "$file" ] || bad "there is no $file"
    if has $shell; then $shell -n "$file" || bad "$shell does not read $file"; fi
done

# What bash offers: completed WORDS... gives the offers for the last word.
if has bash; then
    cat >complete.bash <<'BASH'
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_voltac
printf '%s ' "${COMPREPLY[@]}"
BASH
    offers() {
        expected=$1
        shift
        expect "offers of: $*" "$expected" "$(bash complete.bash "$folder/voltac.bash" "$@")"
    }
    offers "train " voltac tr
    offers "--threads " voltac generate book.volta --thr
    offers "scalar " voltac train --isa s
    offers "scalar " voltac train --isa = s
    offers "cpu cuda " voltac train --device c
    offers "matmul memory " voltac bench m
    offers "--prompt-tokens " voltac bench infer --prompt
    offers " " voltac bench infer --steps
    offers "quantize " voltac help q
    offers " " voltac train --text boo
    offers " " voltac info boo
fi
if has zsh; then
    zsh -fc 'autoload -Uz compinit; compinit -D -u; source "$1" 2>/dev/null; whence _voltac >/dev/null' zsh "$folder/_voltac" ||
        bad "zsh does not define _voltac"
fi
if has fish; then
    HOME=$work fish -N -c 'source $argv[1]; complete -C "voltac tr" | string split \t -f 1; complete -C "voltac train --isa s" | string split \t -f 1; complete -C "voltac bench infer --prompt-t" | string split \t -f 1' "$folder/voltac.fish" >fish.out 2>&1
    expect "offers of fish" "train scalar --prompt-tokens" "$(tr '\n' ' ' <fish.out | sed 's/ $//')"
fi
[ $failed -eq 0 ] && echo "$checked options are on their pages and in three completions"
exit $failed
