#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels from shared objects: the example of scripts/examples/plugin, and the same with
# one fault planted in it at a time. usage: plugin_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

mkdir -p "$work/include/gradgate"
cp "$here/kernels/abi.h" "$work/include/gradgate/"
source="$here/scripts/examples/plugin/linear.c"

# plant NAME [SED]...: NAME.so, the example with each edit made; an edit that changes
# nothing is a fault of this test.
plant() {
    name=$1
    cp "$source" "$work/$name.c"
    shift
    for edit; do
        sed "$edit" "$work/$name.c" >"$work/new.c"
        if cmp -s "$work/$name.c" "$work/new.c"; then no "'$edit' changes nothing"; fi
        mv "$work/new.c" "$work/$name.c"
    done
    ${CC:-cc} -std=c11 -O1 -I"$work/include" -fPIC -shared -fvisibility=hidden \
        -o "$work/$name.so" "$work/$name.c" -lm 2>"$work/err" || no "$name.so: $(head -3 "$work/err")"
}

# caught CODE TEXT NAME: a run with NAME.so exits with CODE and its table or report says TEXT.
caught() {
    exits "$1" run --suite linear60 --case 'normal-M17-N64-K15-s000' --kernel "./$3.so" \
        --out "$3.json"
    if grep -qF -- "$2" "$work/$3.json"; then ok; else no "$3.so: no '$2' in the report"; fi
}

on="run --suite linear60 --out r.json --kernel"

echo "a kernel from a shared object"
plant mine
exits 0 $on ./mine.so
exits 0 $on mine.so:mine --case 'canary*'
digest=$(sed -n 's/.*"kernel_digest": "\(.*\)",/\1/p' "$work/r.json")
exits 0 $on plain --case 'canary*'
if [ -n "$digest" ] && ! grep -qF "$digest" "$work/r.json"; then ok; else
    no "the report has no digest of the shared object"
fi
exits 0 case normal-M17-N64-K15-s000 --suite linear60 --kernel "$work/mine.so" --why
exits 0 list kernels --kernel ./mine.so
if grep -q 'plain loops' "$work/out"; then ok; else no "list kernels does not show it"; fi
exits 0 list limits --kernel ./mine.so
exits 0 bench --suite linear60 --case 'normal-M17-N64-K15-s000' --kernel plain,./mine.so --reps 3

echo "the table's last line is a command that can be run, whatever the names"
plant tail 's|t < terms; t++|t < terms / 16 * 16; t++|'
cp "$work/tail.so" "$work/it's a \$tail.so"
exits 1 run --suite linear60 --case 'normal-M17-N3-K15-s000' --kernel "./it's a \$tail.so" \
    --out r.json
why=$(sed -n 's/^ *why: gradgate //p' "$work/out")
(cd "$work" && eval "\"\$gradgate\" $why" >explained 2>err)
code=$?
if [ $code -eq 1 ] && grep -q 'sum over' "$work/explained"; then ok; else
    no "'gradgate $why' exits $code: $(cat "$work/err")"
fi

echo "a shared object that is refused"
refuses 3 "there is no such file" $on ./none.so
echo text >"$work/text.so"
refuses 3 "cannot load ./text.so" $on ./text.so
refuses 3 "has no kernel fast of operator linear" $on ./mine.so:fast
refuses 3 "has no kernel of operator triangle_attention" run --suite probes --kernel ./mine.so
refuses 3 "has no built-in kernel 'fast'" $on ./mine.so --limits-of fast
refuses 3 "takes no --kernel" list suites --kernel ./mine.so
plant abi 's/GG_ABI_VERSION,/GG_ABI_VERSION + 1,/'
refuses 3 "was built for version 2 of the kernel ABI" $on ./abi.so
plant size 's/sizeof(gg_kernel)/sizeof(gg_kernel) - 8/'
refuses 3 "has a gg_kernel of" $on ./size.so
plant symbol '/^GG_PLUGIN/d' 's/^static const gg_kernel/const gg_kernel/'
refuses 3 "has no symbol 'gg_plugin'" $on ./symbol.so
plant operator 's/"linear"/"linaer"/'
refuses 3 "is of operator 'linaer', which is not known" $on ./operator.so
plant tensor 's/"dy", NULL/"dz", NULL/'
refuses 3 "input 2 is 'dz', operator linear has 'dy' there" $on ./tensor.so
plant results 's/forward_outputs = 1/forward_outputs = 2/'
refuses 3 "forward_outputs is 2" $on ./results.so
plant function 's/.backward = backward, //' 's/^static int backward/int backward/'
refuses 3 "forward or backward is NULL" $on ./function.so
plant note 's/.limits_note = ".*",//'
refuses 3 "limits without limits_note" $on ./note.so
plant name 's/"mine"/"mi\/ne"/'
refuses 3 "a kernel's name" $on ./name.so
plant twins 's/GG_PLUGIN(&mine)/GG_PLUGIN(\&mine, \&mine)/'
refuses 3 "comes twice" $on ./twins.so
plant two 's/^GG_PLUGIN.*/static gg_kernel other; __attribute__((constructor)) static void set(void) { other = mine; other.name = "other"; } GG_PLUGIN(\&mine, \&other);/'
refuses 3 "has several kernels: say which" $on ./two.so
exits 0 $on ./two.so:other --case 'canary*'
plant leaves 's/^GG_PLUGIN/#include <stdlib.h>\n__attribute__((constructor)) static void go(void) { exit(0); }\nGG_PLUGIN/'
refuses 3 "ends the process that loads it (exit status 0)" $on ./leaves.so
plant dies 's/^GG_PLUGIN/__attribute__((constructor)) static void go(void) { *(volatile int *)8 = 1; }\nGG_PLUGIN/'
refuses 3 "ends the process that loads it" $on ./dies.so

echo "a shared object whose kernel is wrong"
plant past 's/^    if (!out) return;/&\n    ((char *)out->data)[out->shape[0] * out->shape[1] * out->dtype.bits \/ 8] = 3;/'
caught 1 "wrote past the end of this output" past
plant before 's/^    if (!out) return;/&\n    ((char *)out->data)[-1] = 3;/'
caught 1 "the kernel wrote before its outputs" before
plant saved 's/^    const DLTensor \*x = .*dy.*/&\n    ((char *)call->workspace)[5] = 3;/'
caught 1 "past the end of its saved tensors or workspace" saved
plant inputs 's/^    const DLTensor \*x = .*dy.*/&\n    ((char *)x->data)[5] ^= 1;/'
caught 1 "the kernel changed its inputs" inputs
plant unwritten 's/^            float sum = 0;/            if (i == 1) continue;\n&/'
caught 1 "kept the poison of every run" unwritten
plant nan 's/^            float sum = 0;/            float sum = i == 1 ? NAN : 0;/'
caught 1 "NaN or infinite where the truth" nan
plant wrong 's/sum += at/sum -= at/'
caught 1 "gauge_max" wrong
plant moody 's/^            float sum = 0;/            static int calls; float sum = 1e-3f * (float)(calls++ % 11);/'
caught 1 "changed between equal runs" moody
plant fails 's/^    return 0;/    return 5;/'
caught 2 "forward failed with error 5" fails

echo "a kernel that states no limits is not verified"
plant bare 's/.limits = limits, .limits_note = ".*",//' 's/^static const gg_limits limits.*//'
caught 2 "the kernel states no limit" bare
exits 0 $on ./bare.so --limits-of plain
if grep -q 'those of plain' "$work/r.json"; then ok; else no "no word on whose limits"; fi
exits 0 list limits --kernel ./bare.so
plant half 's/{1.05, 1, 1, 2.2}/{1.05, 1, NAN, 2.2}/'
caught 2 "the kernel states no limit" half
plant endless 's/sum += at/sum -= at/' 's/{1.05, 1, 1, 1.9}, {1.05, 1, 1, 2.2}, {1.05, 1, 1, 6.3}/{INFINITY, INFINITY, INFINITY, INFINITY}, {INFINITY, INFINITY, INFINITY, INFINITY}, {INFINITY, INFINITY, INFINITY, INFINITY}/'
caught 2 "y gauge_max: its limits judge nothing" endless
plant vast 's/sum += at/sum -= at/' 's/{1.05, 1, 1, 1.9}, {1.05, 1, 1, 2.2}, {1.05, 1, 1, 6.3}/{1e30, 1e30, 1e30, 1e30}, {1e30, 1e30, 1e30, 1e30}, {1e30, 1e30, 1e30, 1e30}/'
caught 2 "its limits judge nothing, gauge_max 1e+30 among them" vast
plant partly 's/{1.05, 1, 1, 2.2}/{1e30, 1e30, 1e30, 1e30}/'
caught 2 "dx gauge_max: its limits judge nothing" partly
exits 0 $on ./partly.so --limits-of plain

echo "a kernel that leaves another rounding mode does not change what it is judged by"
plant rounds 's/^#include <math.h>/#include <fenv.h>\n&/' \
    's/^static int forward(.*/__attribute__((constructor)) static void go(void) { fesetround(FE_TOWARDZERO); }\n&/' \
    's/^    const DLTensor \*x = .*dy.*/&\n    if (fegetround() != FE_TONEAREST) return 9;/' \
    's/^    const DLTensor \*x = call->inputs\[0\], \*w = call->inputs\[1\];/&\n    if (fegetround() != FE_TONEAREST) return 8;/' \
    's/^    return 0;/    fesetround(FE_DOWNWARD);\n&/'
caught 0 '"status": "passed"' rounds
exits 0 bench --suite linear60 --case 'normal-M17-N64-K15-s000' --kernel ./rounds.so --reps 3

conclude 55
