#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The project's rules that a script can check. Prints each breach; fails on any.
set -u
cd "$(dirname "$0")/.." || exit 2
sources=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh')
[ -n "$sources" ] || { echo "style: no sources under git" >&2; exit 2; }
bad=0
# breach TEXT LINES: reports grep's output under a heading.
breach() {
    [ -z "$2" ] && return
    printf '%s\n%s\n' "$1:" "$2" | head -12
    bad=1
}
# shellcheck disable=SC2086,SC2016
{
breach "line over 100 columns" "$(grep -nE '^.{101,}' $sources)"
breach "tab" "$(grep -nP '\t' $sources)"
breach "trailing space" "$(grep -nE ' +$' $sources)"
breach "exit or abort outside main" "$(grep -nE '\b(exit|abort)\(' $sources |
    grep -vE '_test\.c|planted_break\.c|//|\* ')"
breach "TODO" "$(grep -nE '\b(TODO|FIXME|XXX)\b' $sources)"
breach "fast math" "$(grep -nE 'ffast-math|use_fast_math' Makefile $sources)"
breach "libc random numbers" "$(grep -nE '\b(rand|srand|drand48)\(' $sources)"
breach "missing SPDX line" "$(grep -L 'SPDX-License-Identifier' $sources scripts/*.sh)"
breach "commented-out code" "$(grep -nE '^ *(//.*;|/\*.*; *\*/) *$' $sources)"
# Layers: an include may only point left in reference <- cases <- reports <- harness;
# kernels/ includes nothing of them, and only harness/ sees kernels/.
breach "reference/ includes a higher layer" \
    "$(grep -nE '#include "(cases|reports|harness|kernels)/' reference/*)"
breach "cases/ includes a higher layer" \
    "$(grep -nE '#include "(reports|harness|kernels)/' cases/*.[ch]*)"
breach "reports/ includes a higher layer" \
    "$(grep -nE '#include "(harness|kernels)/' reports/*.[ch])"
breach "kernels/ includes the harness side" \
    "$(grep -rnE '#include "(reference|cases|reports|harness)/' kernels)"
breach "harness/ names an operator" \
    "$(grep -nE 'triangle|attention|linear' harness/*.[ch] harness/*.cu | grep -v _test)"
# What a README names in backquotes must be there: from the top, or from its own folder.
for readme in $(git ls-files '*README.md'); do
    for name in $(grep -oE '`[a-z0-9_./-]+/?[a-z0-9_.-]+`' "$readme" | tr -d '`' |
        grep -E '^[a-z0-9].*\.(c|h|cu|cuh|sh|py|json|md|mk|yml|sbatch|supp)$' | sort -u); do
        [ -e "$name" ] || [ -e "$(dirname "$readme")/$name" ] ||
            [ -n "$(git ls-files "*/$(basename "$name")")" ] ||
            breach "$readme names what is not there" "$name"
    done
done
breach "file over 500 lines" "$(wc -l $sources | awk '$1 > 500 && $2 != "total"')"
}
[ "$bad" -eq 0 ] && echo "style: clean"
exit "$bad"
