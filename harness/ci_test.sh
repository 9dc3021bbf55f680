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

suite() { # NAME HEADS SEEDS: small cases of one shape
    cat <<END
{"gradgate_suite": 1, "name": "$1", "summary": "small cases", "id": "ND",
 "operator": "triangle_attention",
 "cases": [{"extents": {"B": 1, "R": "N", "H": $2, "N": 24, "D": 16}, "families": ["normal"],
            "seeds": {"first": 0, "count": $3}}]}
END
}
# action CODE NAME INPUT=VALUE...: the action's own step, as a runner does it (ci_recipes.py).
action() {
    want=$1 name=$2
    shift 2
    mkdir -p "$work/$name"
    (cd "$here" && "$python" "$here/harness/ci_recipes.py" action "$ci/action.yml" \
        "$work/$name" "$@" \
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

echo "speed and memory, where benches are asked for"
export GRADGATE_BENCH_SUITE="$work/one.json"
suite one 2 1 >"$GRADGATE_BENCH_SUITE"
(cd "$work" && "$gradgate" bench --suite one.json --kernel turbo,recompute --out then.json \
    --reps 3 >/dev/null) || no "no bench"
sed -E 's/"(saved|workspace)_bytes": [0-9]+/"\1_bytes": 64/' "$work/then.json" >"$work/small.json"
action 1 grown $given program="$gradgate" options="$few" bench=turbo,recompute \
    bench_baseline="$work/small.json"
says out '^::error file=.*title=gradgate gate%3A memory failed'
says grown/reports/gate.json '"rule": "speed"'
says grown/summary.md 'memory . failed .* \+[0-9.]+ %'
if [ -s "$work/grown/reports/bench.md" ]; then ok; else no "bench.md is missing"; fi

# The recipes as wholes, in a repository whose pull request takes compensation away. `make`
# puts the programs of the base and of the change where a build would; all else is real.
echo "each recipe, step by step: the pull request is red, the same code is not"
repository=$work/repository shims=$work/shims
twin=kernels/triangle_attention/turbo_twin.c # where the annotations stand
mkdir -p "$repository/scripts" "$repository/${twin%/*}" "$shims" "$work/suites"
cp -r "$ci" "$repository/scripts/ci"
cp "$here/$twin" "$repository/$twin"
cat >"$shims/make" <<END
#!/bin/sh
[ "\${1:-}" = -C ] && cd "\$2"
mkdir -p build
if [ -f loses-compensation ]; then program=$uncompensated; else program=$gradgate; fi
printf '#!/bin/sh\nexec "%s" "\$@"\n' "\$program" >build/gradgate
chmod +x build/gradgate
END
chmod +x "$shims/make"
suite smoke600 4 8 >"$work/suites/smoke600.json"
git() {
    command git -C "$repository" -c user.name=ci -c user.email=ci@example.org \
        -c init.defaultBranch=main -c commit.gpgsign=false "$@" >/dev/null 2>&1
}
git init && git add . && git commit -m base && git branch -M main
git update-ref refs/remotes/origin/main HEAD
git checkout -b change
touch "$repository/loses-compensation"
git add . && git commit -m change
base=$(command git -C "$repository" rev-parse main)
# recipe CODE NAME KIND ARGUMENT...
recipe() {
    want=$1 name=$2 kind=$3
    shift 3
    mkdir -p "$work/$name"
    (cd "$repository" && PATH=$shims:$PATH GRADGATE_SUITES=$work/suites GITHUB_BASE_REF=main \
        TMPDIR=$work/$name "$python" "$here/harness/ci_recipes.py" "$kind" "$@" \
        >"$work/$name/out" 2>"$work/$name/err")
    code=$?
    if [ "$code" -eq "$want" ]; then ok; else
        no "$name exits $code, not $want: $(cat "$work/$name/err" "$work/$name/out" | tail -n 3)"
    fi
    git worktree remove --force "$work/$name/base"
    git worktree prune
}
cpu="workflow $ci/github-cpu.yml $repository"
pull="github.event_name == 'pull_request'"
recipe 1 red-cpu $cpu "$work/red-cpu" matrix.kernel=turbo "$pull=true"
says red-cpu/out '^::error file=.*turbo_twin.c,title=gradgate gate%3A compensation failed'
says red-cpu/summary.md 'compensation.*failed|failed.*compensation'
says red-cpu/gradgate-turbo/report.json '"reportFormat": "CTRF"'
says red-cpu/gradgate-turbo/gate.xml '<failure'
gpu="workflow $ci/github-gpu.yml $repository"
on_gpu() { # CODE NAME IS-MAIN; there may be no GPU here, so `cuda` is the host for once
    sed "s/device: cuda/device: host/; s/paper600/smoke600/" "$ci/github-gpu.yml" >"$work/gpu.yml"
    recipe "$1" "$2" workflow "$work/gpu.yml" "$repository" "$work/$2" github.sha=0123abc \
        "github.event_name == 'schedule' && '--repeats 200' || '--repeats 5'=--repeats 5" \
        "steps.baseline.outputs.cache-matched-key != '' && format('{0}/baseline.json', runner.temp) || ''=$4" \
        "steps.baseline.outputs.cache-matched-key != '' && format('{0}/bench.json', runner.temp) || ''=$5" \
        "github.ref == 'refs/heads/main' && github.event_name == 'push'=$3"
}
gitlab() { # CODE NAME MERGE-REQUEST-BASE
    rm -rf "$repository/gradgate-reports"
    recipe "$1" "$2" gitlab "$ci/gitlab.yml" gradgate-host "$repository" PWD="$repository" \
        CI_MERGE_REQUEST_DIFF_BASE_SHA="$3"
    rm -rf "$work/$2"/tmp.*/sources
}
gitlab 1 red-gitlab "$base"
cp -r "$repository/gradgate-reports" "$work/red-gitlab/reports"
says red-gitlab/reports/gate.xml 'name="compensation".*|message="compensation: earned'
hides red-gitlab/out '^::'
git checkout main
on_gpu 0 main-gpu true "" ""
if [ -s "$work/main-gpu/baseline.json" ]; then ok; else no "main keeps no baseline"; fi
git checkout change
cp "$work/main-gpu/baseline.json" "$work/kept.json"
cp "$work/main-gpu/bench.json" "$work/kept-bench.json"
on_gpu 1 red-gpu false "$work/kept.json" "$work/kept-bench.json"
says red-gpu/gradgate/gate.json '"rule": "speed"'
says red-gpu/out '^::error file=.*title=gradgate gate%3A compensation failed'
if [ -e "$work/red-gpu/baseline.json" ]; then no "a pull request writes the baseline"; else ok; fi
git rm loses-compensation
git commit -m "back again"
recipe $green same-cpu $cpu "$work/same-cpu" matrix.kernel=turbo "$pull=true"
hides same-cpu/out '^::error.*failed'
gitlab $green same-gitlab "$base"

conclude 45
