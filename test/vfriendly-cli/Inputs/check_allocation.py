# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_allocation.py FOLDER: functions of allocators by their names, and two programs of which one allocates."""

import json
import re
import subprocess
import sys

import jsonschema
from project import HERE, TOOL, Project

from vfriendly.measuring import allocators, table
from vfriendly.measuring import profile as profiles
from vfriendly.measuring.profile import Profile, Stack, read
from vfriendly.measuring.symbols import Frame

SOURCE = HERE / "allocating.c"
SCHEMA = json.loads((HERE.parents[2] / "checkers/cli/vfriendly/measuring/profile.schema.json").read_text())
LIBC, APP = "/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/app"


def frame(function, module=LIBC, file="", line=0):
    return Frame(function, file, line, module, 0x1000 + line)


def named():
    """The functions of each allocator, and those of programs that are none."""
    for name in ("malloc", "free", "cfree", "__libc_malloc", "__GI___libc_free", "_int_malloc", "_int_free_chunk", "realloc",
                 "malloc_consolidate", "je_malloc", "je_arena_tcache_fill_small", "mi_malloc", "_mi_page_malloc", "tc_free",
                 "tcmalloc::ThreadCache::FetchFromCentralCache(unsigned int, int)", "operator new(unsigned long)",
                 "operator new[](unsigned long)", "operator delete(void*)", "_Znwm", "_ZdlPvm", "__rust_alloc"):
        assert allocators.is_allocator(frame(name)), name
    for name in ("mallopt_settings", "free_list_walk", "Pool::free(void*)", "is_free", "newline", "operator new_line()", "mix",
                 "reallocate_all", "memcpy", ""):
        assert not allocators.is_allocator(frame(name, APP)), name
    # A library without names is known by its file; and one that only sounds alike is not.
    assert allocators.is_allocator(frame("", "/usr/lib/libjemalloc.so.2"))
    assert not allocators.is_allocator(frame("", "/usr/lib/libmallocators.so"))


def callers():
    """The place is the program's, beyond its wrappers and the headers of the library."""
    vector = frame("std::__new_allocator<int>::allocate(unsigned long, void const*)", APP, "/usr/include/c++/14/new.h", 9)
    user, outer = frame("lines", APP, "a.cpp", 5), frame("main", APP, "a.cpp", 20)
    assert allocators.caller([frame("_int_malloc"), frame("malloc"), vector, user, outer]) == user
    assert allocators.caller([frame("malloc"), frame("app_malloc", APP, "w.c", 3), user, outer]) == user
    assert allocators.caller([frame("free"), frame("rule_free", APP, "r.c", 8), outer]).function == "rule_free"
    # What calloc calls to clear the block is the allocator's time; what copies into the block is not.
    assert allocators.entry([frame("__memset_evex"), frame("calloc"), user]) == 1
    assert allocators.entry([frame("memcpy"), user]) == -1


def ranked(folder):
    """Findings about the heap are ranked by time in the allocator; a wait is not."""
    project = Project(folder)
    (project.root / "src/churn.c").write_text(SOURCE.read_text())
    project.entries.append(project.entry("src/churn.c"))
    project.write()
    at = next(i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if "HERE allocates" in line)
    found = frame("churn", APP, str(project.root / "src/churn.c"), at)
    shown = Profile(["./app"], "BPF", [], 2, 4.0, 3.0, 1.0, 0.0, 0.0, 0.5, {}, {"beside_s": 0.01, "samples": 9.0}, [
        Stack("alloc", "allocation", "", 500, 2.4, 0.0, (frame("_int_malloc"), frame("malloc"), found)),
        Stack("alloc", "allocation", "", 50, 0.2, 0.0, (frame("malloc"), frame("wait", APP, str(project.root / "src/flag.c"), 8))),
        Stack("cpu", "other", "", 300, 1.2, 0.0, (frame("main", APP, "main.c", 3),))])
    jsonschema.validate(json.loads(shown.to_json()), SCHEMA)
    file = project.root / "p.json"
    file.write_text(shown.to_json())
    assert read(str(file)) == shown
    [said] = table.verdict(shown)
    assert said.startswith("65.0 % of the CPU time goes to allocation, most of it in churn (churn.c:"), said
    first, *others = project.sarif("--checks=vfriendly-*", "--profile", "p.json", status=1)["results"]
    where = first["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("src/churn.c", at), first
    assert first["properties"]["measured"]["cpu_s"] == 2.4 and first["rank"] == 80.0, first
    assert not any("measured" in other["properties"] for other in others), others


def measured(folder):
    """The program that allocates says how, and the one that keeps its block has nothing to say."""
    shares = {}
    for how in ("churn", "keep"):
        program = folder / how
        subprocess.run(["clang", "-O1", "-g", f"-DHOW={how}", "-DMAIN", str(SOURCE), "-o", str(program)], check=True)
        file = folder / f"{how}.json"
        done = subprocess.run([TOOL, "measure", "-q", "--without-bpf", "-o", str(file), "--", str(program)],
                              capture_output=True, text=True, check=True)
        shown = read(str(file))
        shares[how] = shown.seconds_of("allocation")["cpu"] / sum(s.seconds for s in shown.stacks if s.what in profiles.ON_CPU)
        if how == "churn":
            first = next(p for p in shown.places() if p.cause == "allocation")
            assert first.frame.function == "churn" and first.frame.file.endswith(SOURCE.name), first
            assert re.search(r"of the CPU time goes to allocation, most of it in churn \(allocating\.c:", done.stdout), done.stdout
    assert shares["keep"] < table.NOTABLE < shares["churn"], shares


if __name__ == "__main__":
    named()
    callers()
    root = Project(sys.argv[1]).root
    ranked(f"{root}.ranked")
    measured(root)
