# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Redis's own tests against Debian's redis-server. One job a file of tests, so that one
that ends differently can be repeated by itself.
"""

import os
import re
import shutil

import bring
from compare import FAIL, PASS, SKIP, Job, Suite

SENTENCE = "Redis's own test suite, Debian's server"
SMOKE = ["unit/type/incr", "unit/lazyfree"]
PROGRAMS = ("redis-server", "redis-cli", "redis-benchmark", "redis-check-aof", "redis-check-rdb")
PORT_RANGES, PORTS = 8, 2000
COLOUR = re.compile(r"\033\[[\d;]*m")
LINE = re.compile(r"^\[(ok|err|exception|timeout|ignore|skip)\]:? (.*)$", re.M)
HOW = {"ok": PASS, "ignore": SKIP, "skip": SKIP}


def prepare(place, smoke):
    root = place.debian.packages(place.path("root"), ["redis-server", "tcl"], ["redis-tools"])
    source = place.debian.source(place.path("source"), "redis")
    # Modules would have to be built with the server's own source.
    listed = open(os.path.join(source, "tests/test_helper.tcl")).read()
    every = re.search(r"set ::all_tests \{(.*?)\}", listed, re.S).group(1).split()
    return Suite([_job(place, root, source, name, number)
                  for number, name in enumerate(SMOKE if smoke else every)],
                 parallel=len(os.sched_getaffinity(0)), programs=("redis-server",))


def _job(place, root, source, name, number):
    environment = place.debian.library_path(root)
    tcl = shutil.which("tclsh8.6")
    if not tcl:
        tcl = os.path.join(root, "usr/bin/tclsh8.6")
        environment["TCL_LIBRARY"] = os.path.join(root, "usr/share/tcltk/tcl8.6")
    # Jobs that run at the same time share neither files nor ports. Unix sockets are made
    # below: their paths end after 107 bytes.
    folder = place.path("at", str(number))
    port = 11000 + number % PORT_RANGES * PORTS

    def before():
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "src"))
        for program in PROGRAMS:
            os.symlink(os.path.join(root, "usr/bin", program), os.path.join(folder, "src", program))
        for file in ("redis.conf", "sentinel.conf"):
            shutil.copy(os.path.join(source, file), folder)
        shutil.copytree(os.path.join(source, "tests"), os.path.join(folder, "tests"))
        os.makedirs(os.path.join(folder, "tests/tmp"), exist_ok=True)

    def results(outcome):
        found = {}
        for how, what in LINE.findall(COLOUR.sub("", outcome.output)):
            test = re.sub(r" \([\d.]+ (ms|seconds)\)$| in tests/\S+\.tcl$", "", what)
            status = HOW.get(how, FAIL)
            # Several have the same name: they pass if all do.
            key = f"{name}: {_steady(test)}"
            if found.get(key, PASS) in (PASS, SKIP):
                found[key] = status
        # What was tested may be right and its end not.
        found[f"{name}: (all of it)"] = outcome.status
        return found

    return Job(name, [tcl, "tests/test_helper.tcl", "--single", name, "--clients", "1",
                      "--baseport", str(port), "--portcount", str(PORTS)], cwd=folder,
               timeout=1200, environment=environment, results=results, before=before)


def _steady(test):
    """A test's name without what is another in each run."""
    return re.sub(r"\b(pid|port|seed|sha)[ :=]*\w+|\b\d{5,}\b", r"\1", test)
