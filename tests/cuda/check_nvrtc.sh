#!/bin/sh
# Compiles generated kernels by NVRTC and checks the PTX: check_nvrtc.sh COMPILE_NVRTC FOLDER ARCHITECTURE FILE.cu...
# Exit status 77: no NVRTC on this machine.
set -eu
compile=$1 folder=$2 architecture=$3
shift 3
mkdir -p "$folder"
rm -f "$folder"/*_nvrtc_"$architecture".ptx
"$compile" "$folder" "$architecture" "$@"
exec sh "$(dirname "$0")/check_ptx.sh" none "$folder" "$architecture" "$folder"/*_nvrtc_"$architecture".ptx
