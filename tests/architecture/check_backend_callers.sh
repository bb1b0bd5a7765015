#!/bin/sh
# At link level: no object outside engine/backend, the gateway excepted, refers to a symbol that engine/backend
# defines. Includes can be hidden behind headers and declarations repeated; references cannot.
#     check_backend_callers.sh BUILD
set -eu
cd "$1"

callees=$(find engine/backend -name '*.o' 2>/dev/null | LC_ALL=C sort)
[ -n "$callees" ] || { echo "no objects of engine/backend in $1"; exit 1; }
callers=$(find engine jitgen cli -name '*.o' ! -path 'engine/backend/*' | LC_ALL=C sort)
case $callers in
    *gateway*) ;;
    *) echo "no object of the gateway in $1"; exit 1 ;;
esac

# Only strong definitions: inline functions of headers appear weakly in many objects.
nm --defined-only $callees | awk 'NF == 3 && $2 ~ /[TDRB]/ { print "defined " $3 }' >callers.tmp
trap 'rm -f callers.tmp' EXIT
nm -A --undefined-only $callers | awk '{ split($1, part, ".o:"); print "used " part[1] ".o " $NF }' >>callers.tmp
awk '
    $1 == "defined" { backend[$2] = 1; next }
    !($3 in backend) { next }
    $2 ~ /\/gateway\.[a-z.]*o$/ { ++allowed; next }
    { print $2 " calls a backend: " $3; failed = 1 }
    END {
        if (failed) exit 1
        if (!allowed) { print "not even the gateway calls a backend: the check sees nothing"; exit 1 }
        print "only the gateway refers to engine/backend (" allowed " symbols)"
    }' callers.tmp | c++filt
