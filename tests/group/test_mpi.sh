#!/bin/sh
# The transport mpi below the mpirun of one MPI; skipped, by status 77, where that is not installed.
#     test_mpi.sh PROGRAM openmpi|mpich|mpi5|none
# mpi5: PyPI's mpich, of 5.0 or later, in the virtual environment that VOLTA_TEST_MPI5 names.
set -eu
program=$1
which=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

: >"$work/out"
: >"$work/said"
export VOLTA_TEST_MPI_SAID="$work/said" # a line of each rank, beside what mpirun has to say

skip() {
    echo "skipped: $1"
    exit 77
}
bad() {
    cat "$work/out" "$work/said"
    echo "$which: $1"
    exit 1
}
# What is installed, how it starts ranks, and what keeps it from ending the others when a rank ends badly.
case $which in
openmpi)
    launcher="mpirun.openmpi --quiet --allow-run-as-root --oversubscribe"
    VOLTA_TEST_MPI_LIBRARY=libmpi.so.40
    keep=--enable-recovery
    ;;
mpich)
    launcher=mpirun.mpich
    VOLTA_TEST_MPI_LIBRARY=libmpich.so.12
    keep=-disable-auto-cleanup
    ;;
mpi5)
    [ -n "${VOLTA_TEST_MPI5:-}" ] || skip "VOLTA_TEST_MPI5 names no environment with PyPI's mpich"
    launcher=$VOLTA_TEST_MPI5/bin/mpiexec
    VOLTA_TEST_MPI_LIBRARY=$VOLTA_TEST_MPI5/lib/libmpi_abi.so.1
    keep=-disable-auto-cleanup
    ;;
none)
    "$program" refused libmpi_nowhere.so.7 >"$work/out" 2>&1 || bad "a library that is not there"
    grep -q '^7: MPI: libmpi_nowhere.so.7 cannot be opened (.*No such file' "$work/said" || bad "the sentence of a wrong name"
    "$program" refused libm.so.6 >"$work/out" 2>&1 || bad "a library that is not MPI"
    grep -q '^7: libm.so.6 was opened, but it has none of the interfaces of MPI' "$work/said" || bad "the sentence of libm"
    echo "wrong names are named"
    exit 0
    ;;
esac
command -v "${launcher%% *}" >/dev/null 2>&1 || skip "${launcher%% *} is not installed"
export VOLTA_TEST_MPI_LIBRARY

# ranks COUNT MODE [OPTIONS]: 60 s end a hang.
ranks() {
    count=$1
    mode=$2
    shift 2
    : >"$work/said"
    # shellcheck disable=SC2086  # launcher is meant to be split
    timeout 60 $launcher "$@" -n "$count" "$program" "$mode" >"$work/out" 2>&1
}
# expect COUNT LINE: so many lines match.
expect() {
    [ "$(grep -cE "$2" "$work/said")" -eq "$1" ] || bad "$mode: not $1 times: $2"
}

for count in 2 4; do
    ranks $count exchange || bad "exchange of $count"
    expect $count "^rank [0-9] of $count: well\$"
done
if [ "$which" != mpi5 ]; then # by the starter's name, where both projects' libraries are installed
    file=$VOLTA_TEST_MPI_LIBRARY
    VOLTA_TEST_MPI_LIBRARY=$which
    ranks 2 exchange || bad "the library of $which, not named by its file"
    expect 2 '^rank [01] of 2: well$'
    VOLTA_TEST_MPI_LIBRARY=$file
fi
ranks 2 two_groups || bad "two groups"
expect 2 '^rank [01] of 2: well$'
ranks 2 host || bad "MPI that the host has started"
expect 2 '^MPI has been finalized in this process: it starts once'

# What is refused: not all of its ranks print, where mpirun ends those that are left.
ranks 2 other_size $keep || true
grep -q '^1: size is 64, and MPI has started 2 processes$' "$work/said" || bad "another size"
ranks 2 other_rank $keep || true
grep -qE '^1: rank is 63, and MPI says that this process has rank [01]$' "$work/said" || bad "another rank"
ranks 3 refused || bad "three ranks"
expect 3 '^1: size is 3, it must be a power of two up to 1024$'
ranks 1 refused || true
grep -q '^1: MPI has started this process alone, by .*: start it by mpirun of the same MPI' "$work/said" || bad "alone"

# A rank that ends: the others name it, and do not wait for it in MPI_Finalize.
ranks 4 leaves $keep || true
expect 3 '^rank [0-2] after [0-5] s: rank 3 has left the group: step 7 is not finite$'
ranks 4 dies $keep || true
expect 3 '^rank [0-2] after [2-9] s: rank 3 has not answered for 2 s$'
ranks 4 hangs $keep || true
expect 3 '^rank [0-2]: rank 3 has not answered for 2 s$'
ranks 2 suspended || bad "a rank that was suspended"
expect 2 '^rank [01] of 2: well$'
status=0
ranks 4 ends_early $keep || status=$?
[ $status -ne 124 ] || bad "waits in MPI_Finalize"
expect 3 '^rank [0-2] is done$'
ranks 2 unequal $keep || true
expect 2 '^rank [01].*: rank 1 sent 5 bytes where 8 were expected$'
ranks 2 mismatch $keep || true
expect 2 '^rank [01]: ranks wait for each other in a circle, rank [01] for rank [01]: their calls do not match$'
echo "$which: well"
