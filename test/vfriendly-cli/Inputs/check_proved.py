# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts of profiles whose threads vf-spins has judged."""

import json

import project  # adds the tool's folder to the path
from vfriendly.measuring import table
from vfriendly.measuring.profile import Profile, Stack, read
from vfriendly.measuring.proving import Proved

assert project.BUILD


def profile(what, cause, proved):
    stacks = [Stack("cpu", "other", "", 900, 0.9, 0, ()), Stack(what, cause, "", 100, 0.1, 0, ())]
    return Profile(["prog"], "BPF", [], 2, 1.0, 0.8, 0.2, 0, 0, 0, {}, {}, stacks, proved=proved)


def verdict(*arguments):
    [said] = table.verdict(profile(*arguments))
    return said


MANY = Proved(200, 180, 0, "spin")
assert "90.0 % of the time in user mode is in loops that only other threads can end: vfriendly try --remedies spin" in verdict("cpu", "other", MANY)
assert "--remedies tick" in verdict("cpu", "other", Proved(200, 180, 0, "tick"))
# Loops that yield look like blocking; those that do not are not what blocks.
assert "loops that yield to each other" in verdict("kernel", "blocking", Proved(200, 180, 170, "spin"))
assert "loops" not in verdict("kernel", "data sharing", Proved(200, 180, 170, "spin"))
# Few samples, few waits, none.
for proved in (Proved(20, 20, 0, "spin"), Proved(200, 8, 0, "spin"), None):
    assert "no cause takes 5 %" in verdict("cpu", "other", proved), proved

with open("proved.json", "w", encoding="utf-8") as file:
    file.write(profile("cpu", "other", MANY).to_json())
assert read("proved.json").proved == MANY
assert json.load(open("proved.json", encoding="utf-8"))["proved"]["waits"] == 180
