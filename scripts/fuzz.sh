#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every parser: foo_fuzz.c beside foo.c, by clang's libFuzzer with the address and
# undefined-behaviour sanitizers. Then plants the fault that each foo_fuzz.c names
# ("plant: FILE SED-EXPRESSION") and demands that its target finds it within thrice the time.
# usage: fuzz.sh BUILD SECONDS [NAME...]   names such as reports/journal; default: all
#   FUZZ_RUNS=N instead of SECONDS: so many executions each, and no planted faults; without
#     comparisons traced, which is thrice as fast, from the corpus that a run by time left
#   FUZZ_JOBS=N: so many targets side by side (default: one a processor)
# shellcheck disable=SC2046,SC2317
set -u
build=$1 seconds=$2
shift 2
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here" || exit 2
fuzz=$build/fuzz
command -v clang >/dev/null || apt-get install -y -q clang >/dev/null 2>&1 ||
    { apt-get update -q >/dev/null && apt-get install -y -q clang >/dev/null; } ||
    { echo "fuzz: clang is missing and cannot be installed here" >&2; exit 2; }
flags="-O1 -g" found=$fuzz/corpus
if [ -n "${FUZZ_RUNS:-}" ]; then
    fuzz=$build/fuzz_runs flags="-O2 -g -fno-sanitize-coverage=trace-cmp"
    export ASAN_OPTIONS="malloc_context_size=0:quarantine_size_mb=1:max_malloc_fill_size=0"
fi
# Its own make jobs: of the make that runs this script it would take one.
fast() { MAKEFLAGS="" make CC=clang FUZZ=1 CUDA=0 BUILD="$fuzz" CFLAGS="$flags" "$@"; }
fast fuzzers >/dev/null || exit 1
rm -f "$fuzz/fuzzed.a"
ar rc "$fuzz/fuzzed.a" $(find "$fuzz/cases" "$fuzz/reports" "$fuzz/harness" \
    "$fuzz/kernels/registry.o" -name '*.o' ! -name '*_fuzz.o') $(find "$build/reference" \
    "$build/kernels" -name '*.o' ! -name '*_test.o' ! -name '*.cu.o' ! -name registry.o)
# Of two definitions of a function the first counts: a replacement, or a planted fault.
link() {
    clang -fsanitize=fuzzer,address,undefined -Wl,-z,muldefs "$@" "$fuzz/fuzzed.a" -lmpfr -lgmp \
        -lxxhash -lz -lcjson -lm -lpthread -ldl
}

seeds() { # of each parser, from committed suites and from reports made of them
    mkdir -p "$fuzz/seeds" && cd "$fuzz/seeds" || return 1
    mkdir -p cases/suite reports/journal harness/report harness/golden harness/bench_peers \
        harness/command reports/safetensors reports/budget_read harness/timings harness/bench_read
    cp "$here"/cases/suites/*.json cases/suite
    gradgate=$(cd "$here" && cd "$build" && pwd)/gradgate
    run="$gradgate run --device host --certify 0 --threads 1"
    $run --suite linear60 --kernel plain --case 'normal-M1-N3-K15-s000' --out l >/dev/null
    $run --suite smoke600 --kernel turbo --case 'normal-N24-D16-s000' --out a >/dev/null
    $gradgate budget --suite smoke600 --kernel turbo --case 'normal-N24-D16-s00[01]' \
        --ablate none --threads 1 --out b >/dev/null
    sed 's/^ *//' b | tr -d '\n' >reports/budget_read/b
    $gradgate bench --suite linear60 --case 'normal-M1-N3-K15-s000' --kernel plain,scattered \
        --reps 3 --threads 1 --out t >/dev/null
    sed 's/^ *//' t | tr -d '\n' | tee harness/timings/t >harness/bench_read/t
    gzip -c l >harness/report/l.gz
    for r in l a; do sed 's/^ *//' $r | tr -d '\n' >harness/report/$r; done
    for r in l a; do $gradgate golden $r --out harness/golden/$r >/dev/null; done
    (ulimit -f 64; $run --suite linear60 --kernel plain --out reports/journal/j >/dev/null 2>&1)
    mv reports/journal/j.journal reports/journal/whole 2>/dev/null
    head -n 3 reports/journal/whole >reports/journal/three
    header='{"q":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"m":{"dtype":"U8",'
    header=$header'"shape":[4],"data_offsets":[12,16]},"__metadata__":{"gradgate":"1"}}'
    printf '%b%s' "\\0$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0" "${header}0123456789abcdef" \
        >reports/safetensors/two
    cat >harness/bench_peers/some <<'END'
{"about": "a peer script, 1.0"}
{"kernel": "flex", "family": "normal", "B": 8, "R": 8, "H": 8, "N": 8, "D": 8, "forward_ms": 1.5, "total_ms": 4e0, "same_bits": false, "peak_extra_bytes": 1024, "rmse": {"dq": 2.2e-4, "o": 1e-4}, "floor": {"dq": 1e-4}, "truth_rms": {"dq": 0.5}, "rmse_rows": 2}
{"kernel": "slow", "N": 16, "reason": "out of memory"}
END
    sed -n 's/^ *exits [0-9] //p; s/^ *refuses [0-9] "[^"]*" //p' "$here"/harness/*_test.sh |
        grep -v '\\$' | sed "s|\$run|run --device host --kernel turbo|; s|'||g" |
        awk '{ f = "harness/command/" NR; gsub(/ +/, "\n"); print > f; close(f) }'
    ls reports/journal/whole harness/golden/a harness/report/l.gz harness/command/9 >/dev/null
}
# What the parsers look for: keys and words in quotes, options.
words() {
    cat "$fuzz/seeds/$1"/* | tr -d '\000' | grep -aoE '"[A-Za-z_0-9]{1,40}"|--[a-z]+' | sort -u |
        head -n 400 | sed 's/^--.*/"&"/' >"$fuzz/words/$1"
    echo '"-1"' >>"$fuzz/words/$1"
}

(seeds) || { echo "fuzz: the seeds could not be made" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(git ls-files '*_fuzz.c' | sed 's/_fuzz\.c$//')
[ $# -gt 0 ] || { echo "fuzz: no target under git" >&2; exit 1; }
# one NAME PROGRAM FOLDER SECONDS: fuzzes it; the log says how that ended.
one() {
    name=$1 program=$2 log=$fuzz/log/$3$1
    corpus=$fuzz/corpus/$3$1
    mkdir -p "$corpus" "$fuzz/words/$(dirname "$name")" "$(dirname "$log")" "$found/$name"
    words "$name"
    # no longer than its seeds: longer inputs are slower, and reach no more
    longest=$(cat "$fuzz/seeds/$name"/* | wc -c)
    [ "$longest" -gt 4000 ] || longest=4000
    [ "$longest" -lt 16000 ] || longest=16000
    "$program" "$corpus" "$fuzz/seeds/$name" ${FUZZ_RUNS:+"$found/$name"} \
        -dict="$fuzz/words/$name" -max_len=$longest -timeout=20 -rss_limit_mb=3000 \
        -print_final_stats=1 -artifact_prefix="$fuzz/log/$3" \
        -max_total_time="$4" ${FUZZ_RUNS:+-max_total_time=0 -runs=$FUZZ_RUNS} >"$log.log" 2>&1
    echo $? >"$log.exit"
}
plant() { # builds NAME with its fault
    line=$(sed -n 's/^ \* plant: \(.*[^ ]\) *\*\/$/\1/p' "$1_fuzz.c")
    file=${line%% *} copy=$fuzz/planted/$1/fault.c
    mkdir -p "$fuzz/planted/$1" && sed "${line#* }" "$file" >"$copy"
    ! cmp -s "$file" "$copy" || { echo "fuzz: the plant of $1 changes nothing"; return 1; }
    fast "$fuzz/${copy%.c}.o" >/dev/null &&
        link "$fuzz/$1_fuzz.o" "$fuzz/${copy%.c}.o" -o "$fuzz/planted/$1/fuzzer"
}
# at_once COMMAND...: as many side by side as there are processors.
jobs=${FUZZ_JOBS:-$(nproc)}
running=0
at_once() {
    "$@" &
    running=$((running + 1))
    [ $running -lt "$jobs" ] || { wait; running=0; }
}

bad=0
rm -rf "$fuzz/log" "$fuzz/corpus/planted"
for name; do
    link "$fuzz/${name}_fuzz.o" -o "$fuzz/${name}_fuzz" || exit 1
    at_once one "$name" "$fuzz/${name}_fuzz" "" "$seconds"
done
wait
running=0
for name; do
    log=$fuzz/log/$name
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log.log")
    if [ "$(cat "$log.exit")" -eq 0 ] && [ "${runs:-0}" -gt 1000 ]; then
        echo "fuzz: $name: $runs executions, nothing found"
    else
        echo "fuzz: $name: FOUND, or not run: see $log.log and $fuzz/log/crash-*"
        grep -m 3 -E 'ERROR|SUMMARY|runtime error' "$log.log"
        bad=1
    fi
done
[ -n "${FUZZ_RUNS:-}" ] && exit $bad
for name; do
    plant "$name" || exit 1
    at_once one "$name" "$fuzz/planted/$name/fuzzer" planted/ $((3 * seconds))
done
wait
for name; do
    log=$fuzz/log/planted/$name
    if [ "$(cat "$log.exit")" -ne 0 ] && grep -qE 'ERROR: (Addr|libF)|runtime error' "$log.log"
    then echo "fuzz: $name: the planted fault is found"
    else echo "fuzz: $name: the planted fault is NOT found in $((3 * seconds)) s"; bad=1; fi
done
exit $bad
