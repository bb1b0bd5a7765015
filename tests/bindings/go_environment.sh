# shellcheck shell=sh disable=SC2154
# Read by scripts that run Go on the libraries of a build: . go_environment.sh, with root and build set. Nothing is fetched, and
# what Go keeps is kept in the build.
mkdir -p "$build/go/pkgconfig"
for library in volta volta_data; do
    cat >"$build/go/pkgconfig/$library.pc" <<PC
Name: $library
Description: of this build
Version: 0
Libs: -L$build -l$library -Wl,-rpath,$build
Cflags: -I$root/include
PC
done
export PKG_CONFIG_PATH="$build/go/pkgconfig" GOCACHE="$build/go/cache" GOPATH="$build/go/path" GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local
unset GOROOT GOBIN
