# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Open POSIX Test Suite, as someone has built it: VF_TEST_OPEN_POSIX is the folder
testcases/open_posix_testsuite of the Linux Test Project after a make of its own.
"""

import glob
import os
import re
import shutil

import bring
from compare import Job, Suite

SENTENCE = "Open POSIX Test Suite: threads, semaphores, timers; VF_TEST_OPEN_POSIX=FOLDER, built"
KINDS = re.compile(
    r"conformance/interfaces/(pthread_|sem_|timer_|clock_nanosleep|clock_getcpuclockid|sched_)"
    r"|functional/(semaphores|threads|timers/timers)/")
SMOKE = re.compile(r"/pthread_mutex_lock/|/sem_post/")
# posixtest.h: neither unsupported nor untested is a pass.
SKIP_CODES = (4, 5)


def prepare(_, smoke):
    built = os.environ.get("VF_TEST_OPEN_POSIX", "")
    if not built:
        raise bring.NotRun("VF_TEST_OPEN_POSIX does not name the folder of a built suite")
    built = os.path.abspath(built)
    tests = sorted(t for t in glob.glob(f"{built}/**/*.run-test", recursive=True)
                   if KINDS.search(t) and (not smoke or SMOKE.search(t)))
    if not tests:
        raise bring.NotRun(f"there are no tests built in {built}")
    return Suite([_job(built, test) for test in tests], parallel=len(os.sched_getaffinity(0)))


def _job(built, test):
    keeps_time = []
    if os.geteuid() == 0:
        # Some set the clock, of the whole machine.
        if not shutil.which("setpriv"):
            raise bring.NotRun("needs setpriv, without which its tests would set the clock")
        keeps_time = ["setpriv", "--bounding-set", "-sys_time"]
    name = os.path.relpath(test, built)[: -len(".run-test")]
    name = re.sub(r"^conformance/interfaces/[^/]*/", "", name)
    return Job(name, [*keeps_time, test], cwd=os.path.dirname(test), timeout=180,
               skip_codes=SKIP_CODES)
