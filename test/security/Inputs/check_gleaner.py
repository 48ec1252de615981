# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_gleaner.py FOLDER GLEANER: links planted where gleaner is going to write."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

folder, gleaner = Path(sys.argv[1]), sys.argv[2]
shutil.rmtree(folder, ignore_errors=True)
(folder / "text").mkdir(parents=True)
(folder / "text").chmod(0o777)
secret = folder / "secret"
secret.write_text("root's\n")
secret.chmod(0o600)
# The draft's name ends with the number of a process to come.
shell = ("import os, sys\n"
         "for i in range(os.getpid(), os.getpid() + 1000): os.symlink(sys.argv[1], f'{sys.argv[2]}.{i}')\n"
         "os.symlink(sys.argv[1], sys.argv[2]); os.symlink(sys.argv[1], sys.argv[3])\n"
         "os.execvp(sys.argv[4], [sys.argv[4], 'run', '--physical', '--prometheus', sys.argv[2], '--log', sys.argv[3], '--', 'sleep', '2.5'])\n")
file, log = folder / "text/x.prom", folder / "text/log"
done = subprocess.run([sys.executable, "-c", shell, secret, file, log, gleaner], capture_output=True, text=True)
assert done.returncode == 0, done
assert secret.read_text() == "root's\n", secret.read_text()
assert file.is_file() and not file.is_symlink() and "gleaner_cpus{" in file.read_text(), os.listdir(folder)
assert "log: Too many levels of symbolic links" in done.stderr, done.stderr
