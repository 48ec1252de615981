# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PostgreSQL's regression and isolation tests, by Debian's own server and pg_regress.
Its processes share semaphores in memory; psql and isolationtester have many connections.
"""

import os
import re
import shutil

import bring
from compare import FAIL, PASS, Job, Suite

SENTENCE = "PostgreSQL's regression and isolation tests, Debian's server"
MAJOR = "15"
SMOKE = "test: test_setup\ntest: boolean char name varchar text int2 int4\n"
# "failed (ignored)" is not ok either.
LINE = re.compile(r"^(?:test|    ) +(\S+) +\.\.\. (.*)$", re.M)


def prepare(place, smoke):
    bring.need("gcc")
    nobody = bring.not_as_root()
    root = place.debian.packages(
        place.path("root"), [f"postgresql-{MAJOR}"],
        [f"postgresql-client-{MAJOR}", f"postgresql-server-dev-{MAJOR}", "libpq5"])
    source = place.debian.source(place.path("source"), f"postgresql-{MAJOR}")
    tests = os.path.join(source, "src/test")
    modules = _modules(place, root, tests)
    if smoke:
        schedule = place.path("smoke-schedule")
        with open(schedule, "w") as file:
            file.write(SMOKE)
        return Suite([_job(place, root, nobody, "regress", tests, modules, schedule)],
                     programs=("postgres",))
    return Suite([
        _job(place, root, nobody, kind, tests, modules, os.path.join(tests, kind, name))
        for kind, name in (("regress", "parallel_schedule"), ("isolation", "isolation_schedule"))
    ], programs=("postgres",))


def _modules(place, root, tests):
    """The folder of the shared libraries that the tests load."""
    folder = place.path("modules")
    libraries = os.path.join(root, f"usr/lib/postgresql/{MAJOR}/lib")
    with bring.Once(folder, open(__file__).read()) as todo:
        if todo:
            bring.call(["gcc", "-O2", "-w", "-shared", "-fPIC",
                        f"-I{root}/usr/include/postgresql/{MAJOR}/server",
                        os.path.join(tests, "regress/regress.c"), "-o",
                        os.path.join(folder, "regress.so")], "cannot build regress.so")
            for name in ("refint.so", "autoinc.so"):
                shutil.copy(os.path.join(libraries, name), folder)
    return folder


def _job(place, root, nobody, kind, tests, modules, schedule):
    server = os.path.join(root, f"usr/lib/postgresql/{MAJOR}")
    runner = {"regress": "regress/pg_regress", "isolation": "isolation/pg_isolation_regress"}[kind]
    out = place.path("out-" + kind)

    def before():
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)

    command = [
        *nobody, os.path.join(server, "lib/pgxs/src/test", runner),
        f"--bindir={server}/bin", f"--inputdir={tests}/{kind}", f"--outputdir={out}",
        f"--temp-instance={out}/instance", f"--dlpath={modules}", f"--schedule={schedule}",
        "--no-locale", "--encoding=UTF8", "--max-connections=20"]
    return Job(
        kind, command, cwd=out, timeout=3600, before=before,
        environment={**place.debian.library_path(root), "LC_ALL": "C", "PGTZ": "PST8PDT"},
        results=lambda outcome: {
            f"{kind}/{name}": PASS if said.split()[0] == "ok" else FAIL
            for name, said in LINE.findall(outcome.output)})
