# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MariaDB's own tests against Debian's server, which has a thread for each connection."""

import os
import re

import bring
from compare import FAIL, PASS, SKIP, Job, Suite

SENTENCE = "MariaDB's own tests of locks, threads, waits and a part of the rest, Debian's server"
SMOKE = ["main.lock_multi", "main.kill"]
# All would take hours. Of each suite what is about locks, threads and what waits.
WAITS = "lock|wait|thread|kill|concurr|timeout|mutex|deadlock|purge|flush|pool"
# Of main also a cross-section.
MAIN = WAITS + ("|^(select|join|sp|trigger|view|insert|alter|create|ps|union|variables|handler|merge"
                "|partition|delayed|truncate|temp_table|status|log|mdl|connect|events)")
SUITES = {"main": MAIN, "innodb": WAITS, "sys_vars": WAITS, "perfschema": WAITS, "parts": WAITS}
LINE = re.compile(r"^(\S+\.\S+(?: '[^']*')?) +(?:w\d+ +)?\[ ([\w-]+) \]", re.M)
HOW = {"pass": PASS, "skipped": SKIP, "disabled": SKIP}


def prepare(place, smoke):
    bring.need("perl")
    nobody = bring.not_as_root()
    root = place.debian.packages(
        place.path("root"), ["mariadb-test", "mariadb-server"],
        ["mariadb-test", "mariadb-test-data", "mariadb-server", "mariadb-server-core",
         "mariadb-client", "mariadb-client-core", "mariadb-common", "libmariadb3"])
    top = os.path.join(root, "usr/share/mysql/mysql-test")
    environment = {
        **place.debian.library_path(root),
        "PERL5LIB": os.path.join(root, "usr/share/perl5"),
        "PATH": os.path.join(root, "usr/bin") + os.pathsep + os.environ["PATH"],
    }

    def job(name, *which):
        command = [
            *nobody, "perl", "mysql-test-run.pl", f"--vardir={place.path('var')}", "--force",
            "--max-test-fail=0", "--retry=0", "--skip-rpl", "--testcase-timeout=5",
            "--suite-timeout=60", f"--parallel={len(os.sched_getaffinity(0))}",
            f"--skip-test-list={os.path.join(top, 'unstable-tests.amd64')}", *which]
        return Job(name, command, cwd=top, timeout=4000, environment=environment, results=results,
                   narrowed=lambda tests: job(name, *sorted({t.split()[0] for t in tests})))

    if smoke:
        return Suite([job("smoke", *SMOKE)], programs=("mariadbd",))
    jobs = [job(s, f"--suite={s}", f"--do-test={only}") for s, only in SUITES.items()]
    return Suite(jobs, programs=("mariadbd",))


def results(outcome):
    found = {}
    for test, how in LINE.findall(outcome.output):
        # Reported once a run of it: it passes if each did.
        if found.get(test, PASS) in (PASS, SKIP):
            found[test] = HOW.get(how, FAIL)
    return found
