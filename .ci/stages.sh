# What .ci/run, .ci/nightly and .ci/release have in common (sourced by bash): stages that all run even if an earlier one
# failed, ctest's counts added up, and a table of seconds at the end. The last line is "N passed, N failed".
#     wanted=("$@")            names of stages; none: all
#     stage NAME COMMAND...    runs it, keeps its log in build/ci
#     finish                   the table; its status is that of the whole
export WERROR=ON

passed=0
failed=0
rows=()
logs=build/ci
mkdir -p "$logs"

# A command without ctest's summary counts as one test.
stage() {
    local name=$1 log=$logs/$1.log start=$SECONDS status=0 counts good bad all word
    shift
    [[ ${#wanted[@]} -eq 0 || " ${wanted[*]} " == *" $name "* ]] || return 0
    printf '\n==== %s: %s\n' "$name" "$*"
    "$@" 2>&1 </dev/null | tee "$log" || status=$?
    counts=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$log")
    good=0 bad=0
    if [[ -n $counts ]]; then
        while read -r wrong all; do
            good=$((good + all - wrong))
            bad=$((bad + wrong))
        done <<<"$counts"
        # The command may fail for another reason than a test: that counts too.
        [[ $status -eq 0 || $bad -gt 0 ]] || bad=1
    elif [[ $status -eq 0 ]]; then
        good=1
    else
        bad=1
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    word=$([[ $status -eq 0 && $bad -eq 0 ]] && echo ok || echo FAILED)
    rows+=("$(printf '%-16s %7d %7d %7d  %s' "$name" $((SECONDS - start)) "$good" "$bad" "$word")")
    printf '==== %s: %s after %d s\n' "$name" "$word" $((SECONDS - start))
}

finish() {
    printf '\n%-16s %7s %7s %7s\n' stage seconds passed failed
    [[ ${#rows[@]} -eq 0 ]] || printf '%s\n' "${rows[@]}"
    printf '%-16s %7d %7d %7d\n\n' all "$SECONDS" "$passed" "$failed"
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [[ $failed -eq 0 && ${#rows[@]} -gt 0 ]]
}

# The layout of clang-format 14 is the reference; other versions lay out some lines differently.
format_check() {
    if clang-format --version | grep -q ' version 14\.'; then
        make format-check
    else
        echo "skipped: $(clang-format --version), the reference is version 14"
    fi
}

library_surface() {
    make all && sh tests/architecture/check_library.sh build/libvolta.so &&
        sh tests/architecture/check_library.sh build/libvolta_data.so 1048576 libjpeg libpng16 libz
}
