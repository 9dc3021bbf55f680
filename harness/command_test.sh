#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program as a person uses it: exit codes, one-line errors, reports, resume after
# kill -9, golden digests. usage: command_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

run="run --device host --kernel turbo"

echo "command line: bad input"
refuses 3 "name a command"
refuses 3 "unknown command" frobnicate
refuses 3 "needs --suite" run
refuses 3 "needs --kernel" run --suite probes
refuses 3 "has no option" run --frob
refuses 3 "no help on 'frob': choose one of run" help frob
refuses 3 "one thing at a time" help run gate
refuses 3 "--completion takes" help --completion csh
refuses 3 "needs a value" run --suite
refuses 3 "is not an option of run" $run --suite probes extra
refuses 3 "unknown device" run --suite probes --kernel turbo --device gpu
refuses 3 "no kernel 'fast'" run --suite probes --kernel fast --device host
refuses 3 "atomic" run --suite probes --kernel atomic --device host
refuses 3 "nosuch" $run --suite nosuch
refuses 3 "no case of suite" $run --suite probes --case 'zzz*'
refuses 3 "--repeats takes" $run --suite probes --repeats 0
refuses 3 "--repeats takes" $run --suite probes --repeats 1e9
refuses 3 "--repeats takes" $run --suite probes --repeats ''
refuses 3 "--shard takes" $run --suite probes --shard 3/2
refuses 3 "--shard takes" $run --suite probes --shard 1
refuses 3 "no feature 'speed'" $run --suite probes --ablate speed
refuses 3 "/nonexistent" $run --suite probes --out /nonexistent/r.json
refuses 3 "golden" $run --suite probes --golden /nonexistent
refuses 3 "list takes" list nothing
refuses 3 "takes one REPORT" report
refuses 3 "nosuch.json" report nosuch.json
refuses 3 "golden needs --out" golden x.json
refuses 3 "--bogus" report x.json --bogus
refuses 3 "--html needs a value" report x.json --html
refuses 3 "suite is given twice" $run --suite probes --suite twin32
refuses 3 "kernel is given twice" $run --suite probes --kernel naive
refuses 3 "case is given twice" $run --suite probes --case a --case b
refuses 3 "baseline is given twice" gate x.json --baseline a --baseline b
refuses 3 "is of --inputs" $run --suite probes --operator linear
refuses 3 "kernel-name is empty" $run --suite probes --kernel-name ''
refuses 3 "source needs --annotations" report x.json --source x.c
refuses 3 "not a file that a report can replace" $run --suite probes --out .
refuses 3 "not a file that a report can replace" $run --suite probes --out ''
mkfifo "$work/pipe"
refuses 3 "not a file that a report can replace" $run --suite probes --out pipe
if [ -p "$work/pipe" ] && [ ! -e "$work/pipe.journal" ]; then ok; else no "the pipe is gone"; fi
ln -s nowhere.json "$work/lost"
refuses 3 "not a file that a report can replace" $run --suite probes --out lost
refuses 3 "is a link to what is not there" golden "$here/reports/h200/twin32-split.json.gz" --out lost
if [ -L "$work/lost" ] && [ ! -e "$work/nowhere.json" ]; then ok; else no "the link is gone"; fi
mkdir "$work/suites"
echo '{' >"$work/suites/aaa.json"
listed=$(cd "$work" && GRADGATE_SUITES=suites "$gradgate" list suites 2>err; echo "exit $?")
if echo "$listed" | grep -q '^twin32 ' && echo "$listed" | grep -q '^exit 3$' &&
    [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q 'suites/aaa.json' "$work/err"; then ok
else no "a bad suite hides the others: $listed"; fi
refuses 3 "changed from run to run" golden "$here/reports/h200/paper600-atomic.json.gz" --out g
printf '{"gradgate_suite":1,"name":"big","operator":"triangle_attention","cases":[{"extents":{"B":1,"R":16777216,"H":16777216,"N":16777216,"D":64},"families":["normal"],"seeds":{"first":0,"count":1}}]}' >"$work/big.json"
refuses 3 "big.json" $run --suite big.json
printf '{"gradgate_suite":1,' >"$work/torn.json"
refuses 3 "torn.json" $run --suite torn.json
mkdir "$work/locked"
: >"$work/locked/r.json"
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w "$work/locked"
    refuses 3 "locked" $run --suite probes --out locked/r.json
fi
if "$gradgate" doctor | grep -q '^cuda: not usable'; then
    refuses 2 "" run --suite probes --kernel turbo --device cuda
fi

echo "help: every command and topic has a page, every option of a table is taken"
exits 0 help
words=$(awk '/^  [a-z]/ { print $1 }' "$work/out")
[ "$(echo "$words" | wc -l)" -ge 18 ] || no "the overview is short: $words"
for word in $words; do
    exits 0 help "$word"
    if [ "$(wc -l <"$work/out")" -ge 3 ]; then ok; else no "help $word says nothing"; fi
    options=$(awk '/^  --/ { sub(/\[.*/, "", $1); print $1 }' "$work/out")
    for option in $options; do
        (cd "$work" && "$gradgate" "$word" "$option=x" --frob >out 2>err)
        # taken when it is the next one that is unknown, or the value or its lack that is bad
        if [ $? -eq 3 ] && ! grep -qF "has no option $option=x" "$work/err"; then ok; else
            case $(cat "$work/err") in
            *"has no option $option=x"*) # a flag takes no value
                refuses 3 "has no option --frob" "$word" "$option" --frob ;;
            *) no "$word does not take $option: $(cat "$work/err")" ;;
            esac
        fi
    done
done
exits 0 run --help
if head -1 "$work/out" | grep -q '^usage: gradgate run --suite'; then ok; else no "run --help"; fi
exits 0 --help
exits 0 --version
if grep -q '^compiler: ' "$work/out"; then ok; else no "--version names no compiler"; fi

echo "runs on the host"
exits 0 $run --suite smoke600 --case '*-N24-*-s000' --out once.json
exits 0 $run --suite smoke600 --case '*-N24-*-s000' --out twice.json --threads 1
equal "$work/once.json" "$work/twice.json"
exits 0 report once.json
exits 0 report --markdown once.json
(cd "$work" && { "$gradgate" report once.json 2>err; echo $? >code; } | true)
if [ "$(cat "$work/code")" -eq 0 ] && [ ! -s "$work/err" ]; then ok; else
    no "a reader that leaves changes the verdict: $(cat "$work/code" "$work/err")"
fi
exits 0 $run --suite probes --out probes.json
for kernel in naive recompute; do
    exits 0 run --device host --suite smoke600 --kernel $kernel --case '*-N40-*-s001'
done
exits 0 run --device host --suite linear60 --kernel plain --out linear.json
exits 2 $run --suite smoke600 --case 'normal-N24-D16-s000' --repeats 1

echo "reports against the schema"
for report in once.json probes.json linear.json; do
    if sh "$here/reports/schema/validate.sh" "$work/$report" >"$work/out" 2>&1; then ok; else
        no "$report breaks the schema: $(tail -3 "$work/out")"
    fi
done

echo "resume after kill -9"
exits 0 $run --suite smoke600 --case '*-s00[12]' --out whole.json
for wait in 0.1 0.3 0.6 1.0 1.5; do
    rm -f "$work/killed.json" "$work/killed.json.journal"
    (cd "$work" && exec "$gradgate" $run --suite smoke600 --case '*-s00[12]' \
        --out killed.json >/dev/null 2>&1) &
    pid=$!
    sleep "$wait"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -e "$work/killed.json" ] && continue # it was faster
    [ -e "$work/killed.json.journal" ] || { no "no journal after $wait s"; continue; }
    refuses 3 "killed.json.journal" $run --suite smoke600 --case '*-s00[12]' --out killed.json
    refuses 3 "repeats" $run --suite smoke600 --case '*-s00[12]' --out killed.json \
        --repeats 3 --resume
    exits 0 $run --suite smoke600 --case '*-s00[12]' --out killed.json --resume
    equal "$work/whole.json" "$work/killed.json"
done
# A finished case under the name of another, which nobody ran.
breaks="$work/renamed.json.journal"
(cd "$work" && exec "$gradgate" $run --suite smoke600 --case '*-s00[12]' --out renamed.json \
    >/dev/null 2>&1) &
pid=$!
tries=0
while [ "$tries" -lt 300 ] && [ "$(sed -n '$=' "$breaks" 2>/dev/null || true)0" -lt 30 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
sed -i '2s/"name": "[^"]*"/"name": "normal-N24-D16-s777"/' "$breaks"
refuses 3 "is not case" $run --suite smoke600 --case '*-s00[12]' --out renamed.json --resume

echo "a full disk loses nothing"
(cd "$work" && ulimit -f 16 && "$gradgate" $run --suite smoke600 --case '*-s00[12]' \
    --out full.json >out 2>err)
code=$?
if [ $code -eq 3 ] && [ ! -e "$work/full.json" ]; then ok; else
    no "full disk: exit $code, $(cat "$work/err")"
fi
exits 0 $run --suite smoke600 --case '*-s00[12]' --out full.json --resume
equal "$work/whole.json" "$work/full.json"

echo "golden digests of the card"
for golden in "$here"/cases/golden/*.txt; do
    name=$(basename "$golden" .txt)
    exits 0 run --device host --suite "${name##*-}" --kernel "${name%-*}" --golden "$golden" \
        --repeats 2 --ablate none --certify 0
done

echo "one changed rounding in the twin turns the golden check red"
(cd "$work" && "$(dirname "$gradgate")/planted/gradgate" run --device host --suite twin300 \
    --kernel turbo --golden "$here/cases/golden/turbo-twin300.txt" --repeats 2 \
    --ablate none --certify 0 --out planted.json >out 2>err)
code=$?
if [ $code -eq 1 ] && grep -q 'golden: bits differ' "$work/out"; then ok; else
    no "the planted twin exits $code"
fi

echo "every planted fault is caught, no honest kernel is accused, and both can fail"
refuses 3 "--control takes" selftest --control nothing
refuses 3 "is not an option of selftest" selftest extra
exits 0 selftest --list
grep '^|' "$here/harness/README.md" >"$work/table"
if cmp -s "$work/table" "$work/out"; then ok; else
    no "harness/README.md is not what selftest --list prints: $(diff "$work/table" "$work/out" | head -3)"
fi
exits 0 list checks
for check in $("$gradgate" list mutants | awk '{print $5}' | sed 's/^level_//' | sort -u); do
    if grep -q "^$check " "$work/out"; then ok; else no "list checks lacks $check"; fi
done
echo "planted faults by name, and what they say of the limits"
refuses 3 "no planted fault 'mutant:none_such'" run --suite selftest --kernel mutant:none_such
refuses 3 "calibrate takes reports" calibrate
refuses 3 "nosuch.json" calibrate nosuch.json
exits 1 run --suite selftest --case 'sharp-R3-N40-D16-*' --kernel mutant:s_tf32 --out s_tf32.json
exits 2 calibrate once.json s_tf32.json # many limits reject no fault, since there is but one
if grep -q 'gauge_max .* s_tf32; ' "$work/out" && grep -q 'NO FAULT IS REJECTED' "$work/out"; then ok
else no "calibrate does not name the fault: $(head -20 "$work/out")"; fi
exits 0 calibrate once.json
refuses 3 "comes twice" calibrate once.json once.json
echo "claims are held against the run"
paper=$here/reports/h200/paper600
exits 0 report "$paper-turbo.json.gz" --beside "$paper-naive.json.gz" --html claims.html
exits 0 report "$paper-turbo.json.gz" --beside "$paper-naive.json.gz"
if grep -qE '^ *not reproduced +dbias +naive ' "$work/out" &&
    grep -qE '^ *reproduced +dbias +- +\+40' "$work/out" &&
    grep -q '>dbias</code> against naive</td>.*not reproduced' "$work/claims.html"; then ok
else no "the claims: $(grep -A9 '^Claims' "$work/out")"; fi
refuses 3 "cannot be opened" report once.json --beside none.json
refuses 3 "not of" report once.json --beside "$here/reports/h200/linear60-plain.json.gz"
refuses 3 "two suites" report "$paper-turbo.json.gz" --beside "$here/reports/h200/families600-turbo.json.gz"
exits 0 list claims
if [ "$(grep -c ' turbo ' "$work/out")" -ge 3 ]; then ok; else no "list claims"; fi
echo "slips of the hand are named"
refuses 3 "hold two things" report once.json --html x --junit x
refuses 3 "hold two things" gate once.json --baseline once.json --json x --markdown x
refuses 3 "hold two things" bench --suite probes --kernel turbo --out x --markdown x
refuses 3 "hold two things" budget --suite smoke600 --kernel turbo --out x --html x
refuses 3 "not ' 5'" $run --suite smoke600 --repeats ' 5'
refuses 3 "not '-'" $run --suite smoke600 --case '*-N24-*-s000' --out -
refuses 3 "must follow exec: or serve:" run --suite smoke600 --kernel serve:
refuses 3 "one thing at a time" list kernels suites
refuses 3 "is a gradgate-bench-1, not a report" golden "$here/reports/h200/bench.json" --out g.txt
refuses 3 "is a self-test's, not a report" report "$here/reports/h200/selftest.json"
refuses 3 "is a suite, not a report" report "$here/cases/suites/smoke600.json"
exits 0 -h
exits 0 report -h
exits 0 $run --suite smoke600 --case '*-N24-*-s001' --out other.json
refuses 3 "name a new FILE first" merge other.json once.json
exits 0 merge again.json once.json
exits 0 merge again.json once.json
echo "evidence is not written over, and files are tried before hours of work"
cp "$work/once.json" "$work/kept.json"
gzip -k "$work/kept.json"
refuses 3 "is a report" golden kept.json --out kept.json
refuses 3 "is a report" report kept.json --html kept.json
refuses 3 "is a report" report kept.json --junit kept.json.gz
refuses 3 "cannot be created" selftest --json /nonexistent/x
refuses 3 "cannot be created" bench --suite probes --kernel turbo --out /nonexistent/x
if cmp -s "$work/once.json" "$work/kept.json"; then ok; else no "a report was written over"; fi
(cd "$work" && "$gradgate" $run --suite smoke600 --case '*-N24-*-s000' --out shut.json >&- 2>&-)
code=$?
if [ $code -eq 3 ] && "$gradgate" report "$work/shut.json" >/dev/null; then ok; else
    no "with standard output closed: exit $code"
fi
exits 1 report s_tf32.json
exits 0 selftest --json selftest.json
if grep -q '"verdict": "passed"' "$work/selftest.json" && ! grep -q SURVIVED "$work/out"
then ok; else no "the self-test does not say what it found: $(tail -3 "$work/out")"; fi
exits 1 selftest --control survivor
if grep -q SURVIVED "$work/out"; then ok; else no "a survivor is not named"; fi
exits 1 selftest --control alarm
if grep -q 'FALSE ALARM' "$work/out"; then ok; else no "a false alarm is not named"; fi

conclude 40
