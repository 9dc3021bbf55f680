#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what gradgate needs and this machine lacks, on Debian and Ubuntu (as root or
# with sudo). Elsewhere: names what is missing. Says nothing when all is there.
set -eu

packages=""
files=""
# need FILE PACKAGE: the package is missing when the compiler cannot see the header, or
# the program is not on the PATH.
need_header() {
    printf '#include <%s>\n' "$1" | ${CC:-cc} -E -x c - >/dev/null 2>&1 && return
    packages="$packages $2" files="$files $1"
}
need_program() {
    command -v "$1" >/dev/null 2>&1 && return
    packages="$packages $2" files="$files $1"
}

need_program gcc gcc
need_program g++ g++
need_program git git
need_header stdio.h libc6-dev
need_header gmp.h libgmp-dev
need_header mpfr.h libmpfr-dev
need_header cjson/cJSON.h libcjson-dev
need_header xxhash.h libxxhash-dev
need_header zlib.h zlib1g-dev
need_header dlpack/dlpack.h libdlpack-dev
need_header criterion/criterion.h libcriterion-dev
python3 -c 'import yaml' >/dev/null 2>&1 || /usr/bin/python3 -c 'import yaml' >/dev/null 2>&1 ||
    { packages="$packages python3-yaml" files="$files yaml"; }
need_program pkg-config pkg-config
python3 -c 'import jsonschema' >/dev/null 2>&1 || /usr/bin/python3 -c 'import jsonschema' \
    >/dev/null 2>&1 || { packages="$packages python3-jsonschema" files="$files jsonschema"; }

# Wished for, not needed: without it HTML reports have tables alone.
wish() {
    command -v gnuplot >/dev/null 2>&1 && exit 0
    # without a renewed package list: this runs in front of every build
    command -v apt-get >/dev/null 2>&1 && DEBIAN_FRONTEND=noninteractive \
        ${root:-} apt-get install -y -q --no-install-recommends gnuplot-nox >/dev/null 2>&1 ||
        echo "setup: gnuplot (Debian: gnuplot-nox) is missing: HTML reports will have no charts"
    exit 0
}

[ -z "$packages" ] && wish
if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: missing:$files; install the packages that hold them" \
         "(Debian's names:$packages)" >&2
    exit 1
fi
root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "setup: run as root, or install sudo: missing packages:$packages" >&2
        exit 1
    }
    root="sudo"
fi
echo "setup: installing$packages"
export DEBIAN_FRONTEND=noninteractive
# A machine with no package list yet needs one; a stale list is renewed on failure.
# shellcheck disable=SC2086
$root apt-get install -y -q $packages >/dev/null 2>&1 || {
    $root apt-get update -q >/dev/null
    $root apt-get install -y -q $packages >/dev/null
}
wish
