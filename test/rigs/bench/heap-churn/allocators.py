# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The allocators, each a library to preload."""

import glob
import os
import subprocess

import bench

OURS = "vfmalloc"
# name -> Debian package, library below /usr/lib/*-linux-gnu. libc's own is preloaded too: a
# program that is linked to another (Redis to jemalloc) gets it that way.
DEBIAN = {
    "glibc": ("libc6", "libc.so.6"),
    "jemalloc": ("libjemalloc2", "libjemalloc.so.2"),
    "mimalloc": ("libmimalloc2.0", "libmimalloc.so.2.0"),
    "tcmalloc": ("libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"),
}
# Debian has none: where its own build leaves it, below --src.
SNMALLOC = "snmalloc/build/libsnmallocshim.so"
PEERS = [*DEBIAN, "snmalloc"]


def debian(name):
    found = glob.glob(f"/usr/lib/*-linux-gnu/{DEBIAN[name][1]}")
    if not found:
        raise bench.Broken(f"there is no {DEBIAN[name][1]} in /usr/lib")
    return found[0]


def loads(library):
    """The loader goes on without a library it cannot preload: nothing would be measured."""
    done = subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": library}, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise bench.Broken(f"{library} cannot be preloaded: {done.stderr.strip()}")


def find(tree, options, names):
    """The libraries of these peers and of ours, and why one is not there."""
    libraries, absent = {}, {}
    for name in names:
        if name in DEBIAN:
            libraries[name] = debian(name)
            continue
        library = os.path.join(os.path.abspath(options.src or "."), SNMALLOC)
        if options.src and os.path.exists(library):
            libraries[name] = library
        elif options.peers:
            raise bench.Usage(f"no snmalloc: --src DIR must have {SNMALLOC}")
        else:
            absent[name] = f"not at hand: --src DIR must have {SNMALLOC}"
    libraries[OURS] = os.path.join(tree.lib, "libvfmalloc.so")
    if not os.path.exists(libraries[OURS]):
        raise bench.Broken("there is no libvfmalloc.so: install libjemalloc-dev and libbsd-dev, and build")
    for library in libraries.values():
        loads(library)
    return libraries, absent
