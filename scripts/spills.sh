#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints registers, stack and spills of every kernel from ptxas reports, and fails when a
# kernel spills or wgmma was serialised. usage: spills.sh LOG...
set -u
[ $# -gt 0 ] || { echo "spills: no report to read: build with CUDA=1" >&2; exit 2; }
awk '
/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
/bytes stack frame/ {
    spill[name] = $5 + $9; stack[name] = $1; file[name] = FILENAME
}
/Used [0-9]+ registers/ { match($0, /Used [0-9]+/); regs[name] = substr($0, RSTART + 5, RLENGTH - 5); n++ }
/C751[0-9]|wgmma.*serializ/ { print FILENAME ": " $0; bad++ }
END {
    printf "%9s %6s %6s  kernel\n", "registers", "stack", "spill"
    for (k in regs) {
        printf "%9d %6d %6d  %s\n", regs[k], stack[k], spill[k], k | "sort -k4"
        if (spill[k] > 0) bad++
    }
    close("sort -k4")
    if (n == 0) { print "no kernel in the reports"; exit 2 }
    if (bad > 0) { print bad " kernels spill or are serialised"; exit 1 }
    print n " kernels, none spills"
}' "$@"
