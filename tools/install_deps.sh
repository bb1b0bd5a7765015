#!/bin/sh
# Installs what is missing of packages.txt: tools/install_deps.sh build test ...
# Asks dpkg-query first and touches the network only if something is missing. Without the rights to install it
# prints the one command to run and stops with status 1. Packages of a need that ends in "?" are left out, by name,
# where the distribution does not have them.
set -eu

list=$(dirname "$0")/../packages.txt
[ $# -gt 0 ] || { echo "usage: install_deps.sh GROUP..." >&2; exit 2; }

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This system has no dpkg: install the packages of packages.txt in your own way, then use make DEPS=no." >&2
    exit 1
fi

# The packages of the groups asked for, one a line; optional ones with a "?" behind.
wanted=$(awk -F'|' -v groups="$*" '
    BEGIN { count = split(groups, names, " "); for (i = 1; i <= count; ++i) asked[names[i]] = 1 }
    /^[ \t]*(#|$)/ { next }
    { gsub(/[ \t]/, "", $1); gsub(/[ \t]/, "", $2); mark = sub(/[?]$/, "", $1) ? "?" : ""
      known[$1] = 1; if ($1 in asked) print $2 mark }
    END { for (name in asked) if (!(name in known)) { print "no group " name " in packages.txt" > "/dev/stderr"; exit 2 } }
' "$list")

missing=
optional=
for entry in $wanted; do
    package=${entry%"?"}
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] && continue
    missing="$missing $package"
    [ "$package" = "$entry" ] || optional="$optional $package"
done
[ -n "$missing" ] || exit 0
missing=${missing# }

install="apt-get install -y --no-install-recommends $missing"
if [ "$(id -u)" -eq 0 ]; then
    as_root=env
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root="sudo env"
elif [ "$missing" = "${optional# }" ]; then
    echo "Left out, for want of root to install them: $missing" >&2
    exit 0
else
    echo "Missing packages: $missing" >&2
    echo "Installing them needs root. Please run:" >&2
    echo "    apt-get update && $install" >&2
    exit 1
fi

echo "Installing from the distribution: $missing" >&2
$as_root apt-get update -q >&2
for package in $optional; do
    apt-cache show "$package" >/dev/null 2>&1 && continue
    echo "This distribution has no $package: left out" >&2
    missing=$(printf '%s\n' $missing | grep -vxF "$package" || true)
done
[ -n "$missing" ] || exit 0
install="apt-get install -y --no-install-recommends $(echo $missing)"
# shellcheck disable=SC2086  # the list is meant to be split
$as_root DEBIAN_FRONTEND=noninteractive $install >&2
