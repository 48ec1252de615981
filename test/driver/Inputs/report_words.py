# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the length of reports: report_words.py CATALOGUE MAX < OUTPUT.

OUTPUT is clang-tidy's, with at least one report of each check in CATALOGUE. A report has
at most MAX words and one remedy. One of spin-loops says in its first ten what is polled.
"""

import json
import re
import sys

catalogue, most = sys.argv[1], int(sys.argv[2])
checks = {
    check
    for feature in json.load(open(catalogue))["features"]
    for check in feature.get("checks", [])
}
REPORT = re.compile(r"^/\S+: warning: (.*) \(guidelines/[a-z-]+\.md\) \[(vfriendly-[a-z-]+)\]$")
texts = {match.groups() for match in map(REPORT.match, sys.stdin.read().splitlines()) if match}
faults = [f"no report of {check}" for check in sorted(checks - {check for _, check in texts})]
for text, check in sorted(texts):
    words = text.split()
    if len(words) > most:
        faults.append(f"{len(words)} words: {text}")
    if ", or " in text:
        faults.append(f"several remedies: {text}")
    if check == "vfriendly-spin-loops" and not re.search("'|call|memory", " ".join(words[:10])):
        faults.append(f"not said early what is polled: {text}")
print("\n".join(faults) or f"{len(texts)} texts")
sys.exit(bool(faults))
