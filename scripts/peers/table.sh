#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The peers' table: every kernel that is here, ours and other people's, on the same inputs
# against the same truth. usage: table.sh OUTDIR   with, in the environment, any of
#   GRADGATE   the program (default build/gradgate beside scripts/, else gradgate)
#   PYTHON     a Python with PyTorch and JAX (default python3)
#   DEVICE     cuda (default), cuda:I, host to try the script
#   CASES      glob of cases of peers.json (default '*-N384-D32-*s000': six families)
#   KERNELS, PEERS   ours and theirs (default: all)
#   LIMITS_OF  whose limits all are held to (default turbo)
#   REPEATS=5  CERTIFY=6  EACH=300   runs a case; cases certified by MPFR; seconds a kernel
# Leaves OUTDIR/KERNEL.json, .log and OUTDIR/peers.md, and prints the table. A kernel that is
# missing, fails to start or takes too long is one line, "not run: why", and ends nothing. A
# report in OUTDIR that measured something is kept: the same command goes on where it was cut short.
# Exit code 0: the table is there; 3: bad usage, no program. The verdicts are in the table.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 1 ] || [ -z "$1" ]; then echo "usage: table.sh OUTDIR" >&2; exit 3; fi
out=$1
gradgate=${GRADGATE:-$here/../../build/gradgate}
[ -n "${GRADGATE:-}" ] || [ -x "$gradgate" ] || gradgate=gradgate
command -v "$gradgate" >/dev/null ||
    { echo "table.sh: no program '$gradgate': make, or set GRADGATE" >&2; exit 3; }
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "table.sh: no '$python': set PYTHON" >&2; exit 3; }
mkdir -p "$out" || exit 3
ours=${KERNELS-naive recompute turbo twopass split atomic}
theirs=${PEERS-stock sdpa flex trifast cuequivariance openfold3 jax-stock jax-nn jax-cudnn}
device=${DEVICE:-cuda}

# judge NAME ARGUMENT...: one kernel; its report, and what it printed.
judge() {
    name=$1
    shift
    grep -qs '"mean_rmse"' "$out/$name.json" && { echo "$name: kept" >&2; return; }
    rm -f "$out/$name.json" "$out/$name.json.journal"
    echo "$name ..." >&2
    timeout -k 10 "${EACH:-300}" "$gradgate" run --suite "$here/peers.json" \
        --case "${CASES:-*-N384-D32-*s000}" --device "$device" \
        --limits-of "${LIMITS_OF:-turbo}" --repeats "${REPEATS:-5}" \
        --certify "${CERTIFY:-6}" --out "$out/$name.json" "$@" >"$out/$name.log" 2>&1
    code=$?
    if [ $code -ge 124 ]; then echo "not done within ${EACH:-300} s" >>"$out/$name.log"; fi
}

for name in $ours; do judge "$name" --kernel "$name" --ablate none; done
for name in $theirs; do
    script="serve_torch.py $name"
    case $name in jax-*) script="serve_jax.py ${name#jax-}" ;; esac
    judge "$name" --kernel "serve:$python $here/$script" --kernel-name "$name" \
        --timeout "${EACH:-300}"
done
"$python" "$here/table.py" "$out" $ours -- $theirs >"$out/peers.md.new" || exit 3
mv "$out/peers.md.new" "$out/peers.md"
cat "$out/peers.md"
