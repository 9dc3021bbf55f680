#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over small cases of every CUDA kernel, on a machine with a GPU:
#   sh scripts/sanitize.sh BUILD [KERNEL...]
# memcheck, racecheck, synccheck and initcheck must find nothing, and must find the race and
# the overrun planted in `naive` (make planted-cuda), so that silence means something.
#
# racecheck does not know that an mbarrier orders a bulk copy (cp.async.bulk) before the
# reads behind it, and reports those; they are counted apart and shown. Any other hazard fails.
# They fill its table of hazards: it is made larger, or others might find no place.
set -u
export NV_COMPUTE_SANITIZER_MAX_RACECHECK_HAZARDS=100000000
build=${1:?usage: sanitize.sh BUILD [KERNEL...]}
shift
tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[ -x "$tool" ] || { echo "sanitize: not verified: no compute-sanitizer" >&2; exit 2; }
"$build/gradgate" doctor | grep -q 'compute capability 9' ||
    { echo "sanitize: not verified: no Hopper GPU" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

check() { # PROGRAM KERNEL TOOL SUITE CASE: prints hazards of its own and of bulk copies
    timeout 300 "$tool" --tool "$3" --error-exitcode 77 "$1" run --suite "$4" --case "$5" \
        --kernel "$2" --device cuda --repeats 2 --certify 0 --out "$work/r.json" \
        >"$work/log" 2>&1
    code=$?
    found=$(awk '/ERROR SUMMARY|RACECHECK SUMMARY/ { for (i = 1; i <= NF; i++)
        if ($i == "SUMMARY:") n += $(i + 1) } END { print n + 0 }' "$work/log")
    bulk=0
    if [ "$3" = racecheck ]; then
        bulk=$(grep -c 'Race reported between Write access at copy_b' "$work/log")
        found=$((found - bulk))
    elif ! grep -q 'ERROR SUMMARY' "$work/log"; then
        found="no summary, exit code $code"
    fi
}

printf '%-10s %-12s %-34s %8s %12s\n' kernel tool case found 'bulk copies'
[ $# -gt 0 ] || set -- naive recompute atomic turbo twopass split
for kernel in "$@"; do
    suite=twin300
    case $kernel in twopass | split) suite=twin32 ;; esac
    for which in memcheck racecheck synccheck initcheck; do
        for name in 'normal-R3-H2-N65-D16-s000' 'key_lengths-R5-H1-N33-D32-s000' \
            'normal-R3-H2-N385-D32-s000' 'key_lengths-R5-H1-N385-D32-s000' \
            'key_lengths-R5-H1-N385-D64-s000' 'normal-R39-H14-N65-D32-s006'; do
            from=$suite
            case $suite$name in twin300*N385* | twin300*R39*) continue ;; *D64*) from=twin64 ;; esac
            check "$build/gradgate" "$kernel" "$which" "$from" "$name"
            [ "$found" = 0 ] || { bad=$((bad + 1)); tail -5 "$work/log"; }
            printf '%-10s %-12s %-34s %8s %12s\n' "$kernel" "$which" "$name" "$found" "$bulk"
        done
    done
done
for plant in race:racecheck overrun:memcheck; do
    check "$build/planted/${plant%:*}" naive "${plant#*:}" twin300 'normal-R3-H2-N65-D16-s000'
    printf '%-10s %-12s %-34s %8s %12s\n' naive "${plant#*:}" "planted ${plant%:*}" "$found" "$bulk"
    [ "$found" != 0 ] || { echo "the planted ${plant%:*} was not found"; bad=$((bad + 1)); }
done
[ $bad = 0 ] || { echo "sanitize: failed, $bad times"; exit 1; }
echo "sanitize: passed"
