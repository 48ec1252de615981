# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""catalogue.py CATALOGUE SOURCE PLUGIN MODULE: one table, everywhere the same.

The sentence of each feature is the title of its page and stands in the comments of
its pass, its checks and its runtime, as far as it has them; the module lists exactly the checks of the
catalogue, and the plugin knows every pass.
"""

import json
import os
import re
import subprocess
import sys


def words(text):
    """Text without comment signs and line ends."""
    return " ".join(re.sub(r"(?m)^\s*(///|//|/\*|\*)", " ", text).split())


def headers(source, layer, slug):
    folder = os.path.join(source, layer, slug)
    return "".join(
        words(open(os.path.join(folder, name)).read())
        for name in sorted(os.listdir(folder))
        if name.endswith(".h")
    )


def main():
    catalogue, source, plugin, module = sys.argv[1:]
    wrong = []
    checks = set()
    for f in json.load(open(catalogue))["features"]:
        checks |= set(f["checks"])
        with open(os.path.join(source, f["guideline"])) as page:
            if page.readline().strip() != f"# {f['sentence']}":
                wrong.append(f"{f['guideline']}: the title is not the sentence")
        layers = [("passes", f["passes"]), ("checkers", f["checks"]),
                  ("runtime", f.get("runtime"))]
        for layer in (name for name, has in layers if has):
            if f["sentence"] not in headers(source, layer, f["slug"]):
                wrong.append(f"{layer}/{f['slug']}: no class comment has the sentence")
        for name in f["passes"]:
            run = subprocess.run(
                ["opt", f"-load-pass-plugin={plugin}", f"-passes={name}", "-disable-output"],
                input=b"", capture_output=True,
            )
            if run.returncode:
                wrong.append(f"pass {name}: {run.stderr.decode().strip()}")
    listed = subprocess.run(
        ["clang-tidy", f"--load={module}", "--checks=-*,vfriendly-*", "--list-checks"],
        capture_output=True, text=True,
    ).stdout
    found = set(re.findall(r"vfriendly-\S+", listed))
    if found != checks:
        wrong.append(f"clang-tidy lists {sorted(found)}, the catalogue {sorted(checks)}")
    print("\n".join(wrong) or "catalogue: agrees")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
