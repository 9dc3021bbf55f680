# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a tutorial in the current folder, in one shell, and compares exit
codes and output with what the text says. usage: tutorial_test.py FILE

A ```sh block holds commands, a line each, that exit with 0 or with what "# exits N" says.
Each line of the ```text block after it must be a line of what those commands printed; "..."
stands for anything, and spaces count as one."""
import re
import subprocess
import sys

text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
commands = compared = bad = 0
printed = []


def run(command):
    """The exit code of a command in the shell, and the lines that it printed."""
    shell.stdin.write(f"{command}\nprintf '\\n@done %d\\n' $?\n")
    shell.stdin.flush()
    lines = []
    for line in shell.stdout:
        done = re.match(r"@done (\d+)$", line)
        if done:
            return int(done[1]), lines
        lines.append(" ".join(line.split()))
    sys.exit(f"the shell ended at '{command}'")


for kind, body in blocks:
    if kind == "sh":
        printed = []
        for line in body.splitlines():
            wanted = re.search(r"# exits (\d+)", line)
            code, lines = run(line)
            printed += lines
            commands += 1
            if code != (int(wanted[1]) if wanted else 0):
                print(f"FAILED: '{line}' exits {code}:", *lines[-3:], sep="\n  ")
                bad += 1
    elif kind == "text":
        for line in body.splitlines():
            pattern = ".*".join(re.escape(part.strip()) for part in
                                " ".join(line.split()).split("..."))
            pattern = pattern.replace(r"\ ", " ")
            compared += 1
            if not any(re.fullmatch(pattern, p) for p in printed):
                print(f"FAILED: no line '{line}'")
                bad += 1
print(f"{commands} commands, {compared} lines of output, {bad} failed")
sys.exit(bad > 0 or commands < 10 or compared < 8)
