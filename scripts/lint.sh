#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static checks of the sources: cppcheck, shellcheck and the project's style. Installs the
# two tools on Debian and Ubuntu when they are missing.
set -eu
cd "$(dirname "$0")/.."
for tool in cppcheck shellcheck; do
    command -v $tool >/dev/null 2>&1 && continue
    apt-get install -y -q $tool >/dev/null 2>&1 ||
        { apt-get update -q >/dev/null && apt-get install -y -q $tool >/dev/null; } ||
        { echo "lint: $tool is missing and cannot be installed here" >&2; exit 2; }
done
git ls-files -z '*.c' ':!*_test.c' | xargs -0 cppcheck --quiet --error-exitcode=1 --std=c11 \
    --enable=warning -j "$(nproc)" --inline-suppr --suppress=missingInclude \
    --suppress=missingIncludeSystem --suppress=unknownMacro \
    --suppress=preprocessorErrorDirective -I. -DGG_CUDA=0
git ls-files -z '*.sh' | xargs -0 shellcheck -s sh -e SC1003,SC1091,SC2034,SC2086,SC2154
sh scripts/style.sh
