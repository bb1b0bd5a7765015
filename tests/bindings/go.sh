#!/bin/sh
# The Go binding by Go's own tools: go.sh ROOT BUILD LAYOUT [-race]
#   gofmt, go vet and the tests; with -race the tests alone, under the race detector. LAYOUT: the program of layout.c.
# 77: there is no Go, or no race detector for it.
set -eu
root=$1 build=$2
export VOLTA_LAYOUT="$3"
here=$(cd "$(dirname "$0")" && pwd)
for program in go pkg-config; do
    command -v $program >/dev/null || { echo "$program is missing: the Go binding is not tested"; exit 77; }
done
# shellcheck source=tests/bindings/go_environment.sh
. "$here/go_environment.sh"
cd "$root/bindings/go"
if [ "${4:-}" = -race ]; then
    [ -n "$(find -L "$(go env GOROOT)/src/runtime/race/" -name '*linux*amd64*.syso' -o -name 'race_linux.syso')" ] ||
        { echo "this Go comes without the race detector's runtime"; exit 77; }
    exec go test -race -count=1 ./...
fi
badly=$(gofmt -l .)
[ -z "$badly" ] || { echo "not as gofmt lays it out: $badly"; exit 1; }
go vet ./...
exec go test -count=1 ./...
