#!/bin/sh
# The surface of the shared library: small, alone, and nothing but volta_ visible.
#     check_library.sh LIBRARY [LARGEST-STRIPPED-BYTES [LIBRARY-IT-MAY-NEED...]]
set -eu
library=$1
largest=${2:-3670016} # 3.5 MB
[ $# -lt 2 ] || shift
shift
may_need=" $* "
failed=0
complain() {
    echo "$library: $*"
    failed=1
}

# Exported: volta_ only. The linker adds _init and _fini, and names of symbol versions.
exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | grep -vE '^(_init|_fini|VOLTA_[0-9]+)$' || true)
foreign=$(printf '%s\n' "$exported" | grep -v '^volta_' | head -n 5 || true)
[ -n "$exported" ] || complain "exports nothing"
[ -z "$foreign" ] || complain "exports names outside volta_:" $foreign

# Needed: the C and C++ run time, nothing else but what the caller names.
for name in $(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case $name in
        libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.* | libpthread.so.* | ld-linux*.so.*) ;;
        *) case $may_need in *" ${name%%.so*} "*) ;; *) complain "depends on $name" ;; esac ;;
    esac
done

# Undefined: nothing that ends the process, prints, reads the environment, or is libm beyond what the contract allows.
# (std::terminate is what noexcept means; __assert_fail must not be there in a release.)
imported=$(nm -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//')
bad=$(printf '%s\n' "$imported" | grep -xE 'abort|exit|_exit|quick_exit|__assert_fail|getenv|secure_getenv|printf|puts|putchar|fprintf|vfprintf|fwrite|fputs|__printf_chk|__fprintf_chk|perror|stdout|stderr|setlocale|signal|sigaction|_ZSt4cout|_ZSt4cerr' || true)
[ -z "$bad" ] || complain "calls" $bad
bad=$(printf '%s\n' "$imported" | grep -xE '(exp|exp2|expm1|log|log2|log10|log1p|pow|sin|cos|sincos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|erf|erfc|tgamma|lgamma|cbrt|hypot)[fl]?' || true)
[ -z "$bad" ] || complain "takes mathematics from libm:" $bad

# Memory: the library's own operator new (engine/base/operator_new.cpp), no text that the C++ library would allocate with
# another, no resource that the host may have replaced.
bad=$(printf '%s\n' "$imported" | grep -E '^(_Zn[aw]|_Zd[al]P|_ZNSt3pmr(20get_default_resource|19new_delete_resource)|_ZNKSt7__cxx1112basic_string|_ZNSt7__cxx1112basic_string)|^(calloc|realloc|opendir|fopen|strdup)$' || true)
[ -z "$bad" ] || complain "allocates by" $bad

# Stack and data: not executable, relocations read-only.
readelf -lW "$library" | grep -q 'GNU_STACK.*RWE' && complain "has an executable stack"

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library"
bytes=$(wc -c <"$stripped" | tr -d ' ')
[ "$bytes" -lt "$largest" ] || complain "has $bytes bytes stripped, the limit is $largest"

[ "$failed" -eq 0 ] || exit 1
echo "$(printf '%s\n' "$exported" | wc -l | tr -d ' ') exported functions, $bytes bytes stripped"
