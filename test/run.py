#!/usr/bin/env python3
"""Runs lit on a build tree and ends on the line CI reads: 'N passed, N failed'.

Unsupported tests count as skipped, never as passed; an expected failure that
passes, a timeout and an unresolved test all count as failed.
"""

import json
import os
import subprocess
import sys
import tempfile

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main():
    build = os.path.abspath(sys.argv[1])
    paths = sys.argv[2:]
    lit = "/usr/lib/llvm-22/bin/lit"
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    suite = os.path.join(build, "test")
    tests = []
    for path in paths:
        relative = os.path.relpath(os.path.abspath(path), os.path.join(source, "test"))
        if relative.startswith("..") or not os.path.exists(path):
            sys.exit(f"dev test: {path} is not a file or folder under test/")
        tests.append(os.path.join(suite, relative))
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        status = subprocess.run(
            [sys.executable, lit, "-v", f"--output={report.name}"] + (tests or [suite])
        ).returncode
        try:
            results = json.load(open(report.name))["tests"]
        except (ValueError, KeyError):
            sys.exit(f"dev test: lit ended with status {status} and left no report")
    codes = [t["code"] for t in results]
    passed = sum(c in PASSED for c in codes)
    skipped = sum(c in SKIPPED for c in codes)
    failed = len(codes) - passed - skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or status or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
