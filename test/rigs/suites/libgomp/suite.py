# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gcc's own tests of its OpenMP runtime, compiled against the one that is installed. Those that
are only compiled, should fail, or need an accelerator or headers of libgomp's own are left out."""

import concurrent.futures
import glob
import os
import re
import subprocess

import bring
from compare import Job, Suite

SENTENCE = "gcc's tests of libgomp, its OpenMP runtime"
LIBRARIES = ("libvfomp",)
PACKAGE, TAR = "gcc-12-source", "usr/src/gcc-12/gcc-12.2.0-dfsg.tar.xz"
# Folder -> the compilers of its tests.
FOLDERS = {"libgomp.c": ("gcc",), "libgomp.c++": ("g++",), "libgomp.c-c++-common": ("gcc", "g++")}
SMOKE = re.compile(r"/(barrier|critical|single|task|taskloop)-1\.c$")
DIRECTIVE = re.compile(r"\{ dg-(\S+) (.*?) \}\s*(?:\*/|$)", re.M)
QUOTED = re.compile(r'"([^"]*)"')
# A selector of targets after the options: those of this machine and of Linux hold.
HOLDS = re.compile(r"\{ target (?:x86_64|i\?86|\*-\*-linux|\{ (?:x86_64|i\?86|\*-\*-linux))")


class Test:
    def __init__(self, source, compiler):
        self.source, self.compiler = source, compiler
        self.name = "/".join(source.split("/")[-2:]) + (" as C++" if compiler == "g++" and source.endswith(".c") else "")
        with open(source, errors="replace") as file:
            self.said = DIRECTIVE.findall(file.read())

    def of(self, *directives):
        """What the directives quote, where they hold here."""
        return [text for directive, rest in self.said if directive in directives and ("{ target" not in rest or HOLDS.search(rest))
                for text in QUOTED.findall(rest)]

    def why_not(self):
        """Why it is not run, or None."""
        for directive, rest in self.said:
            if directive == "do" and rest.split()[0] != "run":
                return f"is not run by gcc: {rest}"
            if directive == "shouldfail":
                return "should fail"
            if "offload" in rest and directive in ("do", "require-effective-target", "skip-if"):
                return "is of accelerators"
        return None

    def build(self, program):
        """Returns why it cannot be built, or None."""
        folder = os.path.dirname(self.source)
        options = [option for text in self.of("options", "additional-options") for option in text.split()]
        more = [os.path.join(folder, name) for text in self.of("additional-sources") for name in text.split()]
        language = ["-x", "c++"] if self.compiler == "g++" else []
        done = subprocess.run([self.compiler, "-O2", "-fopenmp", "-w", *options, *language, self.source, *more, "-o", program + ".new", "-lm"],
                              capture_output=True, text=True, cwd=folder)
        if done.returncode == 0:
            os.rename(program + ".new", program)
        said = re.search(r"(error: .*|undefined reference to .*)", done.stderr)
        return None if done.returncode == 0 else said.group(1) if said else "does not compile"

    def environment(self):
        set_by = [QUOTED.sub(r"\1", rest).split(maxsplit=1) for directive, rest in self.said if directive == "set-target-env-var"]
        return {name: value for name, value in filter(lambda each: len(each) == 2, set_by)}


def _tests(top, smoke):
    for folder, compilers in FOLDERS.items():
        for source in sorted(glob.glob(os.path.join(top, folder, "*.[cC]"))):
            if not smoke or SMOKE.search(source):
                yield from (Test(source, compiler) for compiler in compilers)


def prepare(place, smoke):
    bring.need("gcc", "g++", "tar")
    root = place.debian.packages(place.path("root"), [], [PACKAGE])
    work = place.path("source")
    with bring.Once(work, TAR) as todo:
        if todo:
            bring.call(["tar", "-xf", os.path.join(root, TAR), "-C", work, "--wildcards", "--strip-components=2", "*/libgomp/testsuite/*"],
                       "cannot unpack gcc")
    left_out, jobs, todo = {}, [], []
    made = place.path("smoke" if smoke else "bin")
    os.makedirs(made, exist_ok=True)
    for test in _tests(os.path.join(work, "testsuite"), smoke):
        if not place.only.search(test.name):
            continue
        why = test.why_not()
        if why:
            left_out[test.name] = why
        else:
            todo.append((test, os.path.join(made, re.sub(r"[^\w.+-]", "_", test.name))))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        # A program that there is was built by a run before.
        built = pool.map(lambda each: None if os.path.exists(each[1]) else each[0].build(each[1]), todo)
        for (test, program), why in zip(todo, built):
            if why:
                left_out[test.name] = why
            else:
                jobs.append(Job(test.name, [program], cwd=os.path.dirname(test.source), timeout=120, environment=test.environment()))
    return Suite(jobs, left_out=left_out)
