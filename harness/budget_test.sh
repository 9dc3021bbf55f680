#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gradgate budget as a person uses it: exit codes, one-line errors, an account that holds
# and accounts that do not. usage: budget_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

says() { if grep -qE -- "$1" "$work/out"; then ok; else no "no line matches '$1'"; fi; }
smoke="--suite smoke600 --case *-N24-D16-s000"
one="--suite smoke600 --case value_mean-N24-D32-s000 --kernel turbo"

echo "budget: bad input"
refuses 3 "needs --suite" budget --kernel turbo
refuses 3 "needs --kernel" budget --suite smoke600
refuses 3 "is not an option" budget $smoke --kernel turbo more
refuses 3 "has no option" budget $smoke --kernel turbo --frob
refuses 3 "no kernel 'fast'" budget $smoke --kernel fast
refuses 3 "no case of suite smoke600 matches 'x'" budget --suite smoke600 --case x --kernel turbo
refuses 3 "no rounding point 'q'" budget $smoke --kernel turbo --points p,q
refuses 3 "no rounding point ''" budget $smoke --kernel turbo --points p,
refuses 3 "states no rounding points" budget --suite linear60 --kernel plain
refuses 3 "no feature 'magic'" budget $smoke --kernel turbo --ablate magic
refuses 3 "unknown device" budget $smoke --kernel turbo --device x
refuses 3 "/nonexistent/b.json" budget $one --out /nonexistent/b.json
refuses 3 "is a folder" budget $one --html .
exits 2 budget $one --points p,p_lazy
says 'value_mean-N24-D32-s000 +triangle_attention: of p, p_lazy, p_whole and p_pair a kernel has'
cat >"$work/large.json" <<'END'
{"gradgate_suite": 1, "name": "large", "operator": "triangle_attention", "cases": [{"extents": {"B": 1, "R": 300,
 "H": 4, "N": 300, "D": 32}, "families": ["normal"], "seeds": {"first": 0, "count": 1}}]}
END
# shellcheck disable=SC3045 # dash has -v
(cd "$work" && ulimit -v 400000 && "$gradgate" budget --suite ./large.json --kernel turbo >out 2>err)
code=$?
if [ $code -eq 2 ]; then ok; else no "a budget without memory exits $code: $(cat "$work/err")"; fi
says 'normal-B1-R300-H4-N300-D32-s000 +no memory: a budget holds an evaluation .* refuses 1.0 GiB'
exits 0 list roundings
says '^triangle_attention +delta_pair +'

echo "budget: what is too little to tell is neither explained nor a fault"
cat >"$work/one.json" <<'END'
{"gradgate_suite": 1, "name": "one", "operator": "triangle_attention", "cases": [{"extents": {"B": 1, "R": 1,
 "H": 1, "N": 1, "D": 16}, "families": ["normal"], "seeds": {"first": 0, "count": 1}}]}
END
exits 2 budget --suite ./one.json --kernel split --out one.b.json
says '^  dbias +normal +0 .* - +not verified$'
says 'fewer than 1000 elements are not verified'
exits 0 budget --suite ./one.json --kernel turbo
exits 2 report one.b.json

echo "budget: accounts that hold"
for kernel in naive recompute turbo twopass split; do
    exits 0 budget $smoke --kernel $kernel --ablate none
    says "^passed  error budget of $kernel on host, suite smoke600, only "
done
exits 0 budget $smoke --kernel turbo --out b.json --markdown b.md --html b.html
says '^  dbias +value_mean .* predicted$'
says '^  dbias +value_mean +[0-9.e-]+ +[0-9.e-]+ +[789][0-9]\.. % +[789][0-9]\.. %$'
if [ "$(grep -c '"outcome": "predicted"' "$work/b.json")" -eq 110 ]; then ok; else
    no "not 110 rows predicted: $(grep -c outcome "$work/b.json")"; fi
if grep -q '^| dq | normal | ' "$work/b.md"; then ok; else no "no row in the Markdown"; fi
if grep -q '<th class="n">delta</th>' "$work/b.html"; then ok; else no "no shares"; fi
! command -v gnuplot >/dev/null || grep -q '<title>delta: [0-9.]* %</title></polygon>' \
    "$work/b.html" || no "no bar"

exits 0 report b.json --markdown=again.md --html again.html
if cmp -s "$work/b.md" "$work/again.md" && cmp -s "$work/b.html" "$work/again.html"; then ok; else
    no "a stored budget has another page"; fi
exits 0 report b.json
says '^  dbias +value_mean .* predicted$'
refuses 3 "of a budget, report makes --html and --markdown alone" report b.json --judge

echo "budget: a feature that is stated and not there is found without a baseline"
idle="off or on, no figure changed: 'gradgate budget' judges"
few="--suite smoke600 --case normal-N24-D16-s00[0-4]"
exits 0 run $few --kernel mutant:compensation_lost --certify 0 --roundings 0 --out lost.json
if grep -qi "$idle" "$work/out"; then ok; else no "run does not say that the feature is idle"; fi
exits 0 run $few --kernel turbo --certify 0 --out kept.json
if grep -qi "$idle" "$work/out"; then no "compensation of turbo is called idle"; else ok; fi
exits 0 report lost.json --html lost.html
if grep -q 'compensation changed no figure' "$work/lost.html"; then ok; else no "the page says nothing"; fi
exits 1 budget $few --kernel mutant:compensation_lost
says '^  dbias +normal .* not explained$'

echo "run: a kernel whose error is beyond what it states to round"
for fault in compensation_lost weights_coarse o_truncated; do
    exits 0 run $few --kernel mutant:$fault --certify 0 --ablate none --roundings 0 --out w.json
    exits 1 run $few --kernel mutant:$fault --certify 0 --ablate none --out w.json
    says ' roundings: RMSE .* times the .* stated by the kernel'
done
for kernel in naive recompute turbo twopass split; do
    exits 0 run $few --kernel $kernel --certify 0 --roundings all --out w.json
    exits 0 report w.json --judge
done
exits 0 report w.json
says '^  dk +5 +(1|1\.0[0-9]*|0\.99[0-9]*) +normal-N24-D16-s00[0-4]$'
if [ "$(grep -c '"stated_rmse":' "$work/w.json")" -eq 25 ]; then ok; else no "not all were held"; fi
refuses 3 "operator linear states no rounding points" run --suite linear60 --kernel plain --roundings 1
refuses 3 "roundings" run $few --kernel turbo --roundings some

echo "budget: in a report and beside a case"
exits 0 run --suite smoke600 --kernel turbo --case normal-N24-D16-s000 --out r.json
exits 0 report r.json --html r.html --budget b.json
if grep -q 'Error budget: what' "$work/r.html"; then ok; else no "no budget in the page"; fi
exits 0 report r.json --html plain.html
if grep -q 'Error budget' "$work/plain.html"; then no "a budget from nowhere"; else ok; fi
refuses 3 "--budget needs --html" report r.json --budget b.json
refuses 3 "a report, not a budget" report r.json --html r.html --budget r.json
refuses 3 "cannot be opened" report r.json --html r.html --budget none.json
refuses 3 "is a gradgate-bench-1, not a budget" report r.json --html r.html \
    --budget "$here/reports/h200/bench.json"
sed 's/"kernel": "turbo"/"kernel": "naive"/' "$work/b.json" >"$work/n.json"
refuses 3 "kernel naive, not of" report r.json --html r.html --budget n.json
exits 0 case normal-N24-D16-s000 --suite smoke600 --kernel turbo --output dq --budget b.json
says '^  roundings of dq in normal: (ds|output) [0-9.]+ %, .*; predicted$'
refuses 3 "kernel naive, not of" case normal-N24-D16-s000 --suite smoke600 --kernel turbo \
    --budget n.json

echo "budget: accounts that do not hold"
for wrong in p,p_dv,delta_pair,accumulation,output p,ds,delta_pair,accumulation,output \
    p_dv,ds,delta_pair,accumulation,output p,p_dv,ds,delta,accumulation,output; do
    exits 1 budget $one --points "$wrong"
    says '^failed  error budget of turbo'
    says ' not explained$'
done

conclude 70
