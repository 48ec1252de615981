# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""site_faults.py SOURCE FOLDER [--built VENV]: plants faults in a copy of the guidelines, one at a time.

Prints what the build of the site says to each; fails if it does not fail.
"""

import json
import os
import shutil
import subprocess
import sys

STAGED = [
    "see [this](../runtime/no-such.h)",
    '[text](../test/no-such.c "example bad")',
    '[text](../test/spin-loops/check/guideline.c "example worse")',
    '[text](no-such.json "plot")',
    '[text](catalogue.json "plot")',
    '[text](../README.md "part other")',
    "see [a text\nof two lines](../runtime/include)",
    None,
]
BUILT = [
    "see [this](blocking-sync.md#no-such-part)",
    # The generator does not look into HTML, the link checker does.
    '<a href="no-such-page.html">text</a>',
    "![text](https://example.org/image.png)",
    '<pre class="mermaid">graph LR</pre>',
]


def main():
    source, folder = sys.argv[1:3]
    venv = sys.argv[4] if len(sys.argv) > 3 else None
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    copy = os.path.join(folder, "source")
    os.mkdir(copy)
    for name in os.listdir(source):
        if name in ("runtime", "test", "examples", "checkers", "passes", "README.md", "project.json"):
            os.symlink(os.path.join(source, name), os.path.join(copy, name))
    if venv:
        os.symlink(venv, os.path.join(folder, "site-venv"))
    for fault in BUILT if venv else STAGED:
        guidelines = os.path.join(copy, "guidelines")
        shutil.rmtree(guidelines, ignore_errors=True)
        shutil.copytree(os.path.join(source, "guidelines"), guidelines)
        if fault:
            with open(os.path.join(guidelines, "spin-loops.md"), "a") as page:
                page.write(f"\n{fault}\n")
        else:
            path = os.path.join(guidelines, "catalogue.json")
            with open(path) as file:
                catalogue = json.load(file)
            catalogue["features"][0]["guideline"] = "guidelines/gone.md"
            with open(path, "w") as file:
                json.dump(catalogue, file)
        run = subprocess.run(
            [sys.executable, os.path.join(source, "guidelines", "site", "build.py"), folder, "--source", copy]
            + ([] if venv else ["--stage-only"]),
            capture_output=True, text=True,
        )
        if run.returncode != 1 or "Traceback" in run.stderr:
            sys.exit(f"{fault}: exit status {run.returncode}\n{run.stdout}{run.stderr}")
        print(run.stderr)


if __name__ == "__main__":
    main()
