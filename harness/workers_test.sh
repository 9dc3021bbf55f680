#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Worker processes: a kernel that crashes, ends, hangs or is killed loses its running case
# and no other, and several workers give the report of one process.
# usage: workers_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

run="run --device host --kernel turbo --suite smoke600 --threads 2 --certify 0"
few="--case normal-N*-D16-s00[01]" # 6 cases: N = 24, 40, 48

# breaks PLANT CODE VERDICT TEXT ARGUMENT...: the two cases with N = 40 get the verdict,
# with TEXT as the reason, the four others pass as they do elsewhere, and no process is
# left behind.
breaks() {
    plant=$1 want=$2 verdict=$3 text=$4
    shift 4
    rm -f "$work/broken.json"
    (cd "$work" && PLANT=$plant exec "$breaking" $run $few --out broken.json "$@" >out 2>err)
    code=$?
    lost=$(grep -c "\"rawStatus\": \"$verdict\", \"message\": \".*$text" "$work/broken.json")
    good=$(grep -c '"rawStatus": "passed"' "$work/broken.json")
    if [ "$code" -eq "$want" ] && [ "$lost" -eq 2 ] && [ "$good" -eq 4 ]; then ok; else
        no "$plant: exit $code, $lost lost, $good passed: $(cat "$work/err")"
    fi
    grep -v 'N40-' "$work/whole.json" | sed -n '/"name": "normal/p' | cut -d, -f1-3 >"$work/a"
    grep -v 'N40-' "$work/broken.json" | sed -n '/"name": "normal/p' | cut -d, -f1-3 >"$work/b"
    if [ -s "$work/a" ] && cmp -s "$work/a" "$work/b"; then ok; else
        no "$plant: the other cases are not the same"
    fi
}

breaking=$(cd "$build" && pwd)/planted/breaking

echo "two workers give the report of one process"
exits 0 $run $few --out whole.json
exits 0 $run $few --out one.json --workers 1
exits 0 $run $few --out two.json --workers 2
equal "$work/whole.json" "$work/one.json"
equal "$work/whole.json" "$work/two.json"
if grep -q '2 devices: .*; 6 cases on all of them: 0 differ' "$work/out"; then ok; else
    no "bits were not compared across workers: $(sed -n 5p "$work/out")"
fi
if sh "$here/reports/schema/validate.sh" "$work/two.json" >"$work/out" 2>&1; then ok; else
    no "two.json breaks the schema: $(tail -3 "$work/out")"
fi
if ls "$work"/*.journal >/dev/null 2>&1; then no "a journal is left"; else ok; fi

echo "a kernel that breaks its process loses one case"
breaks segv 1 failed "kernel's process ended with SIGSEGV in forward" --workers 1
breaks abort 1 failed "kernel's process ended with SIGABRT in forward" --workers 2
breaks device 1 failed "kernel's process ended with SIGSEGV in forward" --workers 1
breaks backward 1 failed "ended with SIGABRT in backward" --workers 1
breaks exit 1 failed "ended with exit code 0 in forward" --workers 1
breaks kill 2 'not verified' "ended with SIGKILL in forward" --workers 2
breaks child 1 failed "ended with SIGABRT in forward" --workers 1
breaks hang 1 failed "no answer from the kernel's forward within 1 s" --workers 2 --timeout 1

echo "bits that depend on the process turn the check red, and only across processes"
(cd "$work" && PLANT=pid "$breaking" $run $few --out one.json --workers 1 >out 2>err)
one=$?
(cd "$work" && PLANT=pid "$breaking" $run $few --out two.json --workers 2 >out 2>err)
two=$?
red=$(grep -c '"message": "dbias across: bits differ on 1 of 2 devices: host:' "$work/two.json")
if [ "$one" -eq 0 ] && [ "$two" -eq 1 ] && [ "$red" -eq 6 ]; then ok; else
    no "other bits in another process: exits $one and $two, $red cases red"
fi

echo "what a kernel prints is not in the report's channel"
(cd "$work" && PLANT=noise "$breaking" $run $few --workers 1 >out 2>err)
if grep -q 'a kernel prints' "$work/err" && ! grep -q 'a kernel prints' "$work/out"
then ok; else no "a kernel prints between the lines of the report"; fi

# workers PARENT: its children, but for those that have ended.
workers() {
    for stat in /proc/[0-9]*/stat; do
        read -r child name state parent rest 2>/dev/null <"$stat" || continue
        [ "$parent" = "$1" ] && [ "$state" != Z ] && echo "$child"
    done
}

# alive PID: it has not ended.
alive() {
    read -r child name state rest 2>/dev/null <"/proc/$1/stat" && [ "$state" != Z ]
}

echo "kill -9 of a worker, and of all"
(cd "$work" && PLANT=hang exec "$breaking" $run $few --out killed.json --workers 2 >out 2>err) &
pid=$!
sleep 1.5 # both are in the kernel that hangs, and wait for the others
for child in $(workers $pid); do kill -9 "$child"; done
sleep 1
wait $pid
code=$?
if [ "$code" -eq 2 ] && [ "$(grep -c 'ended with SIGKILL in forward' "$work/killed.json")" -eq 2 ]
then ok; else no "killed workers: exit $code: $(cat "$work/err")"; fi
(cd "$work" && PLANT=hang exec "$breaking" $run $few --out orphan.json --workers 2 >out 2>err) &
pid=$!
sleep 1.5
children=$(workers $pid | tr '\n' ' ')
kill -9 $pid
wait $pid 2>/dev/null
sleep 0.3
left=0
for child in $children; do alive "$child" && left=$((left + 1)); done
if [ -n "$children" ] && [ "$left" -eq 0 ]; then ok; else
    no "workers outlive their parent: '$children', $left"
fi
(cd "$work" && exec "$breaking" $run $few --out orphan.json --workers 2 --resume >out 2>err)
(cd "$work" && exec "$breaking" $run $few --out whole.json >out 2>err)
equal "$work/whole.json" "$work/orphan.json"

echo "a foreign kernel is always in a process of its own"
mkdir -p "$work/include/gradgate"
cp "$here/kernels/abi.h" "$work/include/gradgate/"
sed '/^static int forward/,/^}/s/^{/{ if (call->inputs[0]->shape[0] == 17) __builtin_trap();/' \
    "$here/scripts/examples/plugin/linear.c" >"$work/trap.c"
${CC:-cc} -std=c11 -I"$work/include" -fPIC -shared -o "$work/trap.so" "$work/trap.c" ||
    no "trap.so cannot be built"
one="normal-M17-N64-K15-s000"
exits 1 run --suite linear60 --kernel ./trap.so --out trap.json
lost=$(grep -c 'message": "the kernel.s process ended with SIG[A-Z]* in forward' "$work/trap.json")
count=$(grep -c '"name": "[a-z_]*-M17-' "$work/trap.json")
if [ "$count" -gt 0 ] && [ "$lost" -eq "$count" ] && [ "$count" -lt 60 ]; then ok; else
    no "$lost of $count cases say how the kernel ended"
fi
exits 1 case $one --suite linear60 --kernel ./trap.so
exits 1 case $one --suite linear60 --kernel ./trap.so --why
if grep -q 'ended with SIG[A-Z]* in forward' "$work/out" &&
    grep -q 'no explanation: the kernel gave no outputs' "$work/err"; then ok; else
    no "case does not say how the kernel ended: $(cat "$work/out" "$work/err")"
fi

echo "shards of a Slurm array, merged, are the single run"
for task in 1 2 3; do
    (cd "$work" && SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=3 SLURM_CPUS_PER_TASK=1 \
        GRADGATE=$gradgate SUITE=linear60 KERNEL=plain DEVICE=host \
        sh "$here/scripts/slurm/array.sbatch" >out 2>err) || no "task $task: $(cat "$work/err")"
done
exits 0 run --device host --suite linear60 --kernel plain --workers 2 --out single.json
refuses 3 "shards are missing: 2" merge merged.json shard-1.json shard-3.json
exits 0 merge merged.json shard-3.json shard-1.json shard-2.json
equal "$work/single.json" "$work/merged.json"

echo "bad input"
refuses 3 "--workers takes" $run --workers 0
refuses 3 "--timeout takes" $run --timeout soon
refuses 3 "--workers is for --device host" $run --device cuda --workers 2
refuses 3 "unknown devices 'cuda:0,'" $run --device cuda:0,
refuses 3 "unknown devices 'cuda:0,x'" $run --device cuda:0,x
refuses 3 "names cuda:1 twice" $run --device cuda:1,0,1
refuses 3 "unknown device" $run --device cuda:everything-there-is
refuses 3 "own worker processes" run --serve=host --suite smoke600 --kernel turbo
refuses 3 "own worker processes" run --serve=host,1 --suite smoke600 --kernel turbo
refuses 3 "no kernel 'fast'" run --suite smoke600 --kernel fast --device host --workers 2
refuses 3 "nosuch" run --suite nosuch --kernel turbo --device host --workers 2

conclude 40
