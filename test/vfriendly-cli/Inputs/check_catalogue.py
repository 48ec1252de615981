# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_catalogue.py FOLDER: ranks and levels of findings by kind, and the address of pages."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

from project import BUILD, HERE, Project

from vfriendly import catalogue

# Source, rank and level of its one finding: words of messages are those that the checks print.
KINDS = (
    ("while (!word) {\n  }", 90, "warning"),
    ("while (!word)\n    usleep(100);", 60, "warning"),
    ("for (int i = 0; i < 100000 && !word; ++i)\n    ;", 40, "note"),
    ("pthread_spin_lock(&lock);", 90, "warning"),
    ("for (;;) {\n    void *p = mmap(0, 4096, 3, 34, -1, 0);\n    if (munmap(p, 4096))\n      break;\n  }", 80, "warning"),
)
HEAD = "#include <pthread.h>\n#include <sys/mman.h>\n#include <unistd.h>\nvolatile int word;\npthread_spinlock_t lock;\n"


def check_weights(project):
    for rule in catalogue.rules().values():
        numbers = [number for _, number in rule.weights]
        assert numbers and all(0 <= n <= 100 for n in numbers) and rule.weights[-1][0] == "", rule
    for body, rank, level in KINDS:
        (project.root / "src/flag.c").write_text(f"{HEAD}void f(void) {{\n  {body}\n}}\n")
        found = project.sarif(status=1)["results"]
        assert [(r["rank"], r["level"]) for r in found] == [(rank, level)], (body, found)
    # A note alone does not fail a gate that asks for warnings.
    (project.root / "src/flag.c").write_text(f"{HEAD}void f(void) {{\n  {KINDS[2][0]}\n}}\n")
    project.run("scan", "--fail-on", "warning", status=0)
    project.run("scan", "--fail-on", "note", status=1)


def check_links(project):
    """Without an address, links lead to files that exist."""
    copy = project.root / "installed"
    subprocess.run(["cmake", "--install", BUILD, "--component", "tool", "--prefix", copy],
                   check=True, capture_output=True)
    project.environment.pop("VFRIENDLY_GUIDELINES")
    project.environment["VFRIENDLY_LIB"] = str(BUILD / "lib")
    for tool, under in ((str(BUILD / "bin/vfriendly"), HERE.parents[2]), (str(copy / "bin/vfriendly"), copy)):
        project.run("scan", "--format", "sarif", "-o", "out.sarif", "--fail-on", "never", status=0, tool=tool)
        rules = json.loads((project.root / "out.sarif").read_text())["runs"][0]["tool"]["driver"]["rules"]
        for rule in rules:
            page = Path(unquote(urlparse(rule["helpUri"]).path))
            assert page.is_file() and page.is_relative_to(under), (tool, page)
            assert page.read_text().startswith(f"# {rule['shortDescription']['text']}\n"), page
    # The addresses of the project, which one file has.
    [addresses] = copy.glob("**/project.json")
    for key, address, page in (("files", "https://example.org/files", "/guidelines/spin-loops.md"), ("site", "https://example.org/docs/", "/spin-loops.html")):
        addresses.write_text(json.dumps({**json.loads(addresses.read_text()), key: address}))
        project.run("scan", "--format", "sarif", "-o", "out.sarif", "--fail-on", "never", status=0, tool=str(copy / "bin/vfriendly"))
        driver = json.loads((project.root / "out.sarif").read_text())["runs"][0]["tool"]["driver"]
        assert driver["informationUri"] == address.rstrip("/") and driver["rules"][0]["helpUri"] == address.rstrip("/") + page, driver
        said = subprocess.run([copy / "bin/vfriendly", "explain", "vfriendly-spin-loops"], check=True, capture_output=True, text=True,
                              env=project.environment).stdout
        assert said.endswith(f"\n{address.rstrip('/')}{page}\n"), said
    project.environment["VFRIENDLY_GUIDELINES"] = "https://example.org/at/"
    assert project.sarif(status=1)["tool"]["driver"]["rules"][0]["helpUri"] == "https://example.org/at/guidelines/spin-loops.md"


def main():
    project = Project(sys.argv[1])
    for entry in project.entries:
        if entry["file"] != "src/flag.c":
            (project.root / entry["file"]).unlink()
    project.entries = [e for e in project.entries if e["file"] == "src/flag.c"]
    project.write()
    check_weights(project)
    check_links(project)
    shutil.rmtree(project.root / "installed")


main()
