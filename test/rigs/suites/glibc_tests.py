# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""glibc's own tests, compiled from its source against the libc that is installed. Those
that need glibc's build tree or internals do not compile and are left out.
"""

import concurrent.futures
import glob
import os
import re
import subprocess

import bring
from compare import Job, Suite

VERSION = "2.36"
# Not tests: what others of them load or include; and what no preload can get into.
OTHERS = re.compile(r"-static$|mod\w?\d?$|aux$|-common$")
# What <support/...> would have from glibc's build tree. The paths are those of tests that
# need more of it, and are looked at by none that run here.
SHIM = """
#include <limits.h>
#include <sys/cdefs.h>
#define attribute_hidden
#define libc_hidden_proto(...)
#define libc_hidden_def(...)
#define TIMEOUTFACTOR 1
#define OBJDIR_ELF_LDSO_PATH "/lib64/ld-linux-x86-64.so.2"
""" + "".join(f'#define {p}_PATH "/nonexistent"\n' for p in (
    "SRCDIR", "OBJDIR", "INSTDIR", "LIBDIR", "BINDIR", "SBINDIR", "SLIBDIR", "ROOTSBINDIR",
    "COMPLOCALEDIR", "SYSCONFDIR"))
STACKINFO = """
#include <elf.h>
#define _STACK_GROWS_DOWN 1
#define DEFAULT_STACK_PERMS (PF_R | PF_W | PF_X)
"""
# Of glibc's <atomic.h>, what tests use.
ATOMIC = "".join(
    f"#define atomic_{name}_{order}({a}) __atomic_{of}({b}, __ATOMIC_{order.upper()})\n"
    for name, of, a, b, orders in (
        ("load", "load_n", "m", "(m)", ("relaxed", "acquire")),
        ("store", "store_n", "m, v", "(m), (v)", ("relaxed", "release")),
        ("fetch_add", "fetch_add", "m, v", "(m), (v)", ("relaxed", "acquire", "release", "acq_rel")),
    ) for order in orders)
DSO_HANDLE = 'extern void *__dso_handle __attribute__((visibility("hidden")));\n'
MADE = {"shim.h": SHIM, "stackinfo.h": STACKINFO, "config.h": "", "atomic.h": ATOMIC,
        "dso_handle.h": DSO_HANDLE}
FOLDERS = ("support", "malloc", "posix", "elf", "locale", "argp", "stdlib", "sysdeps")
HEADERS = ("array_length.h", "libc-diag.h", "file_change_detection.h", "intprops.h",
           "scratch_buffer.h", "libc-pointer-arith.h")


class Sources:
    def __init__(self, top, work, folders):
        self.top, self.work, self.folders = top, work, folders
        self.bin, self.include = os.path.join(work, "bin"), os.path.join(work, "include")
        self.tests = sorted(t for f in folders for t in glob.glob(f"{top}/{f}/tst-*.c"))
        makefiles = "".join(open(f"{top}/{f}/Makefile").read() for f in folders)
        self.makefiles = makefiles.replace("\\\n", " ")

    def flags(self, kind, target):
        found = re.findall(rf"^{kind}-{re.escape(target)} \+?:?= (.*)$", self.makefiles, re.M)
        return [f for line in found for f in line.split() if "$" not in f and f != "-Werror"]

    def compile(self, *arguments):
        top = self.top
        return subprocess.run(
            ["gcc", "-std=gnu11", "-fgnu89-inline", "-O2", "-w", "-D_GNU_SOURCE",
             f"-I{self.include}", f"-I{top}/support", *[f"-I{top}/{f}" for f in self.folders[::-1]],
             "-include", "shim.h", *arguments], capture_output=True, text=True)

    def put_includes(self):
        os.makedirs(self.include)
        for name, text in MADE.items():
            with open(os.path.join(self.include, name), "w") as file:
                file.write(text)
        links = {**{f: f for f in FOLDERS}, **{h: f"include/{h}" for h in HEADERS},
                 "test-skeleton.c": "test-skeleton.c"}
        for name, to in links.items():
            os.symlink(os.path.join(self.top, to), os.path.join(self.include, name))

    def support(self, source):
        target = os.path.join(self.work, "objects", os.path.basename(source)[:-2] + ".o")
        # Those that do not compile are for other tests.
        return target if self.compile("-c", source, "-o", target).returncode == 0 else None

    def build_support(self, pool):
        os.makedirs(os.path.join(self.work, "objects"))
        sources = [s for s in glob.glob(f"{self.top}/support/*.c") if "int main " not in open(
            s, errors="replace").read().replace("\nmain (", "int main ")]
        objects = [o for o in pool.map(self.support, sources) if o]
        self.library = os.path.join(self.work, "libsupport.a")
        bring.call(["ar", "rcs", self.library, *sorted(objects)], "cannot build glibc's libsupport")

    def build_test(self, source):
        """Returns the test's name, and the reason why it could not be built."""
        name = os.path.basename(source)[:-2]
        made = os.path.join(self.bin, name)
        module = OTHERS.search(name)
        how = ["-shared", "-fPIC", "-o", made + ".so"] if module else ["-o", made]
        done = self.compile(
            *self.flags("CFLAGS", name + ".c"), source, *how, *([] if module else [self.library]),
            *self.flags("LDFLAGS", name + (".so" if module else "")), "-lm", "-lrt")
        if done.returncode == 0:
            return name, None
        said = re.search(r"(error: .*|undefined reference to .*)", done.stderr)
        return name, said.group(1) if said else "does not compile"


def build(sources, pool):
    sources.put_includes()
    os.makedirs(sources.bin)
    sources.build_support(pool)
    with open(os.path.join(sources.work, "left-out"), "w") as file:
        for name, why in pool.map(sources.build_test, sources.tests):
            if why and not OTHERS.search(name):
                file.write(f"{name}\t{why}\n")


def prepare(place, folders, elsewhere, smoke, arguments):
    """The suite of the tests in some of glibc's folders. elsewhere: test -> why it is not
    run here; smoke: the names of a few, or None for all; arguments(program) -> {test: its
    arguments}."""
    bring.need("gcc", "ar", "tar")
    found = os.confstr("CS_GNU_LIBC_VERSION")
    if found != f"glibc {VERSION}":
        raise bring.NotRun(f"is of glibc {VERSION}, this is {found}")
    root = place.debian.packages(place.path("root"), [], ["glibc-source"])
    work = place.path("build")
    top = os.path.join(work, f"glibc-{VERSION}")
    with bring.Once(work, open(__file__).read() + " ".join(folders)) as todo:
        if todo:
            tar = os.path.join(root, "usr/src/glibc", f"glibc-{VERSION}.tar.xz")
            bring.call(["tar", "-xf", tar, "-C", work], "cannot unpack glibc")
        sources = Sources(top, work, folders)
        if todo:
            with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                build(sources, pool)
    left_out = dict(
        l.split("\t", 1) for l in open(os.path.join(work, "left-out")).read().splitlines())
    left_out.update(elsewhere)
    jobs = []
    for test in sources.tests:
        name = os.path.basename(test)[:-2]
        program = os.path.join(sources.bin, name)
        if os.path.exists(program) and name not in elsewhere and (not smoke or name in smoke):
            # Each has its own alarm, after 20 s unless it says otherwise.
            jobs.append(Job(
                name, [program, *arguments(program).get(name, [])],
                cwd=os.path.join(sources.top, folders[0]), timeout=300,
                environment={"LD_LIBRARY_PATH": sources.bin, "TIMEOUTFACTOR": "1"}))
    return Suite(jobs, parallel=len(os.sched_getaffinity(0)), left_out=left_out)
