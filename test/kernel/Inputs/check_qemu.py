# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What guests with QEMU print, without any guest: each verdict can fail."""

import os
import sys

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "test", "rigs"), os.path.join(root, "test", "rigs", "bench")]

from guest import broken  # noqa: E402
from kernel import qemu  # noqa: E402

WANTED = qemu.Guest("kvm-x", "", lambda values: values[-1] > values[0], lambda before, after: after[0] > before[-1], "asked for x")
RIGHT = {"saved": ["3", "5", "9"], "restored": ["10", "11", "12"], "without": ["0", "0", "0"],
         "refused": ["qemu: The guest has asked for x, but"]}


class Report:
    def __init__(self):
        self.content = {"samples": []}

    def write(self):
        pass


def status(**changed):
    lines = [f"{name}: {line}" for name, each in {**RIGHT, **changed}.items() for line in each]
    qemu.boot = lambda *_: ["a message", *lines]
    return qemu.main(None, WANTED, None, Report())


assert status() == 0
for name, lines in (("saved", ["0", "0", "0"]), ("restored", ["10", "10", "10"]), ("restored", ["1", "2", "3"]),
                    ("without", ["1", "2", "3"]), ("refused", ["qemu: no such file"])):
    assert status(**{name: lines}) == 1, (name, lines)
flushes = ['{"interrupts": %d, "ops": 20}' % n for n in (0, 5, 20)]
assert qemu.values([f"saved: {line}" for line in [*flushes, '{"interrupts": 2, "op']], "saved") == [0, 0.25, 1]
assert "without: 1 values of 3, after: broke off" == broken(lambda: status(without=["7", "broke off"]))
print("qemu: ok")
