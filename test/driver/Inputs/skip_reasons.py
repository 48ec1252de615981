# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""skip_reasons.py TESTS: prints a report of made-up tests, and fails for a feature in REQUIRES that test/skipped.py does not know."""

import os
import re
import sys

REQUIRES = re.compile(r"(?m)^\W*REQUIRES: (.+)$")


def main():
    tests = sys.argv[1]
    sys.path.append(tests)
    import skipped
    absent = "Test requires the following unavailable features: "
    print(*skipped.report([("vfriendly :: a/two.c", f"{absent}llvm-19, root\n"), ("vfriendly :: b.test", absent + "python-pygls"),
                           ("vfriendly :: a/one.test", f"{absent}llvm-19, root")]), sep="\n")
    features = set()
    for folder, folders, names in os.walk(tests):
        folders[:] = [name for name in folders if name not in ("Inputs", "rigs")]
        for name in names:
            if name.endswith((".c", ".cpp", ".ll", ".mlir", ".test")):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    found = REQUIRES.findall(file.read(8192))
                features.update(word for line in found for word in re.split(r"[\s,()|&!]+", line.strip()) if word)
    unknown = sorted(features - set(skipped.NEEDS))
    if unknown:
        sys.exit(f"test/skipped.py does not say what these features are: {', '.join(unknown)}")
    print(f"every one of {len(features)} features has words")


main()
