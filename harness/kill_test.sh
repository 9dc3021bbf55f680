#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments of a run, with --resume after each: no finished case is lost, and
# the report that comes in the end is that of an undisturbed run. Every other time the cases
# run in worker processes, which must end with the one that is killed.
# usage: kill_test.sh BUILD; KILLS=100 kills as often (default 12); SEED=1 other moments
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
cd "$work" || exit 2
set -f # the pattern is for gradgate
run="run --device host --suite smoke600 --kernel turbo --case *-N24-*-s00[01] --certify 5"

# finish: the report is there, so it must be the undisturbed one; the next run starts anew.
finish() {
    equal whole.json killed.json
    [ "$(grep -c '"rawStatus"' killed.json)" -eq "$cases" ] || no "cases are missing"
    reports=$((reports + 1))
    rm -f killed.json killed.json.journal
    : >before
}

# inspect WAIT: a journal holds every whole line that it held before.
inspect() {
    old=$(wc -c <before)
    head -c "$old" killed.json.journal | cmp -s - before || no "a case was lost after $1 s"
    # what counts is a whole line: the rest of a last one is cut off by --resume
    if [ "$(tail -c 1 killed.json.journal | wc -l)" -eq 1 ]; then cp killed.json.journal lines
    else sed '$d' killed.json.journal >lines; fi
    mv lines before
    [ "$(wc -c <before)" -eq "$old" ] || grown=$((grown + 1))
    ok
}

begun=$(date +%s%N)
$gradgate $run --out whole.json >/dev/null || no "the run does not pass"
length=$(($(date +%s%N) - begun))
cases=$(grep -c '"rawStatus"' whole.json)
wanted=${KILLS:-12}
: >before
kills=0 reports=0 early=0 grown=0 round=0
# Moments from before the first case to after the last, in seconds; some come too late.
# shellcheck disable=SC2013
for wait in $(awk -v n=$((8 * wanted)) -v seed="${SEED:-1}" -v most="$length" \
    'BEGIN { srand(seed); while (n-- > 0) printf "%.3f ", rand() * most / 3e9 }'); do
    [ $kills -lt "$wanted" ] || break
    round=$((round + 1)) workers=
    [ $((round % 2)) -eq 1 ] || workers="--workers 2"
    $gradgate $run $workers --out killed.json --resume >out 2>err &
    pid=$!
    sleep "$wait"
    children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    kill -9 $pid 2>/dev/null && kills=$((kills + 1))
    wait $pid 2>/dev/null
    code=$?
    [ $code -eq 0 ] || [ $code -eq 137 ] || no "exit $code: $(cat err)"
    [ -z "$children" ] || sleep 0.1
    for child in $children; do
        read -r id name state rest 2>/dev/null <"/proc/$child/stat" && [ "$state" != Z ] &&
            no "worker $child outlives the run"
    done
    if [ -e killed.json ]; then finish
    elif [ -e killed.json.journal ]; then inspect "$wait"
    else early=$((early + 1)); fi
done
$gradgate $run --out killed.json --resume >out 2>err || no "the last run fails: $(cat err)"
finish
echo "$kills kills, $early before the journal, $grown after more cases; $reports reports of" \
    "$cases cases are those of an undisturbed run"
[ $grown -gt 1 ] || no "no kill came between two cases"
[ $kills -ge $((wanted / 2)) ] || no "only $kills kills came in time"

echo "a run that is killed leaves no command of the user's behind, and no folder in memory"
cat >hangs <<'END'
#!/bin/sh
sleep 321 &
echo "$! $1" >where.new
mv where.new where
wait
END
chmod +x hangs
for signal in TERM HUP KILL; do
    rm -f where
    # Not ignored, though this script may run under nohup.
    env --default-signal=HUP,TERM $gradgate run --suite linear60 --kernel "exec:$work/hangs" \
        --limits-of plain --certify 0 --out hangs-$signal.json >out 2>err &
    pid=$!
    for try in 1 2 3 4 5 6 7 8 9 10; do [ -e where ] && break; sleep 0.3; done
    read -r sleeper folder 2>/dev/null <where || no "the command is not called: $(cat err)"
    [ -e "$folder/in.safetensors" ] || no "no inputs in '$folder'"
    kill -$signal $pid
    wait $pid 2>/dev/null
    for try in 1 2 3 4 5 6 7 8 9 10; do
        state=$(awk '{ print $3 }' "/proc/$sleeper/stat" 2>/dev/null)
        [ ! -e "${folder%/*}" ] && [ "${state:-Z}" = Z ] && break
        sleep 0.5
    done
    if [ -e "${folder%/*}" ]; then no "SIG$signal leaves ${folder%/*}"
    elif [ -n "$state" ] && [ "$state" != Z ]; then no "SIG$signal leaves process $sleeper"
    else ok; fi
done
cd "$here" || exit 2
conclude 6
