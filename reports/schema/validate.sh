#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: validate.sh REPORT
# Checks a report (plain or gzip) against gradgate-report-1.schema.json, and the schema
# against the report: with any one field removed, or one added to any object, it must
# refuse the report. Exit 0: valid. 1: not valid, or the schema lets something through.
# 2: could not be checked (usage, no validator).
set -u
if [ $# -ne 1 ]; then
    echo "usage: validate.sh REPORT" >&2
    exit 2
fi
for python in python3 /usr/bin/python3 none; do
    $python -c 'import jsonschema' 2>/dev/null && break
done
if [ $python = none ]; then
    echo "validate.sh: no validator: apt-get install python3-jsonschema" >&2
    exit 2
fi
exec $python - "$(dirname "$0")/gradgate-report-1.schema.json" "$1" <<'PYTHON'
import copy, gzip, json, sys
import jsonschema

# Absent where there is nothing to say: also in reports from before they were thought of.
OPTIONAL = ("message", "levels", "level_runs", "bits_map", "error_map", "device", "across",
            "devices",
            "certificate_at", "certified_error", "certified_error_decimal",
            "certified_elements", "roundings", "stated_rmse", "stated_rmse_decimal",
            "stated_rough", "stated_rough_decimal")

def load(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)

def objects(value, path=()):
    """Paths of all objects; of a list the first element stands for all."""
    if isinstance(value, dict):
        yield path
        for key in value:
            yield from objects(value[key], path + (key,))
    elif isinstance(value, list) and value:
        yield from objects(value[0], path + (0,))

def at(value, path):
    for key in path:
        value = value[key]
    return value

def main():
    try:
        schema, report = load(sys.argv[1]), load(sys.argv[2])
    except (OSError, ValueError, EOFError) as error:
        sys.exit(f"validate.sh: {sys.argv[2]}: not readable as JSON: {error}")
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    error = next(validator.iter_errors(report), None)
    if error:
        place = ".".join(str(key) for key in error.absolute_path) or "the document"
        sys.exit(f"validate.sh: {sys.argv[2]}: {place}: {error.message[:300]}")
    report["results"]["tests"] = report["results"]["tests"][:1]
    controls = 0
    for path in list(objects(report)):
        edits = [(key, True) for key in at(report, path) if key not in OPTIONAL]
        for key, remove in edits + [("unknown_field", False)]:
            edited = copy.deepcopy(report)
            if remove:
                del at(edited, path)[key]
            else:
                at(edited, path)[key] = 1
            controls += 1
            if validator.is_valid(edited):
                sys.exit(f"validate.sh: the schema accepts a report with {key} "
                         f"{'removed from' if remove else 'added to'} {path}")
    print(f"valid: {sys.argv[2]} ({controls} edited copies refused)")

main()
PYTHON
