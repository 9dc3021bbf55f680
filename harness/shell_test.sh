# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the shell tests share; sourced after `build=$1`. Leaves: gradgate and planted (the
# programs), here (the top folder), work (an empty folder, removed at the end), and the
# last command's stdout and stderr in $work/out and $work/err.
gradgate=$(cd "$build" && pwd)/gradgate
planted=$(dirname "$gradgate")/planted/gradgate
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
passed=0 failed=0

ok() { passed=$((passed + 1)); }
no() { failed=$((failed + 1)); echo "FAILED: $1"; }

# refuses CODE TEXT ARGUMENT...: exit code, exactly one line on stderr holding TEXT,
# nothing on stdout.
refuses() {
    want=$1 text=$2
    shift 2
    (cd "$work" && "$gradgate" "$@" >out 2>err)
    code=$?
    if [ "$code" -ne "$want" ]; then no "'$*' exits $code, not $want: $(cat "$work/err")"
    elif [ "$(wc -l <"$work/err")" -ne 1 ] || [ -s "$work/out" ]; then
        no "'$*' prints more than one line"
    elif ! grep -qF -- "$text" "$work/err"; then
        no "'$*' says '$(cat "$work/err")', not '$text'"
    else ok; fi
}

# exits CODE ARGUMENT...
exits() {
    want=$1
    shift
    (cd "$work" && "$gradgate" "$@" >out 2>err)
    code=$?
    if [ "$code" -eq "$want" ]; then ok; else
        no "'$*' exits $code, not $want: $(cat "$work/err"; tail -n 3 "$work/out")"
    fi
}

# same_part REPORT: what equal runs have in common: without the fields that schema/
# documents as time and place.
same_part() {
    sed -E -e '/^  "environment": \{/,/^  \},$/d' \
        -e 's/"(start|stop|duration)": [0-9]+//; s/"device": "[^"]*",//; s/"across": [0-9]+,//' \
        -e 's/ +$//' "$1"
}

# equal FILE FILE: equal reports, but for the fields of time and place.
equal() {
    same_part "$1" >"$work/a"
    same_part "$2" >"$work/b"
    if [ -s "$work/a" ] && cmp -s "$work/a" "$work/b"; then ok; else
        no "reports differ: $(diff "$work/a" "$work/b" | head -4)"
    fi
}

# The counts of the whole script; fails when any check did, or fewer than LEAST were made.
conclude() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt "$1" ]
}
