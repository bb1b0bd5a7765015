#!/bin/sh
# Programs outside of this tree, built in one way on an installation, run, and give one hash in C and in C++.
#     consume.sh WAY INSTALLED ROOT CC CXX
set -eu
way=$1
installed=$2
root=$3
cc=$4
cxx=$5
programs=$root/tests/install/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PKG_CONFIG_PATH=$installed/lib/pkgconfig
export PKG_CONFIG_PATH
unset PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH CMAKE_PREFIX_PATH 2>/dev/null || true
strict='-Wall -Wextra -pedantic -Werror'

fail() {
    echo "$way: $*"
    exit 1
}

# The programs run, print this version, and C and C++ print one hash.
run_all() {
    "$work/of_c" >"$work/c" || fail "the program of C failed"
    grep -qE '^volta [0-9.]+ hash [0-9a-f]{32}$' "$work/c" || fail "no hash in: $(cat "$work/c")"
    if [ -x "$work/of_cpp" ]; then
        "$work/of_cpp" >"$work/cpp" || fail "the program of C++ failed"
        cmp "$work/c" "$work/cpp" || fail "C and C++ differ"
    fi
    "$work/of_data" >"$work/data" || fail "the program of data failed: $(cat "$work/data")"
    grep -q nowhere.png "$work/data" || fail "a refusal that does not name its file: $(cat "$work/data")"
}

# Whether a program loads libvolta or libvolta_data when it runs, as it must (yes) or must not (no).
loads() {
    for program in of_c of_data; do
        found=no
        readelf -d "$work/$program" | grep -q 'NEEDED.*libvolta' && found=yes
        [ $found = "$1" ] || fail "$program loads libvolta: $found, not $1"
    done
}

by_pkg_config() { # FLAGS OF CC... -- FLAGS OF pkg-config
    flags=$1
    of_pkg_config=$2
    # shellcheck disable=SC2046,SC2086 # flags are words
    {
        "$cc" -std=c99 $strict -o "$work/of_c" $flags "$programs/main.c" $(pkg-config $of_pkg_config --cflags --libs volta)
        "$cc" -std=c99 $strict -o "$work/of_data" $flags "$programs/data.c" $(pkg-config $of_pkg_config --cflags --libs volta_data)
        "$cxx" -std=c++17 $strict -o "$work/of_cpp" $flags "$programs/main.cpp" $(pkg-config $of_pkg_config --cflags --libs volta)
    } || fail "does not link"
}

by_cmake() { # OPTIONS OF CMAKE...
    cmake -S "$programs" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_PREFIX_PATH="$installed" -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$work" "$@" >"$work/log" 2>&1 ||
        { cat "$work/log"; fail "cmake refuses it"; }
    cmake --build "$work/build" -j 2 >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail "does not build"; }
}

case $way in
    pkgconfig_*) command -v pkg-config >/dev/null 2>&1 || { echo "skipped: there is no pkg-config"; exit 77; } ;;
esac
case $way in
    pkgconfig_shared)
        by_pkg_config "" ""
        loads yes
        LD_LIBRARY_PATH=$installed/lib
        export LD_LIBRARY_PATH
        run_all
        ;;
    pkgconfig_static)
        # Where both forms are, a linker takes the shared one. Without it, the flags of --static are enough; and they
        # are for a program that loads nothing at all.
        mkdir -p "$work/only/lib/pkgconfig"
        cp "$installed"/lib/*.a "$work/only/lib"
        cp "$installed"/lib/pkgconfig/* "$work/only/lib/pkgconfig"
        cp -r "$installed/include" "$work/only/include"
        PKG_CONFIG_PATH=$work/only/lib/pkgconfig
        by_pkg_config "" "--static"
        loads no
        run_all
        by_pkg_config "-static -Wno-error" "--static" 2>"$work/log" || { cat "$work/log"; exit 1; }
        run_all
        ;;
    cmake_shared)
        by_cmake
        loads yes
        run_all
        ;;
    cmake_static)
        by_cmake -DSHARED=OFF
        loads no
        run_all
        rm -rf "$work/build" "$work/of_"*
        by_cmake -DSHARED=OFF -DCXX=OFF
        run_all
        ;;
    cmake_version)
        if cmake -S "$programs" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
            -DCMAKE_PREFIX_PATH="$installed" -DLEAST=99 >"$work/log" 2>&1; then
            fail "version 99 was found"
        fi
        grep -q 'requested version "99"' "$work/log" || { cat "$work/log"; fail "another refusal"; }
        ;;
    subdirectory)
        by_cmake -DSUBDIRECTORY="$root" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0
        run_all
        ;;
    *) fail "is no way" ;;
esac
echo "$way: $(cat "$work/c" 2>/dev/null || true)"
