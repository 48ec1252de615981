# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the catalogue says about the checks: their pages, and their weights.

project.json, the one file with the project's addresses, says where its pages are: links go to PAGE.html below
its "site", else to guidelines/PAGE.md below its "files". Both are empty until the project is published: then links
go to the pages beside this tool, as file://. The variable VFRIENDLY_GUIDELINES is used instead, as "files".

A feature's "weights" gives a number from 0 to 100 for a check, or for a kind of its findings as
{"words of the message": number, "": all others}. A weight tells how much a finding of this kind
is likely to cost in a virtual machine:

    90  a waiter keeps a vCPU busy for as long as another vCPU is away
    80  every call interrupts every CPU that runs the process
    70  every item or task wakes a thread, up to four exits each
    60  memory that goes back to the kernel, or a thread that wakes up, if that happens often
    50  the same, but less often as the program goes on
    40  bounded by design, or to be judged by a person: a note
"""

import functools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfriendly.errors import Refused

DEFAULT_WEIGHT = 50
# Findings with at least this weight are warnings, all others are notes.
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
        if not self.guideline:
            return address()
        if _site():
            return f"{_site()}/{self.guideline.removeprefix('guidelines/').removesuffix('.md')}.html"
        return f"{address()}/{self.guideline}"

    def weight(self, message: str) -> int:
        return next((w for words, w in self.weights if words in message), DEFAULT_WEIGHT)


def _folder() -> Path:
    """Returns the folder with guidelines/: the package's, or the repository's."""
    here = Path(__file__).resolve().parent
    return here if (here / "guidelines").is_dir() else here.parents[2]


@functools.cache
def _catalogue() -> dict[str, Any]:
    with open(_folder() / "guidelines" / "catalogue.json", encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


@functools.cache
def _project() -> dict[str, str]:
    with open(_folder() / "project.json", encoding="utf-8") as file:
        loaded: dict[str, str] = json.load(file)
    return loaded


def _given() -> str:
    return os.environ.get("VFRIENDLY_GUIDELINES", "").rstrip("/")


def _site() -> str:
    return "" if _given() else _project()["site"].rstrip("/")


def address() -> str:
    """Returns the start of links to pages, without a slash at its end."""
    return _given() or _site() or _project()["files"].rstrip("/") or _folder().as_uri()


def _weights(given: Any) -> tuple[tuple[str, int], ...]:
    if isinstance(given, int):
        return (("", given),)
    if isinstance(given, dict):
        # Places the weight for the empty text last: the first text that a message contains decides
        # its weight, and every message contains the empty text.
        return tuple(sorted(given.items(), key=lambda item: item[0] == ""))
    return ()


@functools.cache
def rules() -> dict[str, Rule]:
    return {
        check: Rule(check, f["title"], f["sentence"], f["guideline"],
                    _weights(f.get("weights", {}).get(check)))
        for f in _catalogue()["features"] for check in f["checks"]
    }


def page(rule_: Rule, check: str, whole: bool) -> str:
    """Returns a rule's page: its first sections, which say what to do and look for, and those that name the check."""
    try:
        text = (_folder() / rule_.guideline).read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{rule_.guideline}: {error.strerror}") from None
    parts = re.split(r"(?m)^(?=## )", text)
    if whole or len(parts) < 3:
        return text.strip()
    return "".join([*parts[:3], *(part for part in parts[3:] if f"`{check}`" in part)]).strip()


def rule(check: str) -> Rule:
    return rules().get(check) or Rule(check, check, check, "", ())
