#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments of a run, with --resume after each: no finished case is lost, and
# the report that comes in the end is that of an undisturbed run.
# usage: kill_test.sh BUILD; KILLS=100 kills as often (default 12); SEED=1 other moments
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
cd "$work" || exit 2
run="run --device host --suite smoke600 --kernel turbo --case *-N24-*-s00[01] --certify 5"
set -f # the glob is for gradgate
# same: the report in the end has the figures, bits and verdicts of the undisturbed one.
same() {
    fields='"(start|stop|duration|seconds|seconds_decimal|started|finished|host_threads)":'
    grep -vE "$fields" whole.json >a
    grep -vE "$fields" killed.json >b
    cmp -s a b
}

begun=$(date +%s%N)
$gradgate $run --out whole.json >/dev/null || no "the run does not pass"
length=$(($(date +%s%N) - begun))
cases=$(grep -c '"rawStatus"' whole.json)
# Moments from before the first case to after the last, in seconds.
waits=$(awk -v n="${KILLS:-12}" -v seed="${SEED:-1}" -v most="$length" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f ", rand() * most / 2.2e9 }')
: >before
kills=0 reports=0 early=0 grown=0
for wait in $waits; do
    $gradgate $run --out killed.json --resume >out 2>err &
    pid=$!
    sleep "$wait"
    kill -9 $pid 2>/dev/null && kills=$((kills + 1))
    wait $pid 2>/dev/null
    code=$?
    if [ -e killed.json ]; then # it was faster than the kill
        if [ $code -ne 0 ] && [ $code -ne 137 ]; then no "exit $code: $(cat err)"; fi
        if same; then ok; else no "after $kills kills the report differs from an undisturbed run's"
        fi
        reports=$((reports + 1))
        rm -f killed.json killed.json.journal
        : >before
    elif [ -e killed.json.journal ]; then
        # the whole lines of before are still there, and a line is whole or the last
        cp killed.json.journal lines
        old=$(wc -c <before)
        head -c "$old" lines | cmp -s - before || no "a finished case was lost after $wait s"
        if [ "$(tail -c 1 lines | wc -l)" -eq 1 ]; then cp lines before; else sed '$d' lines >before
        fi
        [ "$(wc -c <before)" -eq "$old" ] || grown=$((grown + 1))
        ok
    else
        early=$((early + 1))
    fi
done
$gradgate $run --out killed.json --resume >out 2>err || no "the last run fails: $(cat err)"
if same && [ "$(grep -c '"rawStatus"' killed.json)" -eq "$cases" ]; then ok; else
    no "the report in the end differs from an undisturbed run's"
fi
echo "$kills kills, $early before the journal, $grown after more cases, $((reports + 1)) reports" \
    "of $cases cases"
[ $grown -gt 1 ] || no "no kill came between two cases"
cd "$here" || exit 2
conclude 3
