# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_resume.py FOLDER TIMES: killed at random and run again, a scan has the same result."""

import os
import random
import signal
import subprocess
import sys
import time

from project import TOOL, Project


def main():
    folder, times = sys.argv[1], int(sys.argv[2])
    project = Project(folder)
    time.sleep(0.1)
    words = [TOOL, "scan", "--format", "sarif", "-j", "1"]
    seed = int(os.environ.get("VF_SEED", time.time_ns()))
    print("VF_SEED =", seed)
    draw = random.Random(seed)
    began = time.monotonic()
    wanted = subprocess.run([*words, "--no-cache"], cwd=project.root, env=project.environment, capture_output=True)
    took = time.monotonic() - began
    assert wanted.returncode == 1, wanted.stderr
    killed = 0
    for _ in range(times):
        child = subprocess.Popen(words, cwd=project.root, env=project.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            child.wait(draw.uniform(0, took))
        except subprocess.TimeoutExpired:
            killed += 1
            # Only the tool: clang-tidy goes on, as after the kernel has killed a process.
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        if draw.random() < 0.5:  # else it goes on from what there is
            project.edit("src/user.c", "// Nothing", "// Nothing at all")
            project.edit("src/user.c", "// Nothing at all", "// Nothing")
    done = subprocess.run(words, cwd=project.root, env=project.environment, capture_output=True)
    assert done.returncode == 1 and done.stdout == wanted.stdout, done.stderr
    print("killed", killed, "of", times)
    left = [p.name for p in (project.root / ".vfriendly").iterdir() if p.name.startswith(".new-")]
    assert len(left) <= killed


main()
