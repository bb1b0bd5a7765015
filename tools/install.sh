#!/bin/sh
# What `make install` does: tools/install.sh BUILD DESTDIR PREFIX
set -eu
build=$1
prefix=$3
to=$2$3
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^project(volta VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")

mkdir -p "$to/bin" "$to/lib/pkgconfig" "$to/include" "$to/share/doc/volta"
install -m 755 "$build/voltac" "$to/bin/"
install -m 644 "$build/libvolta.a" "$build/libvolta_data.a" "$to/lib/"
cp -d "$build"/libvolta.so* "$build"/libvolta_data.so* "$build"/libvolta_cuda.so* "$to/lib/" # the libraries and their links
install -m 644 "$top/include/volta.h" "$top/include/volta_data.h" "$to/include/"
install -m 644 "$top/LICENSE" "$top/NOTICE" "$to/share/doc/volta/"
cat >"$to/lib/pkgconfig/volta.pc" <<PC
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: volta
Description: Define, train, save, load and run small neural networks from C, bit for bit the same everywhere
Version: $version
Libs: -L\${libdir} -lvolta
Libs.private: -lstdc++ -lm -lpthread
Cflags: -I\${includedir}
PC
cat >"$to/lib/pkgconfig/volta_data.pc" <<PC
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: volta_data
Description: From files of labelled pictures to batches, the same bits everywhere
Version: $version
Libs: -L\${libdir} -lvolta_data
Libs.private: -lstdc++ -lm -lpthread
Cflags: -I\${includedir}
PC
echo "installed volta $version below $to"
