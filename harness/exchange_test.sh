#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels by files: commands (exec:, serve:), export and check, a user's own inputs; and a
# fault planted in each. usage: exchange_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

peers="$here/scripts/peers"
export PYTHONPATH="$peers" PYTHONDONTWRITEBYTECODE=1
TMPDIR="$work/tmp"
export TMPDIR
mkdir "$TMPDIR"
cp "$peers/linear_python.py" "$work/linear.py"
one="run --suite linear60 --case normal-M17-N3-K15-s000 --limits-of plain --out r.json"
few="run --suite linear60 --case normal-M*-N3-K15-s000 --limits-of plain --out r.json"

# says CODE TEXT ARGUMENT...: exit code, and the report's (or refusal's) words.
says() {
    want=$1 text=$2
    shift 2
    exits "$want" "$@"
    if grep -qF -- "$text" "$work/r.json"; then ok; else
        no "'$*': no '$text' in the report"
    fi
}
# holds FILE TEXT: grep finds it.
holds() {
    if grep -q -- "$2" "$work/$1"; then ok; else no "$1 has no '$2'"; fi
}
# plant NAME SED: NAME.py, linear.py with one edit.
plant() {
    sed "$2" "$work/linear.py" >"$work/$1.py"
    if cmp -s "$work/linear.py" "$work/$1.py"; then no "'$2' changes nothing"; fi
}
# edit CODE: Python with t, the tensors of FILE, and notes; writes them back.
edit() {
    file=$1
    shift
    python3 -c "import exchange, struct
t, notes = exchange.read('$work/$file')
t = {k: (a, list(s), bytes(d)) for k, (a, s, d) in t.items()}
$*
exchange.write('$work/$file', t)" || no "the edit of $file"
}

echo "a command as the kernel"
exits 0 $few --kernel 'serve:python3 linear.py'
# what a killed process left goes, what is of a living one or has another name stays
dead=$(sh -c 'echo $$')
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
mkdir -p "$shm/gradgate-$dead-abcdef/0" "$shm/gradgate-$$-abcdef" "$shm/gradgate-$dead-notours"
echo left >"$shm/gradgate-$dead-abcdef/0/in.safetensors"
exits 0 $one --kernel 'exec:python3 linear.py' --repeats 2
if [ ! -e "$shm/gradgate-$dead-abcdef" ] && [ -d "$shm/gradgate-$$-abcdef" ] &&
    [ -d "$shm/gradgate-$dead-notours" ]; then ok
else no "folders of dead processes: $(ls -d "$shm"/gradgate-*)"; fi
rmdir "$shm/gradgate-$$-abcdef" "$shm/gradgate-$dead-notours"
exits 0 $few --kernel 'serve:python3 linear.py' --workers 2
exits 0 $one --kernel 'serve:python3 linear.py' --kernel-name mine
holds r.json '"kernel": "mine"'
says 2 "states no limit" run --suite linear60 --case 'canary-M7-N1-K5-*' --out r.json \
    --kernel 'serve:python3 linear.py'
refuses 3 "there is no program 'nosuch'" $one --kernel 'exec:nosuch'
refuses 3 "./linear.py cannot be run" $one --kernel 'serve:./linear.py'
refuses 3 "a command must follow" $one --kernel 'exec: '
refuses 3 "is timed by a script" bench --suite linear60 --kernel exec:true

echo "a command that breaks is one failed case"
says 1 "ended with exit code 4: so it goes" $one --kernel 'exec:echo so it goes >&2; exit 4; :'
says 1 "ended by signal 9" $one --kernel 'exec:kill -9 $$; :'
says 1 "no answer within 1 s" $one --kernel 'exec:sleep 60; :' --timeout 1
says 1 "wrote no out.safetensors" $one --kernel exec:true
says 1 "its outputs cannot be read" $one --kernel 'exec:echo >out.safetensors; cp out.safetensors'
says 1 "no answer within 1 s" $one --kernel 'serve:cat >/dev/null' --timeout 1
says 1 "ended with exit code 3 instead of an answer" $one --kernel 'serve:read d; exit 3'
says 1 "answered 'hello'" $one --kernel 'serve:read d; echo hello; read d'
says 1 "answered 'ok?ok'" $one --kernel 'serve:read d; printf "ok\nok\n"; read d'
says 1 "wrote no out.safetensors" $one --kernel 'serve:read d; echo ok; read d'
says 2 "declines: not today" $one --kernel 'serve:read d; echo declined not today; read d'
says 2 "failed: out of memory" $one --kernel 'serve:read d; echo error out of memory; read d'
says 2 "declines: too small" $one --kernel 'exec:echo too small >&2; exit 77; :'
# a JAX that finds no GPU would compute on the CPU in silence
mkdir -p "$work/fake/jax" && touch "$work/fake/numpy.py" # no more of JAX than its devices
echo "bfloat16 = float32 = None" >"$work/fake/jax/numpy.py"
cat >"$work/fake/jax/__init__.py" <<'END'
from types import SimpleNamespace as Some
__version__, config = "0", Some(jax_default_matmul_precision="highest")
jit = lambda function, **options: function
def devices(kind=None):
    if kind not in (None, "cpu"): raise RuntimeError("no backend " + kind)
    return [Some(platform="cpu", id=0, device_kind="cpu")]
END
jax="PYTHONPATH=$work/fake:$peers python3 $peers/serve_jax.py stock"
says 2 "declines: JAX has no cuda device (RuntimeError: no backend cuda)" $one \
    --kernel "serve:GRADGATE_DEVICE=cuda:1 $jax"
says 2 "declines: JAX has 1 host devices, host:1 is asked for" $one \
    --kernel "serve:GRADGATE_DEVICE=host:1 $jax"
says 2 "failed: KeyError: 'q'" $one --kernel "serve:$jax" # there is a device: it goes on
plant deadly 's/^def linear.*/&\n    if inputs["x"][1][0] == 17: sys.exit(9)/'
says 1 "ended with exit code 9 instead of an answer" $few --kernel 'serve:python3 deadly.py'
holds out '^2 passed, 1 failed, 0 not verified'
plant stray 's/^def linear.*/&\n    import os; os.fork() or os.execlp("sleep", "sleep", "60")/'
exits 0 $one --kernel 'exec:python3 stray.py' --repeats 2

echo "outputs that are wrong"
plant kind 's/"dw": product/"dw": product/; s/wanted.items()/{**wanted, "dx": "F32"}.items()/'
says 1 "output 'dx' is F32 [17,15], it must be BF16 [17,15]" $one --kernel 'serve:python3 kind.py'
plant shape 's/"dx": product(dy, w)/"dx": turned(product(dy, w))/'
says 1 "output 'dx' is BF16 [15,17], it must be BF16 [17,15]" $one --kernel 'serve:python3 shape.py'
plant missing 's/ for name, kind in wanted.items()/& if name != "dw"/'
says 2 "no output 'dw' was written" $one --kernel 'serve:python3 missing.py'
plant wrong 's/x \* y for/1.01 * x * y for/'
says 1 "gauge_max" $one --kernel 'serve:python3 wrong.py'
plant nan 's/return \[\[sum(/return [[float("nan") * sum(/'
says 1 "NaN or infinite where the truth" $one --kernel 'serve:python3 nan.py'
plant moody 's/x \* y for/(1 + (time.monotonic_ns() >> 10) % 7 * 2**-12) * x * y for/; s/^import sys/&, time/'
says 1 "changed between equal runs" $one --kernel 'exec:python3 moody.py'

if ls -d "$TMPDIR"/gradgate-* >/dev/null 2>&1; then no "folders are left: $(ls "$TMPDIR")"; else ok; fi

echo "export, run elsewhere, check"
cat >"$work/elsewhere.py" <<'END'
import exchange, glob, json, sys, linear
for case in json.load(open(sys.argv[1] + "/manifest.json"))["cases"]:
    base = f"{sys.argv[1]}/{case['id']}"
    inputs, _ = exchange.read(base + ".safetensors")
    for ending in sys.argv[2:]:
        exchange.write(base + ending, linear.linear(inputs, case["outputs"]))
END
check="check dir --limits-of plain --out r.json"
case=dir/normal-M17-N3-K15-s000
exits 0 export --suite linear60 --case 'normal-M*-N3-K15-s000' dir
refuses 3 "holds an export already" export --suite linear60 dir
refuses 3 "no case of suite" export --suite linear60 --case zzz other
refuses 3 "needs --suite" export other
refuses 3 "takes one DIR" check
refuses 3 "nowhere/manifest.json: cannot be opened" check nowhere
says 2 "there is no normal-M17-N3-K15-s000.out.safetensors in dir" $check
if grep -q 'gradgate case' "$work/out"; then no "check names a kernel to run again"; else ok; fi
(cd "$work" && PYTHONPATH="$peers:." python3 elsewhere.py dir .out.safetensors) || no "elsewhere"
says 2 "one run cannot show a difference" $check
(cd "$work" && PYTHONPATH="$peers:." python3 elsewhere.py dir .out.1.safetensors)
exits 0 $check --kernel-name mine
holds out '^passed  mine on host  linear60  3 of 60 cases'
exits 2 check dir --out bare.json
# a check that was cut short goes on as its message says
# shellcheck disable=SC3045
(cd "$work" && ulimit -f 12 && "$gradgate" check dir --limits-of plain --out cut.json >out 2>err)
refuses 3 "go on with --resume" check dir --limits-of plain --out cut.json
exits 0 check dir --limits-of plain --out cut.json --resume --certify all
exits 0 $few --kernel 'serve:python3 linear.py' --out run.json
for key in digest rmse gauge_max; do # the same bits by another way
    grep "\"$key\"" "$work/r.json" >"$work/a"
    grep "\"$key\"" "$work/run.json" >"$work/b"
    if [ -s "$work/a" ] && cmp -s "$work/a" "$work/b"; then ok; else no "$key of check and run"; fi
done
rm "$work/$case.out.safetensors" # repeats may be numbered from 1
cp "$work/$case.out.1.safetensors" "$work/$case.out.2.safetensors"
exits 0 $check
edit "$case.out.2.safetensors" 'a, s, d = t["dx"]; t["dx"] = a, s, bytes([d[0] ^ 1]) + d[1:]'
says 1 "changed between equal runs" $check
edit "$case.out.2.safetensors" 't["dx"] = ("F32", t["dx"][1], t["dx"][2] * 2)'
says 1 "output 'dx' is F32" $check
head -c 300 "$work/$case.out.1.safetensors" >"$work/$case.out.2.safetensors"
says 1 "its outputs cannot be read" $check
rm "$work/$case.out.2.safetensors"
rm "$work/$case.out.1.safetensors" # what is no file costs its own case alone
mkdir "$work/$case.out.safetensors"
says 2 "$case.out.safetensors is no file that can be read" $check
holds out '^2 passed, 0 failed, 1 not verified'
rmdir "$work/$case.out.safetensors"
mkfifo "$work/$case.out.safetensors"
says 2 "$case.out.safetensors is no file that can be read" $check
rm "$work/$case.out.safetensors"
ln -s nowhere "$work/$case.out.safetensors"
says 2 "there is no normal-M17-N3-K15-s000.out.safetensors in dir" $check
holds out '^2 passed, 0 failed, 1 not verified'
rm "$work/$case.out.safetensors"
cp "$work/$case.safetensors" "$work/kept"
edit "$case.safetensors" 'a, s, d = t["x"]; t["x"] = a, s, bytes([d[0] ^ 1]) + d[1:]'
refuses 3 "these are not the inputs that were exported" $check
cp "$work/dir/normal-M1-N3-K15-s000.safetensors" "$work/$case.safetensors"
refuses 3 "its shapes are not those of the manifest" $check
rm "$work/$case.safetensors"
refuses 3 "$case.safetensors: cannot be opened" $check
cp "$work/kept" "$work/$case.safetensors"
cp "$work/dir/manifest.json" "$work/kept.json"
for bad in 's/"index": 4/"index": 0/@this index comes twice' \
    's/"id": "normal-M17/"id": "..\/M17/@is no name of a file' \
    's/"family": "normal"/"family": "odd"/@there is no family' \
    's/"operator": "linear"/"operator": "odd"/@there is no operator' \
    's/"selection": ".*"/"selection": ""/@has 3 of 60 cases and no selection' \
    's/"selection": ".*"/"selection": "heavy*"/@is not of the selection' \
    's/"dw": "F32"/"dw": "I32"/@a type of that output' \
    's/"M": 17/"M": 0/@a whole number from 1' \
    's/xxh:/xxh /@16 hexadecimal digits' \
    's/"version"/"vision"/@does not know' 's/^}$//@ends early'; do
    sed "${bad%@*}" "$work/kept.json" >"$work/dir/manifest.json"
    cmp -s "$work/kept.json" "$work/dir/manifest.json" && no "'${bad%@*}' changes nothing"
    refuses 3 "${bad#*@}" $check
done

echo "own inputs"
cp "$work/kept" "$work/layer3.safetensors"
own="run --operator linear --kernel plain --out r.json --inputs"
exits 0 $own layer3.safetensors
holds r.json '"name": "layer3"'
holds r.json '"family": "given"'
edit layer3.safetensors 't["y"] = ("F32", [1], bytes(4))' # outputs may be there
exits 0 $own layer3.safetensors --inputs dir/normal-M1-N3-K15-s000.safetensors
holds out '^passed  plain on host  inputs  2 of 2 cases'
refuses 3 "would be one case" $own layer3.safetensors --inputs "$work/layer3.safetensors"
refuses 3 "needs --operator" run --kernel plain --inputs layer3.safetensors
refuses 3 "takes the place of --suite" $own layer3.safetensors --suite linear60
refuses 3 "there is no operator 'odd'" run --operator odd --kernel plain --inputs layer3.safetensors
refuses 3 "nosuch: cannot be opened" $own nosuch
refuses 3 "no safetensors file" $own linear.py
# bad NAME TEXT CODE: the inputs with an edit are refused.
bad() {
    cp "$work/layer3.safetensors" "$work/bad.safetensors"
    edit bad.safetensors "$2"
    refuses 3 "$1" $own bad.safetensors
}
bad "there is no tensor 'dy'" 'del t["dy"]'
bad "has no tensor 'mask'" 't["mask"] = ("U8", [1], bytes(1))'
bad "x is F32, operator linear takes BF16" 't["x"] = ("F32", t["x"][1], t["x"][2] * 2)'
bad "w has K = 45, another tensor has 15" 't["w"] = ("BF16", [1, 45], t["w"][2])'
bad "x has 1 dimensions" 't["x"] = ("BF16", [17 * 15], t["x"][2])'
exits 0 export --suite smoke600 --case 'key_lengths-N24-D16-s000' ta
own="run --operator triangle_attention --kernel naive --out r.json --inputs"
cp "$work/ta/key_lengths-N24-D16-s000.safetensors" "$work/layer3.safetensors"
exits 0 $own layer3.safetensors
exits 0 $own layer3.safetensors --shard 1/1 --workers 2
bad "is outside [0, N = 24]" 'a, s, d = t["key_lengths"]; t["key_lengths"] = a, s, struct.pack("<i", 25) + d[4:]'
bad "key_lengths is I64, operator triangle_attention takes I32" \
    'a, s, d = t["key_lengths"]; t["key_lengths"] = "I64", s, d * 2'
edit layer3.safetensors 'b, r = t["key_lengths"][1]; del t["key_lengths"]; t["mask"] = ("BOOL", [b, r, 24], bytes([1] * 12 + [0] * 12) * (b * r))'
exits 0 $own layer3.safetensors
bad "is BOOL and element 0 is 2" 't["mask"] = ("BOOL", t["mask"][1], bytes([2]) + t["mask"][2][1:])'

echo "the peers' table: what is missing or dies is one line"
printf '#!/bin/sh\nexit 7\n' >"$work/dead"
chmod +x "$work/dead"
table() { # PYTHON-OF-THE-TABLE ENVIRONMENT...
    env DEVICE=host CASES='normal-N48-D16-*s000' CERTIFY=0 GRADGATE="$gradgate" "$@" \
        sh "$here/scripts/peers/table.sh" "$work/peers" >"$work/out" 2>"$work/err"
    code=$?
}
row() { if grep -qE "^\| .$1. \| $2" "$work/peers/peers.md"; then ok; else
    no "no row '$1 $2': $(cat "$work/out" "$work/err")"; fi; }
table KERNELS="turbo missing" PEERS=nosuch
[ $code -eq 0 ] || no "table.sh exits $code"
row turbo 'ours \| 1\.[0-9]+ \| 1\.[0-9]+ .* \| yes \(1 of 1\) \| passed \(1 of 1 cases\) \|'
row missing 'ours \|.*not run: .*no kernel .missing'
row nosuch 'peer \|.*not run: the command ended'
table KERNELS="turbo" PEERS=""
if grep -q '^turbo: kept' "$work/err" && [ "$(grep -c '^| `' "$work/out")" -eq 1 ]; then ok; else
    no "a report is not kept: $(cat "$work/err")"
fi
table GRADGATE="$work/dead" KERNELS="split" PEERS=""
row split 'ours \|.*not run: it said nothing'
table GRADGATE=/nonexistent KERNELS="split" PEERS=""
if [ $code -eq 3 ]; then ok; else no "without a program table.sh exits $code"; fi

conclude 107
