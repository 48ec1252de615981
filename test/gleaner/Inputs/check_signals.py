# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sends SIGTERM to the supervisor, whose command counts it."""

import signal
import subprocess

command = "n=0; trap 'n=$((n+1)); echo TERM $n; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
run = subprocess.Popen(["gleaner", "run", "--", "sh", "-c", command], stdout=subprocess.PIPE, text=True)
assert run.stdout.readline() == "ready\n"
run.send_signal(signal.SIGTERM)
print(run.communicate(timeout=60)[0], end="")
print("status", run.returncode)
