# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the catalogue says about the checks: their pages, and their weights.

In the catalogue a feature's "weights" gives a number from 0 to 100 for a check, or for a
kind of its findings as {"words of the message": number, "": all others}. A weight tells
how much a finding of this kind is likely to cost in a virtual machine.
"""

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Where pages are; VFRIENDLY_GUIDELINES names another place, as that of ./dev site.
SITE = "https://github.com/vfriendly/vfriendly/blob/main"
DEFAULT_WEIGHT = 50
# Findings from this weight on are warnings, others notes.
WARNING_WEIGHT = 50


@dataclass(frozen=True)
class Rule:
    """A check: its feature's page, title and sentence, and the weights of its findings."""

    name: str
    title: str
    sentence: str
    guideline: str
    weights: tuple[tuple[str, int], ...]

    @property
    def url(self) -> str:
        base = os.environ.get("VFRIENDLY_GUIDELINES", SITE).rstrip("/")
        return f"{base}/{self.guideline}" if self.guideline else base

    def weight(self, message: str) -> int:
        return next((w for words, w in self.weights if words in message), DEFAULT_WEIGHT)


def _path() -> Path:
    here = Path(__file__).resolve().parent
    packaged = here / "catalogue.json"
    return packaged if packaged.exists() else here.parents[2] / "guidelines" / "catalogue.json"


def _weights(given: Any) -> tuple[tuple[str, int], ...]:
    if isinstance(given, int):
        return (("", given),)
    if isinstance(given, dict):
        # The empty word is in every message: last.
        return tuple(sorted(given.items(), key=lambda item: item[0] == ""))
    return ()


@functools.cache
def rules() -> dict[str, Rule]:
    with open(_path(), encoding="utf-8") as file:
        features = json.load(file)["features"]
    return {
        check: Rule(check, f["title"], f["sentence"], f["guideline"],
                    _weights(f.get("weights", {}).get(check)))
        for f in features for check in f["checks"]
    }


def rule(check: str) -> Rule:
    return rules().get(check) or Rule(check, check, check, "", ())
