# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_resume.py FOLDER TIMES: killed at random in TIMES runs, a scan has the same result."""

import os
import random
import shutil
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
    seed = int(os.environ.get("VF_TEST_SEED", time.time_ns()))
    print("VF_TEST_SEED =", seed)
    draw = random.Random(seed)
    began = time.monotonic()
    wanted = subprocess.run([*words, "--no-cache"], cwd=project.root, env=project.environment, capture_output=True)
    took = time.monotonic() - began
    assert wanted.returncode == 1, wanted.stderr

    def kept():
        return len(project.results())

    at, ended = [], 0  # what was kept at each kill; runs that ended before theirs
    while len(at) < times and ended < 10 * times:
        child = subprocess.Popen(words, cwd=project.root, env=project.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            child.wait(draw.uniform(0, took))
        except subprocess.TimeoutExpired:
            # Only the tool: clang-tidy goes on, as after the kernel has killed a process.
            os.kill(child.pid, signal.SIGKILL)
        if child.wait() == -signal.SIGKILL:
            at.append(kept())
        else:
            ended += 1
            shutil.rmtree(project.cache)  # the next has everything to do again
        if draw.random() < 0.5:  # else it goes on from what there is
            project.edit("src/user.c", "// Nothing", "// Nothing at all")
            project.edit("src/user.c", "// Nothing at all", "// Nothing")
    assert len(at) == times, (at, ended)
    done = subprocess.run(words, cwd=project.root, env=project.environment, capture_output=True)
    assert done.returncode == 1 and done.stdout == wanted.stdout, done.stderr
    print("killed in", times, "runs; units kept at each kill:", *at)
    left = list(project.cache.glob("vfriendly/*/*/.new-*"))
    assert len(left) <= times


main()
