# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly explain: what a check finds, what it costs and what to do, from the page beside this tool."""

import argparse
import difflib

from vfriendly import catalogue
from vfriendly.errors import CLEAN, Refused

SENTENCE = "Prints the page of a check, as far as it is about finding and changing code; needs no network."
EXAMPLE = (6, "vfriendly-spin-loops", "what a check is about")
EPILOG = "exit status: 0 printed, 2 there is no such check"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", nargs="?", metavar="CHECK",
                        help="such as vfriendly-spin-loops, also without its first word [list all]")
    parser.add_argument("--whole", action="store_true", help="print the whole page")


def _find(name: str) -> catalogue.Rule:
    known = catalogue.rules()
    for candidate in (name, f"vfriendly-{name}"):
        if candidate in known:
            return known[candidate]
    near = difflib.get_close_matches(name, [*known, *(k.removeprefix("vfriendly-") for k in known)], 1)
    raise Refused(f"no check '{name}'" + (f": did you mean {near[0]}?" if near else ": vfriendly explain lists them"))


def run(options: argparse.Namespace) -> int:
    if not options.check:
        rules = catalogue.rules()
        width = max(map(len, rules))
        for name in sorted(rules):
            print(f"{name.ljust(width)}  {rules[name].sentence}")
        return CLEAN
    rule = _find(options.check)
    print(f"{rule.name}: {rule.sentence}\n")
    print(catalogue.page(rule, rule.name, options.whole))
    print(f"\n{rule.url}")
    return CLEAN
