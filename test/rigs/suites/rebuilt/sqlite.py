# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SQLite, by its Tcl test program."""

import os
import re

import bring

SENTENCE = "SQLite: make quicktest"
TCL = "/usr/lib/x86_64-linux-gnu/tcl8.6/tclConfig.sh"
ENDED = re.compile(r"^(\d+) errors out of (\d+) tests", re.M)


def prepare(place):
    bring.need("tclsh8.6")
    if not os.path.exists(TCL):
        raise bring.NotRun("needs tcl8.6-dev, which is not installed")
    return place.debian.source(place.path("source"), "sqlite3")


def build(source, folder, cc, _):
    bring.call(["sh", os.path.join(source, "configure"), f"--with-tcl={os.path.dirname(TCL)}",
                "--disable-readline"], "SQLite's configure", cwd=folder,
               env={**os.environ, "CC": cc, "CFLAGS": "-O2"})
    return bring.call(["sh", "-c", "make testfixture 2>&1"], "SQLite's make", cwd=folder)


def test(source, folder):
    said = bring.output(["./testfixture", os.path.join(source, "test/extraquick.test")], cwd=folder,
                        timeout=3600)
    tests = {name: not failed for name, failed in
             re.findall(r"^(?:!? ?)(\S+)\.\.\. (?:Ok|(.*))$", said, re.M)}
    ended = ENDED.search(said)
    # Its own count is the witness that none is missed.
    tests["(all of it)"] = bool(ended) and ended.group(1) == "0"
    return tests
