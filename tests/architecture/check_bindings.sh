#!/bin/sh
# What is printed from the public headers is what they say: check_bindings.sh ROOT
#   bindings/       the mechanical half of each binding (tools/print_bindings.py)
#   docs/reference  the API reference of the manual (tools/print_reference.py)
#   api/*.json      the description of the headers (tools/describe_api.py, which needs clang: status 77 without)
# Run by the tools of the tree that this script is in, on ROOT, which may be another.
set -eu
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
status=0
python3 -B "$tools/print_bindings.py" --root "$1" || status=1
python3 -B "$tools/print_reference.py" --root "$1" || status=1
if command -v clang >/dev/null; then
    python3 -B "$tools/describe_api.py" --root "$1" || status=1
elif [ $status = 0 ]; then
    echo "clang is missing: the description of the headers is not checked"
    status=77
fi
exit $status
