#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory and disk that run out. Whatever is refused, wherever: exit code 2 or 3 and one line,
# or the undisturbed result; no crash, no half-written file, nothing earlier lost.
# usage: scarce_test.sh BUILD; EVERY=1 refuses every single allocation, not a spread of them
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
shim=$(cd "$build" && pwd)/harness/memory_shim.so
cd "$work" || exit 2
cat >one.json <<'END'
{"gradgate_suite": 1, "name": "one", "operator": "linear", "cases": [{"extents": {"M": 1, "N": 3, "K": 5},
 "families": ["normal"], "seeds": {"first": 0, "count": 2}}]}
END
run="run --suite one.json --kernel plain --threads 2"
$gradgate $run --out whole.json >/dev/null || no "the tiny suite does not pass"
$gradgate $run --out again.json >/dev/null

plain() { grep -vE '^evidence|promises: | s$' "$1"; } # without times and this machine
# judge WHAT CODE WANTED: what is left of a disturbed command that ended so.
judge() {
    lines=$(wc -l <err)
    if [ "$2" -eq 2 ] || [ "$2" -eq 3 ]; then
        # a case that had no memory is told in the table, not on stderr
        [ "$lines" -eq 1 ] && grep -q '^gradgate: ' err || grep -q 'not verified' out ||
            no "$1: exit $2 says: $(head -c 300 err)"
    elif [ "$2" -ne "$3" ] || [ "$lines" -ne 0 ]; then
        no "$1: exit $2: $(head -c 300 err)"
    else
        plain out >a
        plain undisturbed >b
        cmp -s a b || no "$1: exit $2 with another output"
    fi
    for left in *.tmp-*; do [ -e "$left" ] && no "$1: leaves $left" && rm -f "$left"; done
    ok
}
# kept WHAT: an earlier report at that name is whole, old or new.
kept() {
    $gradgate report earlier.json >/dev/null 2>err
    [ $? -ne 3 ] || no "$1: the report is spoilt: $(cat err)"
}
# starve POINTS ARGUMENT...: refuses one allocation, then it and all later ones.
starve() {
    points=$1
    shift
    rm -f made*
    GRADGATE_COUNT=$work/count LD_PRELOAD=$shim $gradgate "$@" >undisturbed 2>err
    wanted=$? count=$(cat count)
    [ "$count" -gt 20 ] || no "'$*' makes $count allocations only"
    step=$((count / points + 1))
    [ -z "${EVERY:-}" ] || step=1
    for on in "" 1; do
        at=1
        while [ $at -le "$count" ]; do
            cp whole.json earlier.json
            rm -f earlier.json.journal made*
            env LD_PRELOAD="$shim" GRADGATE_FAIL_AT=$at ${on:+GRADGATE_FAIL_ON=1} \
                $gradgate "$@" >out 2>err
            judge "'$*' without allocation $at${on:+ and later ones}" $? $wanted
            case $1 in run) kept "'$*' without allocation $at" ;; esac
            at=$((at + step))
        done
    done
}

echo "memory that runs out"
starve 150 $run --out earlier.json
starve 50 case normal-M1-N3-K5-s000 --suite one.json --kernel plain --why
starve 20 report whole.json --html made.html --junit made.xml --markdown=made.md
starve 20 report whole.json
starve 20 gate again.json --baseline whole.json --json made.json --markdown made.md
starve 20 merge made.json whole.json
starve 20 golden whole.json --out made.txt
starve 20 compare whole.json again.json
starve 20 list suites

# full FILE ARGUMENT...: a disk on which FILE does not fit: as a limit, and as a device.
full() {
    file=$1
    shift
    echo earlier >"$file"
    said=$( (ulimit -f 0 && exec $gradgate "$@") 2>&1 >/dev/null)
    code=$?
    echo "$said" >err
    if [ $code -ne 3 ] || ! grep -q "^gradgate: .*$file" err || [ "$(wc -l <err)" -gt 1 ]; then
        no "'$*' on a full disk: exit $code: $(cat err)"
    elif [ "$(cat "$file")" != earlier ]; then no "'$*' on a full disk spoils $file"
    else ok; fi
    for left in "$file".tmp-*; do [ -e "$left" ] && no "'$*' leaves $left"; done
    rm -f "$file" ./*.journal
    (cd "$work" && ln -s /dev/full "$file" && exec $gradgate "$@" >/dev/null 2>err)
    code=$?
    if [ $code -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && [ -c "$file" ]; then ok; else
        no "'$*' to /dev/full: exit $code: $(cat err)"
    fi
    rm -f "$file"
}

echo "a disk that is full"
full r.json $run --out r.json
full m.json merge m.json whole.json
full g.txt golden whole.json --out g.txt
full h.html report whole.json --html h.html
full j.xml report whole.json --junit j.xml
full m.md report whole.json --markdown=m.md
full g.json gate again.json --baseline whole.json --json g.json
full g.md gate again.json --baseline whole.json --markdown g.md
full b.json bench --suite one.json --kernel plain --reps 1 --out b.json
full b.md bench --suite one.json --kernel plain --reps 1 --markdown b.md
for command in "report whole.json" "compare whole.json again.json" "list suites" doctor help \
    "$run --out r.json" "selftest --list"; do
    $gradgate $command >/dev/full 2>err
    code=$?
    if [ $code -eq 3 ] && [ "$(wc -l <err)" -eq 1 ]; then ok; else
        no "'$command' to a full terminal: exit $code: $(cat err)"
    fi
done
# A file system of 64 KiB, where we may make one: the journal keeps what fits, the rest follows.
mkdir small
if mount -t tmpfs -o size=64k none small 2>/dev/null; then
    $gradgate $run --case '*-s000' --out small/r.json >/dev/null || no "64 KiB hold no report"
    cp small/r.json kept.json
    $gradgate run --suite linear60 --kernel plain --out small/r.json >/dev/null 2>err
    code=$?
    if [ $code -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && cmp -s kept.json small/r.json &&
        [ -s small/r.json.journal ]; then ok; else no "a small disk: exit $code: $(cat err)"; fi
    cp small/r.json.journal grown.json.journal
    umount small
    exits 0 run --suite linear60 --kernel plain --out grown.json --resume
    exits 0 run --suite linear60 --kernel plain --out fresh.json
    if [ "$(grep -m 1 '"evidence"' grown.json)" = "$(grep -m 1 '"evidence"' fresh.json)" ]
    then ok; else no "what a full disk left differs from an undisturbed run"; fi
fi
cd "$here" || exit 2
conclude 300
