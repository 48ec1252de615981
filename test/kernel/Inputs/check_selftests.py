# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""KVM's selftests in hosts that say what they are told to; none is booted or compiled."""

import os
import sys

root, out = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test", "rigs"), os.path.join(root, "test", "rigs", "bench")]

import bench  # noqa: E402
import measure  # noqa: E402
from guest import Broken, broken, emulator, initramfs, machine, packages  # noqa: E402
from kernel import build, selftests, source  # noqa: E402

TESTS = {name: f"/{name}" for name in ("clock", "crash", "own", "state", "vmx")}
# What each does in a host of that name; None ends the host.
DOES = {"none": {"clock": 0, "crash": None, "own": 4, "state": 0, "vmx": 4},
        "patched": {"clock": 0, "crash": None, "own": 254, "state": 254, "vmx": 4}}
UNWINDER = {"lib/unwinder": "/unwinder"}
boots = []


def boot(_, image, tests, *__, seen, **___):
    boots.append((image, list(tests)))
    for test in tests:
        seen(f"begins: {test}")
        if DOES[image][test] is None:
            raise Broken("the outer guest reset before its script was done")
        seen(f"{test}: status {DOES[image][test]}")
        seen("what it printed last: status 3")


class Report:
    content = {"samples": []}

    def write(self):
        pass


machine.boot = boot


def write(_, __, files, *___):
    """The host has what glibc loads for a test, which is no test."""
    assert UNWINDER.items() <= files.items(), files
    return [name for name in files if name not in UNWINDER]


initramfs.write, selftests.unwinder = write, lambda _: UNWINDER
emulator.qemu, packages.busybox = lambda *_: "qemu", lambda _: "busybox"
selftests.programs = lambda *_: TESTS
build.kernel = lambda _, __, series, *___: packages.Kernel(f"Linux {series.name}", series.name, [])


def main(only):
    return selftests.main("tree", build.Kind(), source.Series("patched", ["p"]), [], only, Report(), out,
                          measure.Progress("check_selftests"), print)


selftests.own = lambda *_: False
print(main(None))
assert boots == [("none", list(TESTS)), ("none", ["own", "state", "vmx"]),
                 ("patched", list(TESTS)), ("patched", ["own", "state", "vmx"])], boots
assert Report.content["samples"][3] == {"test": "state", "without": 0, "with": 254}
print(main("clock,vmx"))
try:
    main("clock,none")
    raise AssertionError("there is no such selftest")
except bench.Usage as error:
    print(error)
# Those that the series brings need no host without it, where they would skip.
boots.clear()
selftests.own = lambda *_: True
print(main("own"))
assert boots == [("patched", ["own"])], boots
selftests.own = lambda *_: False
# A host that does not get as far as a test is no test's fault.
DOES["none"] = {}
machine.boot = lambda *_, **__: (_ for _ in ()).throw(Broken("the outer guest died"))
assert broken(lambda: main(None)) == "the outer guest died"
print("selftests: ok")
