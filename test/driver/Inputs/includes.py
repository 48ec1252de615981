# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""includes.py SOURCE: which room of the house may include which other.

A room is a folder of a layer; MLIR's passes and the folders of the analysis are rooms of their own. An arrow that is not in
the table is an error, and so is one in the table that nothing needs any more.
"""

import os
import re
import sys

# FEATURE stands for the slug of any feature. No arrow leads from a feature to another, nor from
# what several share to one of them.
ALLOWED = {
    "checkers/Module.cpp": {"checkers/common"},
    "checkers/common": {"passes/analysis/common"},
    "checkers/FEATURE": {"checkers/common", "passes/analysis/common"},
    "checkers/heap-churn": {"passes/analysis/heap"},  # judges the IR that it lowers the unit to
    "checkers/spin-loops": {"passes/analysis/waits", "passes/prepare"},  # likewise; Expose.h simplifies it before
    # What proves includes nothing of the plugin, of clang or of a rewrite.
    "passes/analysis/heap": {"passes/common"},
    "passes/analysis/waits": {"passes/analysis/common", "passes/common", "runtime/include"},  # the words of the ABI
    "passes/analysis/common": {"passes/common"},
    "passes/prepare": {"passes/analysis/common", "passes/analysis/waits", "passes/common"},
    "passes/FEATURE": {"passes/analysis/common", "passes/common"},
    "passes/heap-churn": {"passes/analysis/heap"},
    "passes/numa-placement": {"passes/analysis/numa"},
    "passes/spin-loops": {"passes/analysis/waits", "passes/prepare", "runtime/include"},
    "passes/FEATURE/mlir": {"passes/mlir"},
    "passes/spin-loops/mlir": {"passes/analysis/waits"},  # the one judge of waits
    "passes/mlir": {"passes/common", "passes/plugin"},  # the targets of the runtime; the guard against another LLVM
    "passes/plugin": {"passes/analysis/waits", "passes/common", "passes/spin-loops"},  # print<vf-spin-loops>
    "runtime/common": {"runtime/platform", "runtime/spin-wait"},
    "runtime/spin-wait": {"runtime/common", "runtime/include", "runtime/platform"},
    "runtime/blocking-sync": {"runtime/common", "runtime/include", "runtime/platform", "runtime/spin-wait"},
    "runtime/preload": {"runtime/blocking-sync", "runtime/common", "runtime/include", "runtime/platform",
                        "runtime/spin-wait"},
    "runtime/spin-unmodified": {"runtime/common", "runtime/platform", "runtime/spin-wait"},
    "runtime/cpu-limits": {"runtime/common", "runtime/platform", "runtime/spin-wait"},
    "runtime/malloc": {"runtime/common", "runtime/include", "runtime/platform"},
    "runtime/numa-placement": {"runtime/common", "runtime/include", "runtime/platform", "runtime/spin-wait"},
    "runtime/gleaner": {"runtime/platform"},
    "runtime/pool": {"runtime/common", "runtime/include"},
}
# A header that declares rewrites, and what of its folder may include it: passes, other rewrites, and
# what asks whether a module can be rewritten (Vetoes.cpp).
# Each other file there is analysis, which must not depend on what is made of it.
REWRITES = {
    "passes/heap-churn/Rewrite.h": {"FreeEarlier.cpp", "HeapChurnPass.cpp", "Hoist.cpp", "PoolPhase.h",
                                    "StackPromotion.cpp"},
    "passes/spin-loops/Rewrite.h": {"BoundedRewrite.cpp", "NotifyWriters.cpp", "Rewrite.cpp",
                                    "SpinLoopsPass.cpp", "Vetoes.cpp", "WaitCall.cpp"},
    "passes/spin-loops/WaitCall.h": {"Fallback.cpp", "Rewrite.h", "WaitCall.cpp", "WaitSites.cpp"},
}
# It gives LLVM 19 names that LLVM 22 has: a file that uses one without this header builds with LLVM 22 alone.
VERSIONS = "passes/common/LLVMVersions.h"
ROOTS = ("", "runtime/", "runtime/include/")
SHARED = {"analysis", "common", "include", "mlir", "platform", "plugin", "prepare"}


def room(path):
    layer, folder, *rest = path.split("/")
    below = folder == "analysis" or rest[:1] == ["mlir"]
    return "/".join([layer, folder, *rest[:1]] if below else [layer, folder])


def feature_of(room):
    """The room by the name under which the table may have it instead of its own."""
    layer, folder, *rest = room.split("/")
    return "/".join([layer, folder if folder in SHARED else "FEATURE", *rest])


def sources(source):
    for layer in ("checkers", "passes", "runtime"):
        for folder, _, names in os.walk(os.path.join(source, layer)):
            for name in names:
                if name.endswith((".c", ".cpp", ".h", ".hpp")):
                    yield os.path.relpath(os.path.join(folder, name), source)


def includes(source):
    """Each file that includes another of the project, and the other."""
    for path in sorted(sources(source)):
        with open(os.path.join(source, path)) as file:
            names = re.findall(r'^#include "([^"]+)"', file.read(), re.M)
        for name in names:
            beside = os.path.relpath(os.path.join(source, os.path.dirname(path), name), source)
            for candidate in [root + name for root in ROOTS] + [beside]:
                if os.path.exists(os.path.join(source, candidate)):
                    yield path, os.path.normpath(candidate)
                    break


def only_newest_llvm(source):
    """A line for each file that uses a name of VERSIONS without including it."""
    def text(path):
        with open(os.path.join(source, path)) as file:
            return file.read()
    names = re.findall(r"^using (\w+) = llvm::|\b(LibFunc_\w+) =", text(VERSIONS), re.M)
    word = re.compile(rf"\b({'|'.join(filter(None, sum(names, ())))})\b")
    for path in sorted(sources(source)):
        found = word.search(re.sub(r"//.*", "", text(path)))
        if path != VERSIONS and found and f'#include "{VERSIONS}"' not in text(path):
            yield f"{path}: {found[1]} of LLVM 19 needs {VERSIONS}"


def main():
    (source,) = sys.argv[1:]
    wrong, seen = list(only_newest_llvm(source)), set()
    for path, header in includes(source):
        whose, what = room(path), room(header)
        if whose == what:
            if header in REWRITES:
                name = os.path.basename(path)
                if name not in REWRITES[header]:
                    wrong.append(f"{path}: analysis must not include {header}")
                seen.add((header, name))
            continue
        entries = {whose, feature_of(whose)} & set(ALLOWED)
        if not any(what in ALLOWED[entry] for entry in entries):
            wrong.append(f"{path}: {whose} must not include {what}")
        seen |= {(entry, what) for entry in entries}
    for header, names in REWRITES.items():
        wrong += [f"{name} does not include {header} any more" for name in sorted(names)
                  if (header, name) not in seen]
    for entry, others in ALLOWED.items():
        wrong += [f"nothing in {entry} includes {what} any more" for what in sorted(others)
                  if (entry, what) not in seen]
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
