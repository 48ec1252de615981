#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands for mlir-opt or mlir-runner in upstream's tests, and changes what they do as
VF_MLIR_VARIANT says:

  plain     nothing
  loaded    mlir-opt has the plugin loaded
  upstream  mlir-opt also runs upstream's passes on buffers, before deallocations are inserted
  ours      mlir-opt also runs vf-default, before loops are lowered

mlir-runner writes a line to VF_TEST_MLIR_LOG: which test, how many allocations the code made, and
a checksum of what it printed. A test is found by the checksum of what mlir-opt printed.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

LOWERING = re.compile(r"\b(convert-scf-to-cf|convert-to-llvm|finalize-memref-to-llvm|convert-(vector|func|cf|arith)-to-llvm)\b")
DEALLOCATION = re.compile(r"\b(buffer-deallocation-pipeline|ownership-based-buffer-deallocation)\b")
# Addresses and times, which some tests print.
VARIES = re.compile(rb"0x[0-9a-f]+|\d+\.\d+(e[-+]\d+)? *(GFLOPS|secs?|msec|ms|s)\b")
OURS = "vf-default,convert-vf-to-llvm"
UPSTREAM = "func.func(buffer-hoisting,buffer-loop-hoisting,promote-buffers-to-stack)"


def elements(pipeline):
    """What builtin.module(...) has on its first level."""
    depth, start, found = 0, 0, []
    for at, letter in enumerate(pipeline):
        depth += letter in "({" or -(letter in ")}")
        if letter == "," and depth == 0:
            found.append(pipeline[start:at])
            start = at + 1
    return [*found, pipeline[start:]]


def with_passes(pipeline, passes, before):
    """The pipeline with passes before the first element that matches, or None."""
    every = elements(pipeline)
    for pattern in before:
        for at, element in enumerate(every):
            if pattern.search(element):
                return ",".join([*every[:at], passes, *every[at:]])
    return None


def input_of(arguments):
    """The file that mlir-opt reads, or None."""
    for before, each in zip(["", *arguments], arguments):
        if not each.startswith("-") and before != "-o":
            return each
    return None


def command_of(tool, arguments, variant, plugin):
    """What to run in place of mlir-opt with these arguments."""
    loaded = [] if variant == "plain" else [f"--load-dialect-plugin={plugin}"]
    file = input_of(arguments)
    if variant in ("upstream", "ours") and file:
        dump = subprocess.run([tool, *("/dev/null" if a == file else a for a in arguments), "--dump-pass-pipeline"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        pipeline = re.search(r"^builtin\.module\((.*)\)$", dump.stderr, re.M)
        changed = pipeline and (with_passes(pipeline[1], OURS, [LOWERING]) if variant == "ours"
                                else with_passes(pipeline[1], UPSTREAM, [DEALLOCATION, LOWERING]))
        if changed:
            output = arguments[arguments.index("-o"):][:2] if "-o" in arguments else []
            kept = [a for a in arguments if a.lstrip("-").startswith(("mlir-", "split-input", "allow"))]
            return [tool, *loaded, *kept, file, *output, f"--pass-pipeline=builtin.module({changed})"]
    return [tool, *loaded, *arguments]


def opt(tool, arguments, variant, plugin, log):
    command = command_of(tool, arguments, variant, plugin)
    if not log:
        os.execv(tool, command)
    done = subprocess.run(command, stdout=subprocess.PIPE)
    sys.stdout.buffer.write(done.stdout)
    text = done.stdout
    if "-o" in arguments and not done.returncode:
        with open(arguments[arguments.index("-o") + 1], "rb") as file:
            text = file.read()
    if input_of(arguments):
        with open(os.path.join(log, hashlib.sha1(text).hexdigest()), "w") as file:
            json.dump([input_of(arguments), arguments], file)
    return done.returncode


def runner(tool, arguments, libraries, counter, log):
    files = [a for a in arguments if not a.startswith("-") and os.path.isfile(a)]
    text = open(files[0], "rb").read() if files else sys.stdin.buffer.read()
    arguments = [re.sub("(-shared-libs=.*)", rf"\1,{libraries}", a) for a in arguments]
    if not any("-shared-libs" in a for a in arguments):
        arguments.append(f"-shared-libs={libraries}")
    count = os.path.join(log, f"count-{os.getpid()}")
    done = subprocess.run([tool, *arguments], input=None if files else text, stdout=subprocess.PIPE,
                          env={**os.environ, "LD_PRELOAD": counter, "VF_TEST_MLIR_COUNT": count})
    sys.stdout.buffer.write(done.stdout)
    try:
        with open(count) as file:
            counted = [int(n) for n in file.read().split()]
        os.remove(count)
        with open(os.path.join(log, hashlib.sha1(text).hexdigest())) as file:
            test, passes = json.load(file)
    except OSError:
        return done.returncode
    with open(os.path.join(log, "runs"), "a") as file:
        file.write(json.dumps({"test": test, "passes": passes, "code": counted[0], "runtime": counted[1], "status": done.returncode,
                               "printed": hashlib.sha1(VARIES.sub(b"", done.stdout)).hexdigest()}) + "\n")
    return done.returncode


def main():
    name = os.path.basename(sys.argv[0])
    env = os.environ
    tool = os.path.join(env["VF_MLIR_BIN"], name)
    if name == "mlir-runner":
        if not env.get("VF_TEST_MLIR_LOG"):
            os.execv(tool, [tool, *sys.argv[1:]])
        return runner(tool, sys.argv[1:], env["VF_TEST_MLIR_RUNTIME"], env["VF_TEST_MLIR_COUNTER"], env["VF_TEST_MLIR_LOG"])
    return opt(tool, sys.argv[1:], env["VF_MLIR_VARIANT"], env["VF_MLIR_PLUGIN"], env.get("VF_TEST_MLIR_LOG"))


if __name__ == "__main__":
    sys.exit(main())
