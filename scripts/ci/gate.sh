#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One gate for every CI server: runs a suite, gates it against a baseline, leaves all forms
# of the evidence in a folder. usage: gate.sh [OPTION OF run...], with in the environment
#   GRADGATE_SUITE, GRADGATE_KERNEL   what is tried, and what on
#   GRADGATE_DEVICE    host (default), cuda, cuda:I
#   GRADGATE_BASELINE  the report to keep up with; empty: the run's own verdict decides
#   GRADGATE_BITS      exact: a changed bit fails
#   GRADGATE_BENCH     kernels to time together, such as turbo,naive (suite GRADGATE_BENCH_SUITE,
#                      default bench); leaves bench.json and bench.md
#   GRADGATE_BENCH_BASELINE  the baseline's bench.json: speed and memory are gated, too
#   GRADGATE_SOURCE    the kernel's source file, for the annotations
#   GRADGATE_OUT       folder for the reports (default gradgate-reports); best outside the
#                      checkout, for a new file there makes the next build a changed one
#   GRADGATE           the program (default gradgate)
# Leaves report.json .xml (JUnit) .html .md and gate.json .xml .md there. On GitHub Actions
# it also writes the step summary and annotates. The exit code is the verdict: 0 passed,
# 1 failed, 2 not verified, 3 usage or bad input; the worse one of run and gate.
set -u
: "${GRADGATE_SUITE:?gate.sh: name a suite}" "${GRADGATE_KERNEL:?gate.sh: name a kernel}"
gradgate=${GRADGATE:-gradgate}
out=${GRADGATE_OUT:-gradgate-reports}
baseline=${GRADGATE_BASELINE:-}
command -v "$gradgate" >/dev/null || { echo "gate.sh: no program '$gradgate'" >&2; exit 3; }
mkdir -p "$out" || exit 3
# nothing of an earlier run may be taken for this one's
for form in json json.journal xml html md; do
    rm -f "$out/report.$form" "$out/gate.$form" "$out/bench.$form"
done

# worse A B: failed, then bad input, then not verified, then passed. A signal is no verdict.
rank() { case $1 in 0) echo 0 ;; 3) echo 2 ;; 1) echo 3 ;; *) echo 1 ;; esac; }
worse() { if [ "$(rank "$1")" -ge "$(rank "$2")" ]; then echo "$1"; else echo "$2"; fi; }

# annotate COMMAND...: with the lines that GitHub shows at a file, where that is the server.
annotate() {
    if [ "${GITHUB_ACTIONS:-}" = true ]; then
        "$@" --annotations github ${GRADGATE_SOURCE:+--source "$GRADGATE_SOURCE"}
    else "$@"; fi
}

"$gradgate" run --suite "$GRADGATE_SUITE" --kernel "$GRADGATE_KERNEL" \
    --device "${GRADGATE_DEVICE:-host}" --out "$out/report.json" "$@"
code=$?
if [ ! -f "$out/report.json" ]; then
    [ "$code" -gt 3 ] || [ "$code" -eq 0 ] && code=2
    [ "${GITHUB_ACTIONS:-}" != true ] ||
        echo "::error title=gradgate::no report: the run of $GRADGATE_KERNEL ended with $code"
    exit "$code"
fi
annotate "$gradgate" report "$out/report.json" --junit "$out/report.xml" \
    --html "$out/report.html" --markdown="$out/report.md"
code=$(worse "$code" $?)
set --
if [ -n "${GRADGATE_BENCH:-}" ]; then
    "$gradgate" bench --suite "${GRADGATE_BENCH_SUITE:-bench}" --kernel "$GRADGATE_BENCH" \
        --device "${GRADGATE_DEVICE:-host}" --out "$out/bench.json" --markdown "$out/bench.md"
    code=$(worse "$code" $?)
    [ ! -f "$out/bench.json" ] || [ -z "${GRADGATE_BENCH_BASELINE:-}" ] ||
        set -- --bench "$out/bench.json" --bench-baseline "$GRADGATE_BENCH_BASELINE"
fi
if [ -n "$baseline" ]; then
    annotate "$gradgate" gate "$out/report.json" --baseline "$baseline" \
        ${GRADGATE_BITS:+--bits "$GRADGATE_BITS"} --json "$out/gate.json" \
        --junit "$out/gate.xml" --markdown "$out/gate.md" "$@"
    code=$(worse "$code" $?)
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    for part in "$out/gate.md" "$out/report.md"; do
        [ -f "$part" ] && { cat "$part"; echo; }
    done >>"$GITHUB_STEP_SUMMARY"
fi
[ "$code" -gt 3 ] && code=2
exit "$code"
