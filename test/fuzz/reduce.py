# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a failing program small, by C-Vise or llvm-reduce; what fails is asked of run.py."""

import os
import shlex
import shutil
import sys

from compare import call

# The best program found so far is kept when this is over.
SECONDS = 240


def reduce(options, name, seed, kept, found, kind):
    """Returns the path of the reduced program, or None."""
    folder, suffix = os.path.dirname(kept), os.path.splitext(kept)[1]
    reduced = shutil.copy(kept, os.path.join(folder, "reduced" + suffix))
    runner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")
    command = [sys.executable, runner, os.path.abspath(options.build), name, "--seed", str(seed), "--expect", found.symptom,
               "--out", os.path.join(folder, "tries")]
    for option in ("plugin", "tidy", "tools"):
        if getattr(options, option):
            command += [f"--{option}", os.path.abspath(getattr(options, option))]
    by_ir = suffix == ".ll"
    script = os.path.join(folder, "interesting.sh")
    with open(script, "w") as file:
        what = '"$1"' if by_ir else os.path.basename(reduced)
        file.write(f"#!/bin/sh\nexec {shlex.join(command)} --file {what} >/dev/null 2>&1\n")
    os.chmod(script, 0o755)
    if not shutil.which("llvm-reduce" if by_ir else "cvise"):
        return None
    if by_ir:
        done = call(["llvm-reduce", f"--test={script}", kept, "-o", reduced], timeout=SECONDS, cwd=folder)
    else:
        done = call(["cvise", "--n", "1", "--timeout", "120", "--no-cache", script, os.path.basename(reduced)], timeout=SECONDS, cwd=folder)
    shutil.rmtree(os.path.join(folder, "tries"), ignore_errors=True)
    smaller = os.path.exists(reduced) and os.path.getsize(reduced) < os.path.getsize(kept)
    if done.status and not smaller:
        with open(os.path.join(folder, "reduce.log"), "w") as file:
            file.write(done.out + done.err)
        return None
    return reduced
