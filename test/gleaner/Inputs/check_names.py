# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_names.py FOLDER: a command whose name is no text is text in all outputs, and whoever
reads --explain may leave. In FOLDER the commands are made."""

import json
import os
import subprocess
import sys
import time

os.chdir(sys.argv[1])
# A letter in Latin-1, a quote and an escape of the terminal; and a letter in UTF-8 that begins with the last byte that
# is kept.
for name, kept in ((b"./caf\xe9\"\x1b[2J", './caf?"?[2J'), (b"./" + 60 * b"x" + "\u00e9".encode(), "./" + 60 * "x" + "?")):
    with open(name, "w") as file:
        file.write("#!/bin/sh\nsleep 1\ngleaner top --once\n")
    os.chmod(name, 0o755)
    top = subprocess.run(["gleaner", "run", "--physical", "--log", "log", "--prometheus", "state", "--", name],
                         capture_output=True, check=True).stdout
    assert b"\x1b" not in top and top.isascii() and kept[2:18].encode() in top, top
    with open("log", encoding="utf-8") as file:
        assert json.loads(file.readlines()[-1])["command"] == kept
    with open("state", encoding="utf-8") as file:
        assert "command=" in file.read()

# Nobody reads what is explained: the daemon goes on, so nothing is said of its end.
reading, writing = os.pipe()
os.close(reading)
run = subprocess.Popen(["gleaner", "run", "--physical", "--explain", "--", "sleep", "3"], stderr=writing)
os.close(writing)
time.sleep(1.5)
names = [open(f"/proc/{pid}/comm").read().strip()
         for pid in open(f"/proc/{run.pid}/task/{run.pid}/children").read().split()]
assert "gleaner-daemon" in names, names
assert run.wait() == 0
