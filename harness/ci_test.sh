#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CI recipes, run here: a pull request that loses compensation is red, with annotation,
# summary and JUnit that say so, and one that changes nothing is not.
# usage: ci_test.sh BUILD (with planted/uncompensated in it)
# A build from changed sources gates nothing green: there this expects 2 instead of 0.
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
uncompensated=$(dirname "$gradgate")/planted/uncompensated
if "$gradgate" --version | grep -qE '\+dirty|unknown\)'; then green=2; else green=0; fi
ci=$here/scripts/ci

python=python3
"$python" -c 'import yaml' 2>/dev/null || python=/usr/bin/python3
echo "recipes are YAML, and the action hands on what it is given"
for file in "$ci"/*.yml; do
    if "$python" -c 'import sys, yaml; assert isinstance(yaml.safe_load(open(sys.argv[1])), dict)' \
        "$file" 2>"$work/err"; then ok; else no "$file: $(tail -1 "$work/err")"; fi
done

# action PROGRAM KERNEL BASELINE OPTIONS: the action's own step, as a runner does it: its
# environment from the inputs, its script through bash.
cat >"$work/action.py" <<'END'
import os, re, subprocess, sys, yaml
path, temp, given = sys.argv[1], sys.argv[2], dict(a.split("=", 1) for a in sys.argv[3:])
action = yaml.safe_load(open(path))
inputs = {k: given.pop(k, v.get("default")) for k, v in action["inputs"].items()}
assert not given, f"no such input: {given}"
assert None not in inputs.values(), f"an input is missing: {inputs}"
step = next(s for s in action["runs"]["steps"] if s.get("id") == "gate")
def fill(text):
    text = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m[1]], text)
    return text.replace("${{ runner.temp }}", temp)
env = {k: fill(v) for k, v in step["env"].items()}
assert not any("${{" in v for v in env.values()), env
env = {**os.environ, **env, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": temp + "/summary.md",
       "GITHUB_OUTPUT": temp + "/output", "GITHUB_ACTION_PATH": os.path.dirname(path)}
sys.exit(subprocess.run(["bash", "-e", "-c", step["run"]], env=env).returncode)
END
action() {
    want=$1 name=$2
    shift 2
    mkdir -p "$work/$name"
    (cd "$here" && "$python" "$work/action.py" "$ci/action.yml" "$work/$name" "$@" \
        >"$work/out" 2>"$work/err")
    code=$?
    if [ "$code" -eq "$want" ]; then ok; else
        no "the action exits $code, not $want: $(cat "$work/err" "$work/out" | tail -n 3)"
    fi
    if [ "$(cat "$work/$name/output")" = "verdict=$want" ]; then ok; else no "its output"; fi
}
# says FILE PATTERN
says() { if grep -qE -- "$2" "$work/$1"; then ok; else no "$1 has no line with '$2'"; fi; }
hides() { if grep -qE -- "$2" "$work/$1"; then no "$1 has a line with '$2'"; else ok; fi; }

few="--case *-N24-D16-s00[0-7] --certify 0"
set -f
exits 0 run --suite smoke600 --kernel turbo --device host $few --out baseline.json
given="suite=smoke600 kernel=turbo baseline=$work/baseline.json artifact=reports"

echo "a pull request that changes nothing"
action $green same $given program="$gradgate" options="$few"
hides out '^::error.*failed'
[ $green -eq 0 ] && hides out '^::'
says same/summary.md 'gate of turbo on host'
says same/reports/gate.xml 'testcase classname="gate.turbo.host" name="compensation" time="0"/>'

echo "a pull request that loses compensation"
action 1 lost $given program="$uncompensated" options="$few"
says out '^::error file=kernels/triangle_attention/turbo_twin.c,title=gradgate gate%3A compensation failed'
says out '^::error file=.*rmse failed%3A turbo on host::largest change of the mean: \+[0-9.]+ %25'
says lost/summary.md '^# .*failed'
says lost/summary.md 'compensation.*failed|failed.*compensation'
says lost/reports/gate.xml 'message="compensation: earned for [0-9]+ outputs and families before, 0 of them'
says lost/reports/gate.json '"verdict": "failed"'
for form in json xml html md; do
    if [ -s "$work/lost/reports/report.$form" ]; then ok; else no "report.$form is missing"; fi
done
if command -v xmllint >/dev/null; then
    for file in same lost; do
        if xmllint --noout "$work/$file/reports/gate.xml" 2>"$work/err"; then ok; else
            no "gate.xml: $(head -2 "$work/err")"
        fi
    done
fi

echo "what did not run is not green"
action 3 none $given program="$gradgate" options="--case nothing-*"
says out '^::error title=gradgate::no report'
action 1 source $given program="$uncompensated" source=a,b:c \
    options="--case normal-N24-D16-s00[0-7] --certify 0"
says out '^::error file=a%2Cb%3Ac,'
printf '#!/bin/sh\nkill -9 $$\n' >"$work/dies"
chmod +x "$work/dies"
action 2 killed $given program="$work/dies"
action 3 nobase suite=smoke600 kernel=turbo baseline=/nonexistent.json program="$gradgate" \
    options="--case normal-N24-D16-s000"
says err 'nonexistent.json'

conclude 25
