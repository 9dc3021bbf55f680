#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What no run of one build can see of the host twins: bits that hang on the level of
# optimisation, and races whose outputs are right. The twins are built again at -O0 and -O3,
# which must give the card's golden digests, and by ThreadSanitizer, which must find nothing,
# and must find a race planted in their threads that changes no bit.
# usage: race_test.sh BUILD   a host build (CUDA=0)
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
twins=$build/twins

# twin NAME CFLAGS...: the program with the twins built so, $twins/NAME/gradgate.
twin() {
    name=$1
    shift
    MAKEFLAGS="" make CUDA=0 BUILD="$twins/$name" CFLAGS="$*" twins >"$work/log" 2>&1 || {
        cat "$work/log"; return 1; }
    join "$name" "$*" "$(find "$twins/$name" -name '*.o')"
}
# join NAME CFLAGS OBJECTS: links them with all else of $build.
join() {
    mkdir -p "$twins/$1"
    others=$(find "$build/reference" "$build/cases" "$build/reports" "$build/harness" -name '*.o' \
        ! -name '*_test.o' ! -name '*_fuzz.o' ! -name '*_shim.o' ! -name 'planted_*')
    gcc $2 -o "$twins/$1/gradgate" $3 $others -lmpfr -lgmp -lxxhash -lz -lcjson -lm -lpthread -ldl
}

# golden NAME KERNEL SUITE DIGITS: a few cases, tails and masks among them, D beginning with one
# of DIGITS, against the card.
golden() {
    "$twins/$1/gradgate" run --device host --suite "$3" --kernel "$2" --certify 0 --threads 4 \
        --golden "$here/cases/golden/$2-$3.txt" --case "*-R3-H2-N65-D[$4]*-s000" \
        --out "$work/golden.json" >"$work/out" 2>&1
    code=$?
    if [ $code -eq 0 ]; then ok; else no "$2 at $1: exit $code: $(head -n 3 "$work/out")"; fi
}
all_golden() {
    for kernel in naive recompute turbo; do golden "$1" $kernel twin300 13; done
    for kernel in twopass split; do
        golden "$1" $kernel twin32 13
        golden "$1" $kernel twin64 45
    done
}

# Where addresses are drawn from too wide a range ThreadSanitizer cannot start: then without.
fixed=
watched() { # NAME OPERATOR'S-SUITE CASE KERNEL: exit code 66 when a race was found
    TSAN_OPTIONS="exitcode=66" $fixed "$twins/$1/gradgate" run --device host --suite "$2" \
        --case "$3" --kernel "$4" --certify 0 --threads 4 --out "$work/watched.json" \
        >"$work/out" 2>&1
}
quiet() {
    watched thread "$@"
    code=$?
    if [ $code -eq 0 ] && ! grep -q 'WARNING: ThreadSanitizer' "$work/out"; then ok
    else no "$3 of $1 under ThreadSanitizer: exit $code: $(head -n 4 "$work/out")"; fi
}

echo "other levels of optimisation give the card's bits"
for level in O0 O3; do
    twin $level -$level || { no "the twins cannot be built at -$level"; continue; }
    all_golden $level
done

echo "threads that race are found, and these do not"
race='s/int worker = /*(volatile int64_t *)\&j->count = j->count; &/'
file=kernels/arithmetic/threads.c
mkdir -p "$twins/planted"
sed "$race" "$here/$file" >"$twins/planted/threads.c"
cmp -s "$here/$file" "$twins/planted/threads.c" && no "the planted race changes nothing"
with_race() { # NAME OF CFLAGS: the twins OF with the race
    gcc -std=c11 -D_POSIX_C_SOURCE=200809L -I"$here" $3 -c "$twins/planted/threads.c" \
        -o "$twins/planted/$1.o" &&
        join "$1" "$3" "$twins/planted/$1.o $(find "$twins/$2" -name '*.o' ! -name threads.o)"
}
if with_race raced O3 -O3; then all_golden raced; else no "the race cannot be built"; fi
if twin thread -O1 -g -fsanitize=thread &&
    with_race raced-thread thread "-O1 -g -fsanitize=thread"; then ok
else no "the twins cannot be built for ThreadSanitizer"; fi
tiny=normal-R3-N17-D16-s000
watched thread selftest $tiny turbo
if grep -q 'FATAL: ThreadSanitizer' "$work/out"; then fixed="setarch $(uname -m) -R"; fi
watched thread selftest $tiny turbo
if grep -qE 'FATAL: ThreadSanitizer|setarch: ' "$work/out"; then
    echo "race_test: NOT VERIFIED: ThreadSanitizer cannot start here: $(head -n 1 "$work/out")" >&2
else
    for kernel in naive recompute turbo twopass split; do quiet selftest $tiny $kernel; done
    quiet selftest_linear '*' plain
    watched raced-thread selftest $tiny turbo
    if grep -q 'WARNING: ThreadSanitizer: data race' "$work/out"; then ok
    else no "the planted race is not found: $(head -n 4 "$work/out")"; fi
fi
conclude 14
