# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""KeyDB, a server whose threads share one lock, with glibc's allocator and without TLS."""

import os
import re
import shutil

import bring
import clones

SENTENCE = "KeyDB: its own tests with as many threads as CPUs, four at most; VF_TEST_KEYDB=FOLDER, a clone of github.com/Snapchat/KeyDB"
# The lock in assembly, the default of x86-64, has no IR that a pass could rewrite. The header of KeyDB's jemalloc declares
# posix_memalign in a way that Clang 22 rejects.
OPTIONS = ("USEASM=false", "MALLOC=libc", "BUILD_TLS=no", "NO_MOTD=yes", "USE_SYSTEMD=no", "OPTIMIZATION=-O2", "DEBUG=")
# Of the source: what these options do not use, and modules, which the make builds first.
UNUSED = (".git", "rocksdb", "memkind", "jemalloc", "modules")
PROGRAMS = ("keydb-server", "keydb-cli", "keydb-benchmark", "keydb-check-aof", "keydb-check-rdb")
# KeyDB itself starts no more than there are CPUs.
THREADS = 4
UNITS = ("unit/type/string", "unit/type/incr", "unit/type/list", "unit/type/list-2", "unit/type/list-3", "unit/type/set",
         "unit/type/zset", "unit/type/hash", "unit/type/stream", "unit/type/stream-cgroups", "unit/type/nestedhash",
         "unit/expire", "unit/multi", "unit/pubsub", "unit/scripting", "unit/keyspace", "unit/scan", "unit/protocol", "unit/wait",
         "unit/replication", "integration/replication-2", "integration/replication")
# The longest unit, replication, takes about two minutes on idle CPUs.
SECONDS = 400
COLOUR = re.compile(r"\033\[[\d;]*m")
LINE = re.compile(r"^\[(ok|err|exception|timeout)\]:? (.*)$", re.M)
# What is another in each run: durations, the file of a failure, numbers of processes and ports.
UNSTEADY = re.compile(r" \([\d.]+ (?:ms|seconds)\)$| in tests/\S+\.tcl$|\b\d{5,}\b")


def prepare(_):
    bring.need("tclsh8.6")
    return clones.clone("VF_TEST_KEYDB", "KeyDB's repository", "src/fastlock.cpp")


def build(source, folder, cc, cxx):
    shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(*UNUSED))
    return bring.call(["sh", "-c", 'exec 2>&1; exec make -j2 -C src "$@"', "make", *OPTIONS, f"CC={cc}", f"CXX={cxx}", *PROGRAMS],
                      "the build of KeyDB", cwd=folder)


def test(_, folder):
    results = {}
    for unit in UNITS:
        said = bring.output(["timeout", str(SECONDS), "tclsh8.6", "tests/test_helper.tcl", "--single", unit, "--clients", "1",
                             "--config", "server-threads", str(THREADS)], timeout=2 * SECONDS, cwd=folder)
        with open(f"{folder}-{unit.replace('/', '-')}.log", "w") as log:
            log.write(said)
        results.update({f"{unit}: {name}": ok for name, ok in read(said).items()})
    return results


def read(said):
    """Returns {test: passed}, by what a unit has said. Of tests of one name all must pass."""
    said, results = COLOUR.sub("", said), {}
    for how, what in LINE.findall(said):
        name = UNSTEADY.sub("", what)
        results[name] = results.get(name, True) and how == "ok"
    results["to its end"] = "All tests passed without errors!" in said
    return results
