#!/bin/sh
# What the library's sources may not say, although they compile: calls that end the process, print, read the
# environment or are somebody else's mathematics, and instructions that the numeric contract forbids.
#     check_calls.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/sources.sh"
cd "$1"

# A word before "(" that is neither a member (x.abs(...), x->exp(...)) nor part of a longer name.
calls() {
    printf '(^|[^A-Za-z0-9_.>])(%s)[ \t]*\\(' "$1"
}
process='abort|exit|_exit|_Exit|quick_exit|atexit|terminate|raise|assert'
output='printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|syslog'
ambient='getenv|secure_getenv|setenv|putenv|setlocale|srand|localtime|gmtime|gettimeofday|clock_gettime|system|popen|sigaction'
common='rand|random|time|clock|signal' # also good names for functions of our own: only with std:: or ::
libm='exp|expf|exp2|exp2f|expm1|log|logf|log2|log2f|log10|log1p|pow|powf|sin|sinf|cos|cosf|tan|tanf|asin|acos|atan|atan2|sinh|cosh|tanh|tanhf|erf|erff|erfc|tgamma|lgamma|cbrt|hypot'
# rcpps and friends are approximations; rounding in the instruction, AMX and bf16 products have other semantics.
forbidden_code='v?rcp(ps|ss)|v?rsqrt(ps|ss)|vrcp14[a-z]*|vrsqrt14[a-z]*|vrcp28[a-z]*|vrsqrt28[a-z]*|vexp2p[sd]|vdpbf16ps|vcvtne2?ps2bf16|tdp[a-z0-9]+|tileload[a-z0-9]*|f(ld|stp|add|mul|sqrt|sin|cos|2xm1|yl2x)'

all=$(mktemp)
trap 'rm -f "$all"' EXIT
count=0
for file in $(sources engine jitgen data); do # FILE:LINE:, a tab, the line without comments
    count=$((count + 1))
    code "$file" | awk -v file="$file" '{ print file ":" NR ":\t" $0 }' >>"$all"
done

failed=0
# report REASON PATTERN [EXCEPTION]: complains about lines that have the pattern and not the exception, which may name files
report() {
    found=$(grep -E "$2" "$all" | grep -vE "${3:-^\$}" || true)
    [ -z "$found" ] && return 0
    printf '%s\n' "$found" | tr -d '\t' | sed "s#\$#    <- $1#"
    failed=1
}

report "ends the process" "$(calls "(std::|::)?($process)")"
report "writes to a stream of the host" "$(calls "(std::|::)?($output)")|std::(cout|cerr|clog)|(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|\$)"
report "depends on the process around it" "$(calls "(std::|::)?($ambient)")|(^|[^A-Za-z0-9_])(std)?::($common)[ \t]*\\("
report "std::function, std::regex and run-time types have no place here" 'std::(function|regex)|dynamic_cast|[^A-Za-z0-9_]typeid'
# Unqualified calls are the engine's own functions; the check of the library's symbols sees what slips through.
# What takes a Reference is the tests' independent reference, in double precision: meant to be libm's.
report "libm: use engine/numerics" "(^|[^A-Za-z0-9_])(std)?::($libm)[ \t]*\\(" 'Reference&'
report "intrinsics and assembler are in engine/base alone" \
    '(^|[^A-Za-z0-9_])(_mm(256|512)?_[a-z]|__builtin_ia32_|(__)?asm(__)?[ (])' \
    '^(engine/base/(fp_environment|thread_pool|cpu_info|operator_new)[.]cpp|jitgen/cuda/[^:]*):'
report "a thread-local: the public headers name them all" '(^|[^A-Za-z0-9_])thread_local[^A-Za-z0-9_]' \
    '^(engine/(base/(fp_environment|new_scope)|api/api_context)|data/api)[.]cpp:'
report "asks the processor: what is compiled is chosen for the Machine that it is given" \
    "^engine/backend/cpu/[^:]*:.*[^A-Za-z0-9_]host_cpu[ \t]*\\(" \
    '^engine/backend/cpu/(cpu_backend|cpu_device|tuning/tuning_file)[.]cpp:'
report "instruction forbidden by docs/numerics.md, 1" \
    "^(jitgen|engine/backend)/[^:]*:.*(([^A-Za-z0-9_])($forbidden_code)[ \t]*\\(|T_r[nduz]_sae|T_sae)"

[ "$count" -gt 0 ] || { echo "no sources found: wrong folder?"; exit 1; }
[ "$failed" -eq 0 ] || exit 1
echo "$count files call nothing forbidden"
