# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds libvfmalloc.so with a jemalloc that checks the order of its locks.

  debug_build.py SOURCE BUILD    in BUILD/malloc-debug; jemalloc is Debian's source package
"""

import os
import shutil
import sys

SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "test", "rigs", "suites"))

import bring

# As Debian configures it (debian/rules), but for profiles, which need a library more.
CONFIGURE = ["--enable-debug", "--disable-cxx", "--with-lg-page=12", "--with-lg-hugepage=21"]
# junk: jemalloc would take all calls for slow ones, and tell nothing of where it counts.
PLAIN = {**os.environ, "MALLOC_CONF": "junk:false"}


def main():
    top = os.path.join(BUILD, "malloc-debug")
    os.makedirs(top, exist_ok=True)
    source = bring.Debian(top).source(os.path.join(top, "jemalloc"), "jemalloc")
    archive = os.path.join(source, "lib", "libjemalloc_pic.a")
    if not os.path.exists(archive):
        bring.call(["./configure", *CONFIGURE], "cannot configure jemalloc", cwd=source)
        bring.call(["make", "-j2", "lib/libjemalloc_pic.a"], "cannot build jemalloc", cwd=source)
    ours = os.path.join(top, "build")
    shutil.rmtree(ours, ignore_errors=True)  # What is left of a try that failed would make this one fail.
    bring.call(["cmake", "-S", SOURCE, "-B", ours, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++",
                "-DCMAKE_BUILD_TYPE=Debug", f"-DVF_JEMALLOC={archive}", "-DVF_MALLOC_DEBUG=ON"], "cannot configure", env=PLAIN)
    bring.call(["ninja", "-C", ours, "vfmalloc"], "cannot build libvfmalloc.so")


try:
    main()
except bring.NotRun as why:
    sys.exit(f"debug_build: {why}")
