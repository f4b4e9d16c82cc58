#!/usr/bin/env python3
"""Count tests: Meson's testlog.json, in which every cmocka test counts, and pytest's junit XML.

usage: count_tests.py FILE...    prints `passed failed skipped`

A program that failed without naming a failed test (it crashed, timed out or leaked) counts
as one failure, and so does a file that is missing or cannot be read.
"""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

CMOCKA_OK = re.compile(r"^\[ +OK +\] (.+)$", re.M)
CMOCKA_FAILED = re.compile(r"^\[ +FAILED +\] (?!\d+ test)(.+)$", re.M)
CMOCKA_SKIPPED = re.compile(r"^\[ +SKIPPED +\] (?!\d+ test)(.+)$", re.M)
GOOD = {"OK", "EXPECTEDFAIL"}


def count_program(record):
    out = record.get("stdout", "") + "\n" + record.get("stderr", "")
    passed = len(CMOCKA_OK.findall(out))
    # cmocka names these twice: where they happen, and in its summary.
    failed = len(set(CMOCKA_FAILED.findall(out)))
    skipped = len(set(CMOCKA_SKIPPED.findall(out)))
    if record["result"] == "SKIP":
        return passed, failed, max(skipped, 1)
    if record["result"] not in GOOD:
        return passed, max(failed, 1), skipped
    if passed + failed + skipped == 0:
        passed = 1
    return passed, failed, skipped


def count_meson(path):
    with open(path, encoding="utf-8") as f:
        return [count_program(json.loads(line)) for line in f]


def count_junit(path):
    counts = []
    for suite in ElementTree.parse(path).iter("testsuite"):
        n, bad, skipped = (int(suite.get(k, 0)) for k in ("tests", "failures", "skipped"))
        bad += int(suite.get("errors", 0))
        counts.append((n - bad - skipped, bad, skipped))
    return counts


def main(paths):
    counts = []
    for path in paths:
        try:
            counts += count_junit(path) if path.endswith(".xml") else count_meson(path)
        except (OSError, ValueError, ElementTree.ParseError) as e:
            print(f"{path}: {e}: counted as one failure", file=sys.stderr)
            counts.append((0, 1, 0))
    print(*(sum(column) for column in zip((0, 0, 0), *counts)))


if __name__ == "__main__":
    main(sys.argv[1:])
