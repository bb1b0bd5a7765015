#!/bin/sh
# Removes what `cmake --install BUILD` put below DESTDIR, by the list that it wrote, and folders of Volta's own that are
# empty then:     uninstall.sh BUILD DESTDIR
set -eu
list=$1/install_manifest.txt
to=$2
[ -f "$list" ] || { echo "$list is not there: nothing was installed from $1" >&2; exit 1; }
count=0
# The last line may lack its end.
while IFS= read -r path || [ -n "$path" ]; do
    [ -e "$to$path" ] || [ -L "$to$path" ] || continue
    rm -f "$to$path"
    count=$((count + 1))
    case $path in */volta/*) rmdir "$(dirname "$to$path")" 2>/dev/null || true ;; esac
done <"$list"
echo "removed $count files"
