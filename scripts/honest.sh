#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The false-alarm rate and the evidence for the limits, measured: every right kernel on the
# suite honest200, every planted fault of precision on its cases, and from their reports
# `gradgate calibrate`. Exits with its verdict.
# usage: honest.sh GRADGATE DIR [DEVICE] [FIRST]
#   DIR     receives honest200-KERNEL.json.gz, the reports of right kernels, and
#           calibration.md; reports of planted faults are not kept
#   DEVICE  host (default) or cuda[:I]
#   FIRST   the first seed, in place of the suite's 1000: other inputs, more evidence
set -eu
gradgate=$1 out=$2 device=${3:-host} first=${4:-}
here=$(cd "$(dirname "$0")/.." && pwd)
suite=$here/cases/suites/honest200.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
if [ -n "$first" ]; then
    sed "s/\"first\": 1000/\"first\": $first/" "$suite" >"$work/honest200.json"
    suite=$work/honest200.json
fi
# run CODES ARGUMENT...: a verdict that must be one of these
run() {
    codes=$1
    shift
    code=0
    "$gradgate" run "$@" >"$work/log" 2>&1 || code=$?
    case $codes in *$code*) ;; *) cat "$work/log" >&2 && exit 3 ;; esac
}
"$gradgate" list kernels | awk -v place="${device%%:*}" '$1 == "triangle_attention" &&
    $3 == place && $4 == "run" { print $2 }' >"$work/kernels"
while read -r kernel; do
    echo "$kernel on $device"
    run 012 --suite "$suite" --kernel "$kernel" --device "$device" \
        --roundings all --out "$work/honest200-$kernel.json"
    gzip -9nc "$work/honest200-$kernel.json" >"$out/honest200-$kernel.json.gz"
done <"$work/kernels"
# Faults of precision: kind K4, and sums in BF16.
"$gradgate" list mutants | awk '$1 == "triangle_attention" &&
    ($2 == "K4" || $3 ~ /_bf16|1_02/) { print $3, $6, $7 }' >"$work/mutants"
echo "$(wc -l <"$work/mutants") planted faults of precision on host"
while read -r mutant cases pattern; do
    run 01 --suite "$cases" --case "$pattern" --kernel "mutant:$mutant" --device host \
        --ablate none --certify 0 --repeats 2 --out "$work/mutant-$mutant.json"
done <"$work/mutants"
"$gradgate" calibrate --markdown "$out/calibration.md" "$out"/honest200-*.json.gz \
    "$work"/mutant-*.json
