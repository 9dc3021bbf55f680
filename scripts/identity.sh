#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the header that says which build this is: version, commit, compilers.
# usage: identity.sh VERSION CC NVCC CFLAGS
set -u
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
[ "$commit" != unknown ] && [ -n "$(git status --porcelain 2>/dev/null | head -1)" ] &&
    commit="$commit+dirty"
compiler="$($2 --version | head -1) $4"
[ -n "$3" ] && compiler="$compiler; nvcc $($3 --version | sed -n 's/.*release .*V//p')"
cat <<END
/* Written by scripts/identity.sh. */
#define GG_VERSION "$1"
#define GG_COMMIT "$commit"
#define GG_COMPILER "$(printf %s "$compiler" | tr -d '"\\')"
END
