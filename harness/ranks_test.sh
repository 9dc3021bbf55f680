#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The ranks of an MPI job against a single process. Without mpicc and mpirun it says that
# nothing was verified. usage: ranks_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
    echo "MPI: not verified (no mpicc or mpirun: libopenmpi-dev, openmpi-bin)"
    refuses 3 "built without MPI" run --suite smoke600 --kernel turbo --mpi
    conclude 0
    exit
fi
ranks=$(cd "$build" && pwd)/planted/ranks
run="run --device host --kernel turbo --suite smoke600 --threads 1 --certify 0"
few="--case normal-N*-D16-s00[01]" # 6 cases: N = 24, 40, 48
more="--case *-D16-s00[01]"        # 60 cases
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# job CODE RANKS ARGUMENT...
job() {
    want=$1 count=$2
    shift 2
    (cd "$work" && timeout 100 mpirun --oversubscribe -n "$count" "$ranks" "$@" >out 2>err)
    code=$?
    if [ "$code" -eq "$want" ]; then ok; else
        no "$count ranks of '$*' exit $code, not $want: $(head -n 5 "$work/err")"
    fi
}

echo "MPI: three ranks give the report of one process"
(cd "$work" && "$ranks" $run $few --out one.json >out 2>err)
job 0 3 $run $few --mpi --out three.json
equal "$work/one.json" "$work/three.json"
if grep -q '3 devices: .*; 6 cases on all of them: 0 differ' "$work/out"; then ok; else
    no "bits were not compared across ranks: $(sed -n 5p "$work/out")"
fi

echo "MPI: a kernel that crashes loses one case; other bits turn red"
PLANT=segv job 1 2 $run $few --mpi --out crash.json
lost=$(grep -c 'failed", "message": "the kernel.s process ended with SIGSEGV' "$work/crash.json")
good=$(grep -c '"rawStatus": "passed"' "$work/crash.json")
if [ "$lost" -eq 2 ] && [ "$good" -eq 4 ]; then ok; else no "$lost lost, $good passed"; fi
PLANT=hang job 1 2 $run $few --mpi --timeout 1 --out hang.json
if [ "$(grep -c 'no answer from the kernel.s forward' "$work/hang.json")" -eq 2 ]; then ok; else
    no "a hang is not found: $(sed -n 1,2p "$work/out")"
fi
PLANT=pid job 1 2 $run $few --mpi --out pid.json
if [ "$(grep -c 'across: bits differ on 1 of 2 devices: rank:' "$work/pid.json")" -eq 6 ]
then ok; else no "other bits on another rank are not found"; fi

# rank N: the process of a rank of this job.
rank() {
    for environ in /proc/[0-9]*/environ; do
        process=${environ%/environ}
        [ "$(readlink "$process/cwd" 2>/dev/null)" = "$work" ] || continue
        tr '\0' '\n' 2>/dev/null <"$environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || continue
        grep -qz serve "$process/cmdline" || echo "${process#/proc/}"
    done
}

# kill_rank_1 OF-MPIRUN...: starts two ranks, and kills the second one in the midst of it.
kill_rank_1() {
    rm -f "$work/killed.json"*
    (cd "$work" && timeout 100 mpirun "$@" --oversubscribe -n 2 "$ranks" $run $more --mpi \
        --out killed.json >out 2>err) &
    pid=$!
    for try in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.5
        [ -s "$work/killed.json.journal" ] && [ "$(wc -l <"$work/killed.json.journal")" -gt 3 ] &&
            break
    done
    for process in $(rank 1); do kill -9 "$process"; done
    wait $pid
    killed=$?
}

echo "MPI: kill -9 of a rank ends the job; --resume goes on, and no finished case is lost"
(cd "$work" && "$ranks" $run $more --out one.json >out 2>err)
kill_rank_1
kept=$(wc -l 2>/dev/null <"$work/killed.json.journal")
if [ "${kept:-0}" -gt 3 ] && [ ! -e "$work/killed.json" ] && [ $killed -ne 0 ]; then ok; else
    no "a killed rank: exit $killed, journal of ${kept:-0} lines: $(cat "$work/err")"
fi
job 0 2 $run $more --mpi --out killed.json --resume
equal "$work/one.json" "$work/killed.json"

echo "MPI: where mpirun lets the others live, a dead rank loses only its running case"
kill_rank_1 --enable-recovery
exits 2 report killed.json
lost=$(grep -c 'not verified", "message": "the [a-z]*.s process was lost with rank 1' \
    "$work/killed.json")
good=$(grep -c '"rawStatus": "passed"' "$work/killed.json")
if [ "$lost" -eq 1 ] && [ "$good" -eq 59 ]; then ok; else
    no "a dead rank: $good passed, $lost lost with it: $(grep -o \
        'not verified", "message": "[^"]*"' "$work/killed.json") $(head -n 3 "$work/err")"
fi

echo "MPI: bad input"
job 3 1 $run $few --mpi --workers 2
if grep -q 'each rank has one worker' "$work/err"; then ok; else no "--workers with --mpi"; fi

conclude 14
