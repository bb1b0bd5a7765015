# What tests of voltac share; sourced after $voltac is set. A failure is told, and sets $failed.
failed=0
bad() {
    failed=1
    echo "FAILED: $*"
}
expect() { [ "$2" = "$3" ] || bad "$1: expected '$2', got '$3'"; }

# refused STATUS TEXT ARGUMENTS...: exit status, exactly one line on standard error that says who speaks and holds TEXT,
# nothing on output.
refused() {
    status=$1
    text=$2
    shift 2
    "$voltac" "$@" >out 2>err
    got=$?
    { [ "$got" -eq "$status" ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] && grep -q '^voltac' err &&
        grep -qF -- "$text" err; } ||
        bad "voltac $*: status $got (expected $status): $(cat err)"
}
