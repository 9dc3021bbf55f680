#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of table.sh from its reports: table.py OUTDIR OURS... -- THEIRS..."""
import json
import os
import sys


def last_line(path):
    """Why a kernel left no report: the last thing it said."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
    except OSError:
        return "no log"
    return lines[-1] if lines else "it said nothing"


def text(value):
    """One cell of Markdown, whatever a foreign kernel said."""
    value = " ".join(str(value).split())[:160]
    for mark in "\\`*_[]|<>~":
        value = value.replace(mark, "\\" + mark)
    return value


def load(folder, name):
    """The report's results, or why there are none."""
    try:
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
            return json.load(file)["results"], ""
    except FileNotFoundError:
        return None, last_line(os.path.join(folder, name + ".log"))
    except (OSError, ValueError, KeyError) as error:
        return None, f"{name}.json: {error}"


def figures(results):
    """By output: RMSE over the rounding floor, all families together."""
    return {row["output"]: row["rmse_over_floor"]
            for row in results["extra"]["summary"]["outputs"] if row["family"] == ""}


def row(name, results, outputs, whose):
    found = figures(results)
    if not found:
        reason = next((t["message"] for t in results["tests"] if t.get("message")), "no case")
        return f"| `{name}` | {whose} |" + " |" * (len(outputs) + 2) + f" not run: {text(reason)} |"
    cells = ["undefined" if found.get(o) is None else f"{found[o]:.2f}" for o in outputs]
    rows = [r for r in results["extra"]["summary"]["determinism"] if r["runs"] > 1]
    cases, same = sum(r["cases"] for r in rows), sum(r["identical"] for r in rows)
    bits = "not run" if not cases else f"{'yes' if same == cases else 'no'} ({same} of {cases})"
    counts = results["summary"]
    verdict = (f"{results['extra']['verdict']} ({counts['passed']} of {counts['tests']} cases)")
    first = next((t["message"] for t in results["tests"]
                  if t["status"] != "passed" and t.get("message")), "")
    return (f"| `{name}` | {whose} | " + " | ".join(cells) + f" | {bits} | {verdict} | "
            f"{text(first)} |")


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    cut = names.index("--")
    kernels = [(n, "ours") for n in names[:cut]] + [(n, "peer") for n in names[cut + 1:]]
    loaded = {n: load(folder, n) for n, _ in kernels}
    reports = [r for r, _ in loaded.values() if r is not None]
    outputs = next((list(f) for f in map(figures, reports) if f), [])
    print("# Kernels on equal inputs, against FP64\n")
    if reports:
        run, place = reports[0]["extra"]["run"], reports[0]["environment"]["extra"]
        print(f"{text(place['gpu'] or place['host_cpu'])}; suite {text(run['suite'])}, cases "
              f"{text(run['selection'] or 'all')}, {run['repeats']} runs each.")
        commits = sorted({r["extra"]["run"]["commit"] for r in reports})
        if len(commits) > 1:
            print(f"\n**Reports of {len(commits)} builds ({text(', '.join(commits))}): remove "
                  "the older ones and run again.**")
    print("Figures: mean RMSE over the mean rounding floor of the output's type; 1.00 is the "
          "limit.\n")
    head = ["kernel", "whose", *outputs, "equal bits", "verdict", "first finding"]
    print("| " + " | ".join(head) + " |")
    print("| --- | --- |" + " ---: |" * len(outputs) + " --- | --- | --- |")
    for name, whose in kernels:
        results, why = loaded[name]
        if results is None:
            print(f"| `{name}` | {whose} |" + " |" * (len(outputs) + 2) + f" not run: {text(why)} |")
        else:
            print(row(name, results, outputs, whose))
    return 0


if __name__ == "__main__":
    sys.exit(main())
