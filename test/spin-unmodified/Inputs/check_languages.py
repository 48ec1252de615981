# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_languages.py NAME,... COMMAND...: runs COMMAND NAME for each, and asks vf-spins whether it waits; those whose names
begin with c_ compute.

The emulator begins at a sample's registers and reads memory while the thread runs on: where code keeps all variables in memory
it may find other values than those of the registers, and proves nothing. So a fifth of the samples of a wait are
enough, with which `gleaner tick` begins."""

import json
import subprocess
import sys
import time

# Samples of a loop, and those at the beginning that do not count: of the start, and of code that is not compiled yet.
SAMPLES, START = 20, 5
# Of other threads, such as a collector's.
OTHERS = 0.1
# WAITS_PART of runtime/gleaner/tick.c.
ENOUGH = 1 / 5
# Looks at a loop, of which an idle machine needs some three. Beside a load of 8, 200 gave one of Go's loops 13 samples.
TRIES = 1000
# Seconds until a loop runs as compiled code: only a virtual machine compiles it while it runs.
WARM_S = 0.5 if sys.argv[2] == "java" else 0.05


def leaving():
    """Returns where Go's code leaves a loop because its scheduler asks for it, which is in the register of threads that
    no sample has: beside other work most samples of a loop with calls end there, and are none of the loop."""
    done = subprocess.run(["nm", "-n", sys.argv[2]], capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    at = next((i for i, words in enumerate(lines) if words[-1] == "runtime.morestack.abi0"), None)
    return range(0) if at is None else range(int(lines[at][0], 16), int(lines[at + 1][0], 16))


LEAVES = leaving()
failed = 0
for name in sys.argv[1].split(","):
    program = subprocess.Popen([*sys.argv[2:], name], stdout=subprocess.DEVNULL)
    time.sleep(WARM_S)
    computes = name.startswith("c_")
    samples = waits = begun = 0
    waited = False
    reasons = []
    for _ in range(TRIES):
        said = subprocess.run(["vf-spins", "--ms", "40", str(program.pid)], capture_output=True, text=True, check=True)
        found = json.loads(said.stdout)
        if begun < START:
            begun += found["samples"]
            continue
        left = sum(r["samples"] for r in found["reasons"] if r["address"] in LEAVES)
        samples, waits = samples + found["samples"] - left, waits + found["waits"]
        reasons += found["reasons"]
        # So many waits are enough, whatever the rest of the samples are.
        waited = waits >= max(samples, SAMPLES) * ENOUGH
        if samples >= SAMPLES or (waited and not computes):
            break
    status = program.poll()
    program.kill()
    program.wait()
    right = samples >= SAMPLES and waits <= samples * OTHERS if computes else waited
    print(f"{name}: {waits} of {samples} wait{'' if right and status is None else f': WRONG, {status}, {reasons[:4]}'}", flush=True)
    failed |= not right or status is not None
sys.exit(failed)
