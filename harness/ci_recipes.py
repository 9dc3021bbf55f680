#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the recipes of scripts/ci as their servers do, without the servers.

usage: ci_recipes.py action FILE TEMP INPUT=VALUE...
       ci_recipes.py workflow FILE CHECKOUT TEMP EXPRESSION=VALUE...
       ci_recipes.py gitlab FILE JOB CHECKOUT VARIABLE=VALUE...

Steps run in order through the server's shell, with its files for environment, outputs and
summary under TEMP; steps of actions/* (checkout, cache, upload) are left to the server.
Every ${{ expression }} and condition must be given a value: none is guessed. The exit code
is that of the first step that fails; 9: the recipe itself is wrong."""
import os
import re
import subprocess
import sys

import yaml

BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]


def wrong(text):
    print(f"ci_recipes: {text}", file=sys.stderr)
    sys.exit(9)


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def fill(text, given):
    """`text` with each expression replaced; one without a value ends the run."""
    def value(match):
        name = " ".join(match[1].split())
        if name not in given:
            wrong(f"no value for the expression '{name}'")
        return given[name]
    return re.sub(r"\$\{\{(.*?)\}\}", value, str(text), flags=re.S)


def github_env(temp):
    """The files and variables that a runner gives to every step."""
    return {**os.environ, "GITHUB_ACTIONS": "true", "RUNNER_TEMP": temp,
            "GITHUB_STEP_SUMMARY": temp + "/summary.md", "GITHUB_OUTPUT": temp + "/output",
            "GITHUB_ENV": temp + "/env"}


def run_step(step, given, env, folder):
    env = {**env, **{k: fill(v, given) for k, v in step.get("env", {}).items()}}
    return subprocess.run(BASH + [fill(step["run"], given)], env=env, cwd=folder).returncode


def run_action(path, temp, inputs, folder):
    action = load(path)
    given = {f"inputs.{k}": inputs.pop(k, v.get("default")) for k, v in action["inputs"].items()}
    if inputs:
        wrong(f"no such input: {inputs}")
    if None in given.values():
        wrong(f"an input is missing: {given}")
    given["runner.temp"] = temp
    env = {**github_env(temp), "GITHUB_ACTION_PATH": os.path.dirname(os.path.abspath(path))}
    for step in action["runs"]["steps"]:
        if "run" in step:
            code = run_step(step, given, env, folder)
            if code != 0:
                return code
    return 0


def written_env(temp):
    """NAME=VALUE lines that earlier steps left in GITHUB_ENV."""
    try:
        with open(temp + "/env", encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("=", 1) for line in file)
    except FileNotFoundError:
        return {}


def run_workflow(path, checkout, temp, given):
    (job,) = load(path)["jobs"].values()
    given = {**given, "runner.temp": temp}
    for step in job["steps"]:
        if "if" in step and fill("${{" + step["if"] + "}}", given) != "true":
            continue
        code = 0
        left = written_env(temp)
        given.update({"env." + name: value for name, value in left.items()})
        uses = step.get("uses", "")
        if uses.startswith("./"):
            inputs = {k: fill(v, given) for k, v in step.get("with", {}).items()}
            code = run_action(f"{checkout}/{uses}/action.yml", temp, inputs, checkout)
        elif "run" in step:
            code = run_step(step, given, {**github_env(temp), **left}, checkout)
        elif not uses.startswith("actions/"):
            wrong(f"what is this step? {step}")
        if code != 0:
            return code
    return 0


def run_gitlab(path, name, checkout, given):
    recipe, job = load(path), {}
    for part in (recipe[recipe[name]["extends"]], recipe[name]):
        variables = {**job.get("variables", {}), **part.get("variables", {})}
        job = {**job, **part, "variables": variables}
    lines = job["script"]
    for line in lines:
        if not isinstance(line, str):
            wrong(f"YAML takes this line of the script for a mapping: {line}")
    env = {**os.environ, **{k: str(v) for k, v in job["variables"].items()}, **given}
    return subprocess.run(BASH + ["\n".join(lines)], env=env, cwd=checkout).returncode


def main():
    kind, path, *rest = sys.argv[1:]
    at = {"action": 1, "workflow": 2, "gitlab": 2}[kind]
    given = dict(a.rsplit("=", 1) for a in rest[at:])
    if kind == "action":
        return run_action(path, rest[0], given, os.getcwd())
    if kind == "workflow":
        return run_workflow(path, rest[0], rest[1], given)
    return run_gitlab(path, rest[0], rest[1], given)


if __name__ == "__main__":
    sys.exit(main())
