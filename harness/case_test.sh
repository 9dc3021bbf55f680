#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gradgate case as a person uses it: exit codes, one-line errors, the element that explains
# a verdict. usage: case_test.sh BUILD (with planted/gradgate in it)
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"

# says PATTERN: the last output has a line that matches
says() { if grep -qE -- "$1" "$work/out"; then ok; else no "no line matches '$1'"; fi; }
hides() { if grep -qE -- "$1" "$work/out"; then no "a line matches '$1'"; else ok; fi; }

smoke="--suite smoke600 --kernel turbo --device host"
one="case normal-N24-D16-s000 $smoke"

echo "case: bad input"
refuses 3 "takes one ID" case $smoke
refuses 3 "takes one ID" case a b $smoke
refuses 3 "needs --suite" case a --kernel turbo
refuses 3 "needs --kernel" case a --suite smoke600
refuses 3 "has no option" case a --frob
refuses 3 "needs a value" case a --suite
refuses 3 "nearest are normal-N24-D16-s000, " case normal-N24-D16-s00 $smoke
refuses 3 "has no case '*'" case '*' $smoke
refuses 3 "has no case ''" case '' $smoke
refuses 3 "nosuch" case a --suite nosuch --kernel turbo
refuses 3 "no kernel 'fast'" case normal-N24-D16-s000 --suite smoke600 --kernel fast
refuses 3 "unknown device" $one --device x
refuses 3 "choose one of o dq dk dv dbias" $one --output dz --why
refuses 3 "needs --output" $one --element 0,0,0,0,0
for element in '' 0 0,0,0,0 0,0,0,0,0,0 0,0,0,0,x '0,0,0,0,' -1,0,0,0,0 ' 0,0,0,0,0' \
    '[0,0,0,0,0' 0,0,0,0,0]; do
    refuses 3 "takes 5 numbers" $one --output dq --element "$element"
done
refuses 3 "is outside dq[B=1,R=24,H=4,N=24,D=16]" $one --output dq --element 0,0,4,0,0
refuses 3 "is outside dbias[B=1,H=4,N=24,N=24]" $one --output dbias --element 1,0,0,0
refuses 3 "is outside" $one --output dq --element 0,0,0,0,99999999999999999999
refuses 3 "--repeats takes" $one --repeats 0
refuses 3 "/nonexistent" $one --out /nonexistent/r.json

echo "case: checks and verdicts"
exits 0 $one
says '^passed  turbo on host  smoke600  normal-N24-D16-s000$'
says '^  B=1 R=24 H=4 N=24 D=16  seed 0  5 runs'
says '^  dq +pattern +0 +0  passed$'
says '^ +rmse .*  passed$'
hides '^why'
left=$(cd "$work" && echo *)
if [ "$left" = "err out" ]; then ok; else no "case leaves files: $left"; fi
exits 2 $one --repeats 1
says '^not verified  turbo'
says 'repeat +- +-  not verified: one run'
exits 2 $one --repeats 1 --why
says '^  reading: '
exits 0 $one --out case.json
says '^report: case.json$'
exits 0 report case.json
exits 0 case normal-M1-N3-K15-s000 --suite linear60 --kernel plain --why
says '^why: (y|dx|dw) at [mnk]=[0-9]+ [mnk]=[0-9]+  \(largest error over its allowance\)$'

echo "case: the element asked for"
exits 0 $one --output dq --element 0,3,1,17,5
says '^why: dq at b=0 r=3 h=1 i=17 d=5  \(as asked\)$'
says '^  kernel  .*0x[01]\.?[0-9a-f]*p.* bits 0x[0-9a-f]{4} \(bf16\)$'
says '^  MPFR  .*  agreed at [0-9]+ bits$'
says '^  error .* ulp of bf16; .* of what is allowed'
says '^  sum over j of sc P\[i,j\] \(dP\[i,j\] - delta\[i\]\) k\[j,d\]: 24 terms$'
says '^ +largest +term +share +P +dP +delta +k$'
says '^ +16 more '
says 'cancellation factor [0-9]'
exits 0 $one --output dk --element '[0,3,1,17,5]'
says '^why: dk at b=0 r=3 h=1 j=17 d=5 '
exits 0 $one --output dbias --element 0,1,17,5
says '^why: dbias at b=0 h=1 i=17 j=5 '
says 'bits 0x[0-9a-f]{8} \(f32\)$'
says '^  sum over r '
exits 0 $one --why --output o
says '^why: o at .*largest error over its allowance'
cp "$work/out" "$work/first"
exits 0 $one --why --output o --threads 1
sed 1,2d "$work/first" >"$work/a"
sed 1,2d "$work/out" >"$work/b"
if cmp -s "$work/a" "$work/b"; then ok; else no "threads change the explanation"; fi

echo "case: a failed check"
golden=$here/cases/golden/turbo-twin300.txt
line=$("$planted" run --device host --suite twin300 --kernel turbo --golden "$golden" \
    --repeats 2 --ablate none --certify 0 --out "$work/planted.json" | grep '^  why: ')
id=$(echo "$line" | sed 's/^ *why: gradgate case \([^ ]*\) .*/\1/')
if [ -n "$id" ]; then ok; else no "the table does not point to a case: '$line'"; fi
(cd "$work" && "$planted" case "$id" --device host --suite twin300 --kernel turbo \
    --golden "$golden" --why >out 2>err)
code=$?
if [ $code -eq 1 ]; then ok; else no "the planted twin exits $code: $(cat "$work/err")"; fi
says '^failed  turbo on host  twin300  '
says 'golden +1 +0  failed: bits differ'
says '\(first failed check: golden\)$'

echo "certify: so many of the cases that were chosen"
some="run --device host --suite smoke600 --kernel turbo --case [vk]*-N24-D16-s00[5-7] --ablate none \
    --repeats 2"
# certifies COUNT FILE: the report has points compared with MPFR in so many cases
certifies() {
    found=$(grep -c '"certified_elements": "[a-z0-9]' "$work/$2")
    if [ "$found" -eq $(($1 * 5)) ]; then ok; else no "$2: $found outputs certified, not $1 x 5"; fi
}
for count in 0 1 2 9; do
    exits 0 $some --certify $count --out c$count.json
    certifies $count c$count.json
done
exits 0 $some --out all.json
certifies 9 all.json
hides 'not certified'
exits 0 $some --certify 4 --out whole.json
certifies 4 whole.json
says '^passed  turbo .*  truth of 5 not certified$' # green as asked for, and says what is not
exits 0 report whole.json --markdown
says '^# passed .* truth of 5 not certified$'
exits 0 report whole.json --html whole.html --junit whole.xml
for page in whole.html whole.xml; do
    if grep -q 'truth of 5 not certified' "$work/$page"; then ok; else no "$page has no word of it"; fi
done
(cd "$work" && "$gradgate" gate whole.json --baseline all.json >out 2>err) # 2 of a dirty build
says '^report: .* truth of 5 not certified'
for shard in 1 2; do exits 0 $some --certify 4 --shard $shard/2 --out s$shard.json; done
exits 0 merge merged.json s1.json s2.json
equal "$work/whole.json" "$work/merged.json"

conclude 82
