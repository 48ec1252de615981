# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Usage: privileged.py PROGRAM

Lets the user nobody start a copy of the program twice, without and with the setuid bit of root, with
an environment that asks the libraries for files and lines. Prints what came of it."""

import os
import shutil
import subprocess
import sys
import tempfile

from parts import NOBODY


def start(program: str, folder: str, mode: int) -> None:
    copy = os.path.join(folder, "program")
    shutil.copy(program, copy)
    os.chown(copy, 0, 0)
    os.chmod(copy, mode)
    private, public = os.path.join(folder, "private"), os.path.join(folder, "public")
    for name, mode in ((private, 0o755), (public, 0o777)):
        os.mkdir(name)
        os.chmod(name, mode)
    kept = os.path.join(private, "kept")
    with open(kept, "w") as file:
        file.write("root's\n")
    os.chmod(kept, 0o600)
    for target in (f"{private}/new", kept, f"{public}/new"):
        environment = {**os.environ, "VF_STATS": target, "VF_NO_SUCH": "1", "VF_SPIN_BUDGET_NS": "x"}
        done = subprocess.run([*NOBODY, "sh", "-c", 'umask 0; exec "$0"', copy], env=environment,
                              capture_output=True, text=True)
        print(done.stdout.strip(), "| lines:", len(done.stderr.splitlines()))
    with open(kept) as file:
        print("kept:", file.read().strip(), "| new:", sorted(os.listdir(private)), sorted(os.listdir(public)))
    for name in os.listdir(public):
        status = os.stat(os.path.join(public, name))
        print("mode", oct(status.st_mode & 0o777))
    for name in (private, public):
        shutil.rmtree(name)


with tempfile.TemporaryDirectory(dir="/tmp") as folder:
    os.chmod(folder, 0o755)
    print("plain")
    start(sys.argv[1], folder, 0o755)
    print("setuid")
    start(sys.argv[1], folder, 0o4755)
