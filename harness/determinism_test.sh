#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gradgate determinism as a person uses it, fresh processes included. The load depends on
# what else the machine does, so a level that is not verified for that reason alone is
# let pass here; that a load is measured rightly is for levels_test.c.
# usage: determinism_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

# level REPORT NAME: the verdicts of a level over all cases, each once.
level() {
    python3 - "$work/$1" "$2" <<'PYTHON'
import json, sys
levels = [l for t in json.load(open(sys.argv[1]))["results"]["tests"]
          for l in t["extra"]["levels"] if l["name"] == sys.argv[2]]
print(",".join(sorted({l["verdict"] for l in levels})) or "absent")
PYTHON
}
# levels REPORT NAME VERDICT
levels() {
    found=$(level "$1" "$2")
    if [ "$found" = "$3" ]; then ok; else no "$1: level $2 is $found, not $3"; fi
}

echo "determinism: bad input"
refuses 3 "needs --kernel" determinism
refuses 3 "no built-in kernel is called 'nosuch'" determinism --kernel nosuch
refuses 3 "--levels takes" determinism --kernel turbo --levels idle,busy
refuses 3 "--levels takes" run --suite probes --kernel turbo --levels ''
refuses 3 "--repeats takes" determinism --kernel turbo --repeats 1
refuses 3 "say --device cuda" determinism --kernel turbo --levels twin
refuses 3 "say --device cuda" determinism --kernel turbo --levels idle,twin
refuses 3 "is not an option" determinism --kernel turbo extra
if "$gradgate" help | grep -q fresh-process; then no "help shows a hidden command"; else ok; fi

echo "determinism: an honest kernel and the control"
(cd "$work" && "$gradgate" determinism --kernel turbo --repeats 6 --out turbo.json >out 2>err)
code=$?
load=$(level turbo.json load),$(level turbo.json together)
case $code,$load in
0,passed,passed) ok ;;
2,*"not verified"*) echo "  load or calls together not verified: the machine is busy" ;;
*) no "turbo exits $code, load and together $load" ;;
esac
for name in idle placement process; do levels turbo.json $name passed; done
levels turbo.json twin absent
if grep -q '^Determinism by level' "$work/out"; then ok; else no "no table of levels"; fi
# of three rows one order in three is the reference's: 11 equal runs of one of three cases, 1 in 59,000
exits 1 determinism --kernel scattered --repeats 12 --out scattered.json
for name in idle load placement process; do levels scattered.json $name failed; done
exits 1 report scattered.json --markdown
if grep -q '^## Determinism by level' "$work/out"; then ok; else no "no Markdown of levels"; fi
exits 0 run --suite determinism_linear --kernel plain --levels idle,process --case '*-K97-*' \
    --out plain.json
levels plain.json idle passed
levels plain.json process passed
levels plain.json load absent
for report in turbo.json scattered.json plain.json; do
    if sh "$here/reports/schema/validate.sh" "$work/$report" >"$work/out" 2>&1; then ok; else
        no "$report breaks the schema: $(tail -3 "$work/out")"
    fi
done

echo "determinism: a kernel beside itself"
exits 0 run --suite selftest --case 'normal-R3-N17-D16-*' --kernel mutant:one_scratch --ablate none \
    --out alone.json
exits 1 run --suite selftest --case 'normal-R3-N17-D16-*' --kernel mutant:one_scratch --ablate none \
    --levels idle,together --repeats 8 --out beside.json
levels beside.json idle passed
levels beside.json together failed
if grep -q '"control": "recompute sharing saved tensors"' "$work/beside.json"; then ok; else
    no "the control is not the one that shares"
fi

echo "determinism: a kernel in another process, whose control is in this one"
exits 0 run --suite determinism_linear --case '*-N33-K97-*' --limits-of plain --ablate none \
    --kernel "serve:python3 $here/scripts/peers/linear_python.py" --levels idle --repeats 4 \
    --out outside.json
levels outside.json idle passed
exits 2 run --suite determinism_linear --case '*-N33-K97-*' --limits-of plain --ablate none \
    --kernel "serve:python3 $here/scripts/peers/linear_python.py" --levels load,together \
    --repeats 4 --out outside.json
levels outside.json load "not verified"
levels outside.json together "not verified"

echo "determinism: two rows added in any order show nothing"
cat >"$work/two.json" <<'JSON'
{"gradgate_suite": 1, "name": "two", "operator": "triangle_attention", "cases": [
 {"extents": {"B": 1, "R": 2, "H": 1, "N": 17, "D": 8}, "families": ["normal"],
  "seeds": {"first": 0, "count": 1}}]}
JSON
exits 2 determinism --kernel turbo --suite two.json --levels idle,process --repeats 4 --out two.out
levels two.out idle "not verified"
levels two.out process "not verified"
if grep -q 'cannot show a race' "$work/two.out"; then ok; else no "no reason is given"; fi

echo "determinism: a fresh process that says nothing"
(cd "$work" && "$gradgate" fresh-process --suite probes >out 2>err)
if [ $? -eq 3 ]; then ok; else no "fresh-process without arguments"; fi

conclude 36
