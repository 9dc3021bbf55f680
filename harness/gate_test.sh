#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports against each other, as a person uses them: gate, compare, merge, judge again,
# and the forms for CI servers. usage: gate_test.sh BUILD
# A build from changed sources gates nothing green: there this expects 2 instead of 0.
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

# rule NAME VERDICT: the last gate's table says so.
rule() {
    if grep -qE "^  $1 +$2 +[0-9]" "$work/out"; then ok; else
        no "rule $1 is not $2: $(grep -E "^  $1 " "$work/out" | head -1)"
    fi
}

# says TEXT: so does the last output.
says() {
    if grep -qF -- "$1" "$work/out"; then ok; else no "no '$1' in: $(head -4 "$work/out")"; fi
}

# equal FILE FILE: equal reports, but for the fields of time and place.
equal() {
    fields='"(start|stop|duration|seconds|seconds_decimal|started|finished|host_threads)":'
    for side in 1 2; do
        eval "file=\${$side}"
        sed -E 's/"duration": [0-9]+, ?//' "$work/$file" | grep -vE "$fields" >"$work/side$side"
    done
    if [ -s "$work/side1" ] && cmp -s "$work/side1" "$work/side2"; then ok; else
        no "$1 and $2 differ: $(diff "$work/side1" "$work/side2" | head -4)"
    fi
}

if "$gradgate" --version | grep -qE '\+dirty|unknown\)'; then green=2; else green=0; fi
run="run --device host --suite smoke600"
few="$run --kernel turbo --case *-N24-*-s000"
set -f # the globs are the program's

echo "gate, compare, merge: bad input"
refuses 3 "gate takes one REPORT" gate --baseline x.json
refuses 3 "gate needs --baseline" gate x.json
refuses 3 "--bits takes exact" gate x.json --baseline y.json --bits some
refuses 3 "nosuch.json" gate nosuch.json --baseline nosuch.json
refuses 3 "compare takes two reports" compare x.json
refuses 3 "merge takes OUT" merge out.json
refuses 3 "has no option" merge --frob out.json x.json
refuses 3 "nosuch.json" merge out.json nosuch.json

echo "shards are the whole run"
exits 0 $few --out whole.json
for i in 1 2 3; do exits 0 $few --shard $i/3 --out part$i.json; done
exits 0 merge merged.json part1.json part2.json part3.json
says "3 parts, 20 cases: passed"
equal merged.json whole.json
exits 0 merge merged.json part3.json part1.json part2.json
equal merged.json whole.json
refuses 3 "1 of 3 shards are missing: 2" merge out.json part1.json part3.json
refuses 3 "shard 3 of 3 comes twice" merge out.json part1.json part2.json part3.json part3.json
exits 0 $run --kernel turbo --case 'normal-N24-*-s000' --out other.json
refuses 3 "case normal-N24-D16-s000 comes twice" merge out.json whole.json other.json
exits 0 $run --kernel turbo --case 'normal-N24-*-s001' --out other.json
exits 0 merge out.json whole.json other.json
exits 0 $few --shard 2/3 --repeats 3 --out part2r.json
refuses 3 "repeats is 5 and 3" merge out.json part1.json part2r.json part3.json

echo "gate: equal runs"
exits $green gate merged.json --baseline whole.json --bits exact --json g.json --markdown g.md
rule cases passed; rule rmse passed; rule determinism passed; rule bits passed
rule compensation passed; rule precision passed; rule limits passed
[ $green -eq 0 ] && rule build passed
[ $green -eq 2 ] && rule build "not verified"
if grep -q '"schema": "gradgate-gate-1"' "$work/g.json" && grep -q '^# ' "$work/g.md"; then ok
else no "the gate's files"; fi
schema=$(cd "$(dirname "$0")/../reports/schema" && pwd)/gradgate-gate-1.schema.json
validate() { # g.json
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import jsonschema' 2>/dev/null || continue
        if "$python" -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' \
            "$schema" "$work/g.json" 2>"$work/err"
        then ok; else no "g.json breaks its schema: $(tail -3 "$work/err")"; fi
        break
    done
}
validate
exits 2 gate merged.json --baseline whole.json --commit 000000000000
says "stale: the report is of commit"
exits 2 gate merged.json --baseline merged.json
says "report and baseline are the same run"

echo "gate: speed and memory, from benches"
exits 0 bench --suite smoke600 --case 'normal-N24-D16-s000' --kernel turbo,recompute --reps 5 \
    --out bench.json
# bench FACTOR BYTES: bench.new.json, with 1 ms for all but turbo and FACTOR for it: a clock
# of this machine would be noise.
bench() {
    python3 -c 'import json, sys
b = json.load(open(sys.argv[1]))
for e in b["entries"]:
    turbo = e["kernel"] == "turbo"
    for way in ("forward", "total"):
        e[way]["samples_ms"] = [float(sys.argv[2]) if turbo else 1] * 5
    e["workspace_bytes"] += int(sys.argv[3]) if turbo else 0
json.dump(b, open(sys.argv[4], "w"))' "$work/bench.json" "$1" "$2" "$work/$3"
}
bench 1 0 then.json
bench 1.02 0 now.json
bench 1.2 0 slow.json
bench 1 9999999 big.json
both="merged.json --baseline whole.json --bench-baseline then.json"
exits $green gate $both --bench now.json --json g.json
rule speed passed; rule memory passed
validate
exits 1 gate $both --bench slow.json --against recompute --junit speed.xml
rule speed failed
says "forward and backward takes +20.0 % time"
if grep -q 'testcase .*name="speed".*<failure\|message="forward .*relative to recompute' \
    "$work/speed.xml"; then ok; else no "speed.xml does not say it"; fi
exits 1 gate $both --bench big.json
rule memory failed
exits 2 gate $both --bench now.json --against naive
rule speed "not verified"
refuses 3 "go together" gate $both
refuses 3 "needs --bench" gate whole.json --baseline merged.json --against naive
refuses 3 "a report, not a bench" gate $both --bench whole.json
refuses 3 "cannot be opened" gate $both --bench none.json

echo "gate: lost cases"
exits 2 gate part1.json --baseline whole.json
rule cases "not verified"
says "lost: 13 cases of the baseline not measured"

echo "gate: a kernel without compensation is red"
exits 0 $run --kernel naive --case '*-N24-*-s000' --out naive.json
exits 1 gate naive.json --baseline whole.json
rule rmse failed
says "another kernel: naive on host, baseline turbo on host"
exits 0 compare whole.json naive.json
says "dbias"
exits 0 compare --markdown whole.json naive.json

echo "gate: a failed check is red"
exits 2 $few --repeats 1 --out once.json
exits 2 gate once.json --baseline whole.json
rule limits "not verified"
rule determinism "not verified"

echo "gate: other suites and operators are refused"
exits 0 run --device host --suite linear60 --kernel plain --out linear.json
refuses 3 "two operators" gate whole.json --baseline linear.json
refuses 3 "two operators" compare whole.json linear.json
exits 0 run --device host --suite probes --kernel turbo --out probes.json
refuses 3 "two suites" gate whole.json --baseline probes.json
refuses 3 "not parts of one run" merge out.json whole.json probes.json

if [ -x "$planted" ]; then
    echo "gate: one changed rounding is announced, and red when bits must stay"
    many="run --device host --suite twin300 --kernel turbo --case *-N1??-* --repeats 2"
    exits 0 $many --certify 0 --out before.json
    (cd "$work" && "$planted" $many --certify 0 --out after.json >/dev/null 2>&1)
    exits $green gate after.json --baseline before.json
    rule bits passed; rule rmse passed
    says "announced"
    exits 1 gate after.json --baseline before.json --bits exact
    rule bits failed
fi

echo "reports in other forms"
exits 0 report whole.json --html r.html --junit r.xml --markdown=r.md
exits 2 report once.json --junit once.xml
if command -v xmllint >/dev/null; then
    for file in r once; do
        if xmllint --noout "$work/$file.xml" 2>"$work/err"; then ok; else
            no "$file.xml is not XML: $(head -2 "$work/err")"
        fi
    done
fi
if [ "$(grep -c '<testcase ' "$work/r.xml")" -eq 20 ]; then ok; else no "testcases"; fi
if [ "$(grep -c '<error type="not verified"' "$work/once.xml")" -eq 20 ]; then ok
else no "JUnit hides what is not verified"; fi
if grep -qE '(src|href)=|https?:|<script' "$work/r.html"; then no "HTML reaches out"; else ok; fi

echo "judged again without a device"
exits 0 report --judge whole.json
says "then: 20 passed, 0 failed, 0 not verified"
says "the limits are the same numbers"
exits 2 report --judge once.json

echo "a full disk changes nothing"
printf old >"$work/old"
for call in "merge old part1.json part2.json part3.json" "report whole.json --html old" \
    "report whole.json --junit old" "gate whole.json --baseline whole.json --json old"; do
    (cd "$work" && ulimit -f 2 && "$gradgate" $call >/dev/null 2>err)
    code=$?
    if [ $code -eq 3 ] && [ "$(cat "$work/old")" = old ] && grep -q "free some space" "$work/err"
    then ok; else no "'$call' on a full disk exits $code: $(cat "$work/err")"; fi
done
leftover=$(find "$work" -name "*.tmp-*")
if [ -n "$leftover" ]; then no "a temporary file stays: $leftover"; else ok; fi

conclude 60
