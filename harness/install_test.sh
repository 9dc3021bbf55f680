#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The way of a stranger: install, find everything without the sources, build the examples
# outside the tree, run them, break them, gate them red. usage: install_test.sh BUILD
# Takes what `make install` (run before, by the Makefile) left in BUILD/stage/opt/gradgate.
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
stage=$(cd "$build/stage" && pwd)

# The prefix is moved, and the path of the sources that the binaries hold is overwritten
# (with as many letters), as if the sources had been moved away. Not its last part: linkers keep
# a string that ends another one inside it, and that could be one of ours.
prefix=$work/prefix
cp -a "$stage/opt/gradgate" "$prefix"
gone=$(dirname "$here" | tr '[:lower:]' 'x')/$(basename "$here")
for file in bin/gradgate lib/$(readlink "$prefix/lib/libgradgate.so.0"); do
    LC_ALL=C sed -i "s|$here|$gone|g" "$prefix/$file"
    if LC_ALL=C grep -qF "$here/" "$prefix/$file"; then no "$file still knows the sources"; fi
done
gradgate=$prefix/bin/gradgate

echo "what is installed"
for file in bin/gradgate lib/libgradgate.so lib/libgradgate.so.0 lib/libgradgate.a \
    include/gradgate/abi.h include/gradgate/gradgate.h lib/pkgconfig/gradgate.pc \
    share/man/man1/gradgate.1 share/bash-completion/completions/gradgate \
    share/zsh/site-functions/_gradgate share/fish/vendor_completions.d/gradgate.fish \
    share/gradgate/suites/smoke600.json share/gradgate/golden/turbo-twin300.txt \
    share/gradgate/ci/action.yml share/gradgate/examples/api/judge.c \
    share/gradgate/examples/plugin/linear.c share/gradgate/tutorial.md; do
    if [ -s "$prefix/$file" ]; then ok; else no "$file is not installed"; fi
done
declared=$(sed -n 's/^GG_API .*[ *]\(gg_[a-z_]*\)(.*/\1/p' "$prefix/include/gradgate/gradgate.h" |
    sort)
exported=$(nm -D --defined-only "$prefix/lib/libgradgate.so" |
    sed -n 's/.* [TDBRW] \([^@]*\).*/\1/p' | sort)
if [ -n "$declared" ] && [ "$declared" = "$exported" ]; then ok; else
    no "the library exports: $exported"
fi
exported=$(nm -g --defined-only "$prefix/lib/libgradgate.a" | sed -n 's/.* [TDBRW] //p' | sort)
if [ "$declared" = "$exported" ]; then ok; else no "the archive exports: $exported"; fi
if readelf -d "$prefix/lib/libgradgate.so" | grep -q 'soname: \[libgradgate.so.0\]'; then ok
else no "the library's soname"; fi
for language in "${CC:-cc} -std=c99 -x c" "g++ -std=c++11 -x c++"; do
    if echo '#include <gradgate/gradgate.h>' | $language -pedantic -Wall -Wextra -Werror \
        -I"$prefix/include" -fsyntax-only - 2>"$work/err"; then ok; else
        no "$language: $(head -3 "$work/err")"
    fi
done
exits 0 --version
if grep -qE '^gradgate [0-9.]+ \(([0-9a-f]{12}(\+dirty)?|unknown)\)$' "$work/out" &&
    grep -q '^compiler: ' "$work/out"; then ok; else no "the version does not say which build"; fi

echo "suites and golden files come from the prefix"
exits 0 list suites
if grep -q '^smoke600 ' "$work/out"; then ok; else no "no suite is found"; fi
mv "$prefix/share/gradgate/suites" "$work/away"
exits 0 list suites
if grep -q 'smoke600' "$work/out"; then no "suites come from elsewhere"; else ok; fi
mv "$work/away" "$prefix/share/gradgate/suites"
exits 0 run --suite twin300 --kernel turbo --golden turbo-twin300 --case 'normal-*' --repeats 2 \
    --certify 0

echo "man page and completion have every option"
exits 0 help
commands=$(awk '/^topics/ { exit } /^  [a-z]/ { print $1 }' "$work/out")
bash=$prefix/share/bash-completion/completions/gradgate
for command in $commands; do
    exits 0 help "$command"
    options=$(awk '/^  --/ { sub(/\[.*/, "", $1); print $1 }' "$work/out")
    for option in $options; do
        if grep -qF -- "$(echo "$option" | sed 's/-/\\-/g')" "$prefix/share/man/man1/gradgate.1" &&
            grep -q " $command) .*$option " "$bash" &&
            grep -qF -- "--$(echo "$option" | cut -c3-)" "$prefix/share/zsh/site-functions/_gradgate" &&
            grep -q "subcommand_from $command' -l ${option#--}" \
                "$prefix/share/fish/vendor_completions.d/gradgate.fish"
        then ok; else no "$command $option is not everywhere"; fi
    done
done
if command -v groff >/dev/null; then
    groff -man -ww -z "$prefix/share/man/man1/gradgate.1" 2>"$work/err"
    if [ -s "$work/err" ]; then no "man page: $(head -2 "$work/err")"; else ok; fi
fi
for shell in zsh fish; do
    command -v $shell >/dev/null || continue
    case $shell in
    zsh) file=share/zsh/site-functions/_gradgate ;;
    fish) file=share/fish/vendor_completions.d/gradgate.fish ;;
    esac
    if $shell -n "$prefix/$file" 2>"$work/err"; then ok; else no "$shell: $(cat "$work/err")"; fi
done
# completes WORD WORD...: what bash offers for the last one
completes() {
    (cd "$work" && PATH=$prefix/bin:$PATH bash -c '. "$1"; shift; COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1)); _gradgate 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' \
        - "$bash" "$@" | tr '\n' ' ')
}
# offers WORDS LINE-WORDS...
offers() {
    want=$1
    shift
    got=$(completes "$@")
    if [ "$got" = "$want " ]; then ok; else no "'$*' completes to '$got', not '$want'"; fi
}
offers "report" gradgate rep
offers "smoke600" gradgate run --suite smo
offers "turbo" gradgate run --kernel tur
offers "--repeats --resume" gradgate run --re
offers "survivor alarm" gradgate selftest --control ''
offers "exact" gradgate gate --bits e
offers "exit-codes" gradgate help exit
offers "kernels" gradgate list k

echo "a program with a kernel of its own"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
PATH=$prefix/bin:$PATH
export PKG_CONFIG_PATH PATH
unset MAKEFLAGS MAKELEVEL MFLAGS
cp -r "$prefix/share/gradgate/examples" "$work/mine"
# does CODE COMMAND...: in the folder $work/mine
does() {
    want=$1
    shift
    (cd "$work/mine" && LD_LIBRARY_PATH=$prefix/lib "$@" >"$work/out" 2>"$work/err")
    code=$?
    if [ "$code" -eq "$want" ]; then ok; else
        no "'$*' exits $code, not $want: $(cat "$work/err" "$work/out" | tail -n 3)"
    fi
}
# breaks the kernel: each sum loses its last term
break_kernel() {
    sed -i 's/t < terms; t++/t < terms - (terms > 8); t++/' "$work/mine/plugin/linear.c"
    grep -q 'terms > 8' "$work/mine/plugin/linear.c" || no "the kernel was not broken"
}
does 0 make -C api
does 0 api/judge linear60 api.json
does 0 gradgate report api.json
does 0 make -C api -B STATIC=1
if ldd "$work/mine/api/judge" | grep -q libgradgate; then no "STATIC=1 is not static"; else ok; fi
does 0 env GRADGATE_SUITES="$prefix/share/gradgate/suites" api/judge
does 3 api/judge nosuch
if grep -q "^judge: no suite named 'nosuch'" "$work/err"; then ok; else no "no word on nosuch"; fi

echo "a kernel in a shared object"
does 0 make -C plugin
does 0 gradgate run --suite linear60 --kernel plugin/mine.so --out baseline.json

echo "both broken are red"
break_kernel
does 0 make -C api
does 1 api/judge linear60 broken.json
does 0 make -C plugin
does 1 gradgate run --suite linear60 --kernel plugin/mine.so --out broken.json
does 1 gradgate gate broken.json --baseline baseline.json
if grep -qE '^ +rmse +failed' "$work/out"; then ok; else no "the gate does not say why"; fi

echo "the tutorial, command by command"
mkdir "$work/tutorial"
if (cd "$work/tutorial" && python3 "$here/harness/tutorial_test.py" \
    "$prefix/share/gradgate/tutorial.md"); then ok; else no "the tutorial"; fi

echo "uninstall leaves nothing"
if (cd "$here" && make -s uninstall BUILD="$build" CUDA=0 DESTDIR="$stage" \
    PREFIX=/opt/gradgate >"$work/out" 2>&1); then ok; else no "uninstall: $(cat "$work/out")"; fi
left=$(find "$stage" ! -type d)
if [ -z "$left" ]; then ok; else no "uninstall leaves $left"; fi

conclude 100
