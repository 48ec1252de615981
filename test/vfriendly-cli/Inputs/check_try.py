# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_try.py FOLDER: trials of programs whose figures are known, and every bad input."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from project import BUILD, TOOL

from vfriendly import intervals  # project.py adds its folder to the path

FOLDER = Path(sys.argv[1])
ENVIRONMENT = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache")}
# A rate that depends on KIND, and varies by up to 2 % from run to run.
PROGRAM = """#!/bin/sh
echo x >> runs
n=$(($(wc -l < runs) * 7 % 5))
case "$KIND" in
fast) rate=$((1500 + n * 6)) ;;
wrong) echo first >&2; echo 'no such kind' >&2; exit 3 ;;
mute) exit 0 ;;
stuck) exec sleep 600 ;;
*) rate=$((1000 + n * 4)) ;;
esac
echo "requests per second: $rate"
"""
SERVER = """#!/usr/bin/python3
import os, socket, sys
s = socket.create_server(("127.0.0.1", 0))
open("port", "w").write(str(s.getsockname()[1]))
while True:
    c, _ = s.accept()
    c.sendall(b"rate: " + (b"900" if os.environ.get("KIND") == "fast" else b"300"))
    c.close()
"""
LOAD = ("/usr/bin/python3 -c 'import socket; "
        "print(socket.create_connection((\"127.0.0.1\", int(open(\"port\").read()))).recv(99).decode())'")
METRIC = ["--metric", r"requests per second: ([\d.]+)"]


def run(*words, status=0, settings=None):
    done = subprocess.run([TOOL, *words], cwd=FOLDER, env={**ENVIRONMENT, **(settings or {})}, capture_output=True, text=True)
    assert done.returncode == status, (words, done)
    return done.stdout, done.stderr


def refused(text, *words, settings=None):
    out, errors = run(*words, status=2, settings=settings)
    assert not out and text in errors and errors.count("\n") == 1, (words, out, errors)


def script(name, text):
    path = FOLDER / name
    path.write_text(text)
    path.chmod(0o755)


def trials():
    out, _ = run("try", "-q", "--reps", "5", *METRIC, "--remedies", "KIND=fast,KIND=same,KIND=wrong,KIND=mute",
                 "-o", "trial.json", "--", "./prog")
    assert "best: KIND=fast, 1.5" in out and "\n  KIND=fast ./prog\n" in out, out
    assert "KIND=wrong  exit status 3: no such kind" in out, out
    assert "KIND=mute   nothing that it prints matches" in out, out
    rows = {row["name"]: row for row in json.loads((FOLDER / "trial.json").read_text())["variants"]}
    rate = "requests per second"
    assert len(rows["as it is"][rate]["values"]) == 5 and rows["KIND=wrong"]["failure"]
    same, fast = (rows[k][rate]["gain"] for k in ("KIND=same", "KIND=fast"))
    assert 0.95 < same["low"] < same["high"] < 1.05 and 1.4 < fast["low"] < fast["high"] < 1.6, rows
    # Where lower is better, the same figures mean the contrary.
    out, _ = run("try", "-q", "--reps", "5", "--metric-lower", METRIC[1], "--remedies", "KIND=fast,KIND=same", "--", "./prog")
    assert "no gain that 5 runs can show in requests per second; worse: KIND=fast" in out, out
    # Two runs have no interval.
    out, _ = run("try", "-q", "--reps", "2", *METRIC, "--remedies", "KIND=fast", "--", "./prog")
    assert "[?]" in out and "no gain that 2 runs can show" in out, out
    # A remedy of one part is preferred to a pair that is not better.
    out, _ = run("try", "-q", "--reps", "5", *METRIC, "--remedies", "KIND=fast+OTHER=1,KIND=fast", "--", "./prog")
    assert "best: KIND=fast, " in out, out
    out, _ = run("try", "-q", "--reps", "3", *METRIC, "--timeout", "1", "--remedies", "KIND=stuck", "--", "./prog")
    assert "KIND=stuck  no end within 1 s" in out, out
    out, _ = run("try", "-q", "--reps", "4", *METRIC, "--builds", "a=./prog,b=env KIND=fast ./prog")
    assert "better than a" in out and "best: b, 1.5" in out, out
    out, _ = run("try", "-q", "--reps", "3", "--metric", r"rate: (\d+)", "--remedies", "KIND=fast", "--server", "./server",
                 "--load", LOAD)
    assert "best: KIND=fast, 3.00 [" in out, out
    # The remedies that suit a program, by default.
    out, _ = run("try", "-q", "--reps", "1", "--", "/bin/true")
    assert all(f"\n{name} " in out for name in ("pthread", "malloc", "pthread+malloc")), out
    out, errors = run("try", "-q", "--reps", "1", "--remedies", "X=1", "--", "./static")
    assert "as it is" in out and not errors
    refused("is linked statically", "try", "--remedies", "malloc", "--", "./static")


def interrupted():
    """What was measured until then is printed."""
    # Whoever runs the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    slow = PROGRAM.replace("echo x", "sleep 0.2; echo x", 1)
    script("slow", slow)
    child = subprocess.Popen([TOOL, "try", "-q", "--reps", "1000", *METRIC, "--remedies", "KIND=fast", "--", "./slow"],
                             cwd=FOLDER, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    before = len((FOLDER / "runs").read_text())
    while len((FOLDER / "runs").read_text()) < before + 2 * 12:  # bytes: warm-ups, and five rounds
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130 and "runs of each" in out and "best: KIND=fast" in out, (child.returncode, out)


def runs():
    out, _ = run("run", "malloc+X=2", "--", "/bin/sh", "-c", 'echo "$LD_PRELOAD $X"; exit 7', status=7)
    assert out == f"{BUILD}/lib/libvfmalloc.so 2\n", out
    out, _ = run("run", "pthread", "--show", "--", "ls", "-l")
    assert out == f"LD_PRELOAD={BUILD}/lib/libvfpthread.so ls -l\n", out
    refused("no remedy is known", "run", "--auto", "--", "/bin/true")
    _, errors = run("run", "--auto", "--", "./prog")  # as the trials found
    assert "KIND=fast, as vfriendly try found" in errors, errors
    refused("is linked statically", "run", "malloc", "--", "./static")
    refused("uses another libc (/lib/ld-musl-x86_64.so.1)", "run", "malloc", "--", "./musl")
    refused("is setuid or setgid", "run", "malloc", "--", "./setuid")
    run("run", "X=1", "--", "./static")
    # What a program starts, and what would see locks and allocations that it must not.
    for words in (["env", "X=1", "./musl"], ["sh", "-c", "cd .;./musl"], ["nice", "-n", "1", "env", "./musl"]):
        refused("uses another libc", "run", "pthread", "--", *words)
    run("run", "malloc", "--", "env", "X=1", "./static")
    run("run", "malloc", "--", "ls", "./musl")
    for name in ("tsan", "clang-tsan"):
        for words in ([f"./{name}"], ["sh", "-c", f"./{name}"]):
            refused("is built with ThreadSanitizer", "run", "pthread", "--", *words)
        run("run", "X=1", "--", f"./{name}")
    refused("is built with AddressSanitizer as a library", "run", "malloc", "--", "./asan")
    run("run", "pthread", "--", "./clang-asan")  # in the program itself
    refused("libtsan.so.2, ThreadSanitizer", "run", "malloc", "--", "./x", settings={"LD_PRELOAD": str(FOLDER / "libtsan.so.2")})
    # Only libvfmalloc.so needs room that the loader does not leave.
    audit = {"LD_AUDIT": str(FOLDER / "audit.so")}
    refused("LD_AUDIT is set", "run", "pthread+malloc", "--", "./x", settings=audit)
    refused("LD_AUDIT is set", "try", "--remedies", "malloc", "--", "./x", settings=audit)
    run("run", "pthread", "--", "./x", settings=audit)
    run("run", "malloc", "--", "./x", settings={**audit, "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=4096"})
    out, errors = run("try", "-q", "--reps", "1", "--", "./x", settings=audit)
    assert "\npthread " in out and "\nmalloc " not in out and errors.count("LD_AUDIT is set") == 1, (out, errors)


def bad():
    refused("no command", "try")
    refused("no such program", "try", "--", "no-such-program")
    refused("not executable", "try", "--", "./text")
    refused("exit status 1", "try", "-q", "--", "/bin/false")
    refused("no remedy 'nosuch'", "try", "--remedies", "nosuch", "--", "/bin/true")
    refused("is not a regular expression", "try", "--metric", "(", "--", "/bin/true")
    refused("nothing that it prints matches", "try", "-q", "--metric", "x", "--", "/bin/true")
    refused("go together", "try", "--server", "./server")
    refused("give NAME=COMMAND", "try", "--builds", "./a,./b")
    refused("nothing to be compared with", "try", "--builds", "a=./prog")
    refused("no such folder", "try", "-o", "no/where", "--", "/bin/true")
    refused("the server ended before the load: exit status 3", "try", "-q", "--server", "env KIND=wrong ./prog", "--load", "true")
    refused("give --auto or remedies", "run", "--", "/bin/true")


def claims():
    """Among equal programs a table claims a difference in about 5 % of trials, with few runs and with outliers."""
    source = random.Random(3)
    tables, claimed = 150, 0

    def value():
        return source.lognormvariate(0, 0.05) * (2 if source.random() < 0.05 else 1)

    for _ in range(tables):
        claimed += any(intervals.of_ratios([value() for _ in range(5)], [value() for _ in range(5)], comparisons=4).differs
                       for _ in range(4))
    assert claimed <= tables * 0.1, claimed


FOLDER.mkdir(parents=True, exist_ok=True)
shutil.rmtree(FOLDER / "cache", ignore_errors=True)
(FOLDER / "runs").write_text("")
script("prog", PROGRAM)
script("server", SERVER)
(FOLDER / "text").write_text("")
(FOLDER / "x.c").write_text("int main(void) { return 0; }\n")
for name, flag in (("static", "-static"), ("musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"), ("setuid", "-O1")):
    subprocess.run(["cc", flag, "x.c", "-o", name], cwd=FOLDER, check=True)
(FOLDER / "setuid").chmod(0o4755)
(FOLDER / "audit.c").write_text("#include <link.h>\nunsigned la_version(unsigned v) { return v; }\n")
for words in (["cc", "x.c", "-o", "x"], ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "audit.c", "-o", "audit.so"],
              ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "audit.c", "-o", "libtsan.so.2"],
              ["cc", "-fsanitize=thread", "x.c", "-o", "tsan"], ["clang", "-fsanitize=thread", "x.c", "-o", "clang-tsan"],
              ["gcc", "-fsanitize=address", "x.c", "-o", "asan"], ["clang", "-fsanitize=address", "x.c", "-o", "clang-asan"]):
    subprocess.run(words, cwd=FOLDER, check=True)
trials()
interrupted()
runs()
bad()
claims()
