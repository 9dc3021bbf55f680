#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which planted faults of precision does a plain run see at a size of practice, N = 384, by limits
# alone, and held to the roundings that the kernel states (run --roundings)? Right kernels too.
# usage: precision.sh GRADGATE OUT   OUT: the table, Markdown. Exits 1 when a right kernel fails.
set -eu
gradgate=$1 out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/suite.json" <<'END'
{"gradgate_suite": 1, "name": "precision", "summary": "normal inputs at N = 384",
 "operator": "triangle_attention", "id": "ND",
 "cases": [{"extents": {"B": 1, "R": 3, "H": 1, "N": 384, "D": 32},
            "families": ["normal"], "seeds": {"first": 0, "count": 2}}]}
END
# verdict ROUNDINGS KERNEL: and the checks that were not passed, without repeats
verdict() {
    code=0
    "$gradgate" run --suite "$work/suite.json" --kernel "$2" --ablate none --certify 0 \
        --repeats 2 --roundings "$1" --out "$work/run.json" >"$work/log" 2>&1 || code=$?
    case $code in
    0) echo "passed" ;;
    1) echo "failed: $("$gradgate" report "$work/run.json" --junit /dev/stdout |
        sed -n 's/^[a-z]* \([a-z0-9_]*\) failed: value.*/\1/p' | sort -u | paste -sd' ')" ;;
    *) cat "$work/log" >&2 && exit 3 ;;
    esac
}
bad=0 count=0 alone=0 held=0
: >"$work/rows"
for kernel in naive recompute turbo twopass split; do
    [ "$(verdict all $kernel)" = passed ] || bad=$((bad + 1))
done
"$gradgate" list mutants | awk '$1 == "triangle_attention" && $2 == "K4" { print $3 }' \
    >"$work/mutants"
while read -r name; do
    one=$(verdict 0 "mutant:$name") two=$(verdict all "mutant:$name")
    count=$((count + 1))
    [ "$one" = passed ] || alone=$((alone + 1))
    [ "$two" = passed ] || held=$((held + 1))
    echo "| \`$name\` | $one | $two |" >>"$work/rows"
done <"$work/mutants"
{
    echo "# Planted faults of precision at N = 384, normal inputs"
    echo
    "$gradgate" --version | head -1
    echo
    echo "Two cases (R = 3, H = 1, D = 32) each, no golden digests, no ablation: limits alone see"
    echo "$alone of $count faults, with \`--roundings all\` $held of $count; $bad of 5 right kernels fail."
    echo
    echo "| fault | limits alone | with stated roundings |"
    echo "| --- | --- | --- |"
    cat "$work/rows"
} >"$out"
[ $bad = 0 ]
