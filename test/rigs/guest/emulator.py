# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QEMU without the fault that breaks guests of the guest: built once, from Debian's source. Also one
with the project's series, which runs guests in such a guest.

Inputs/qemu-svm-injection.patch says what the fault is. Debian's package is needed all the
same, for the firmware, and is what boots a guest that has none of its own.
"""

import hashlib
import os
import tempfile

from guest import packages

PATCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "qemu-svm-injection.patch")
SOURCE = "qemu"
NEEDS = ("dpkg-dev", "flex", "bison", "gcc", "git", "libc6-dev", "libfdt-dev", "libglib2.0-dev",
         "libpixman-1-dev", "meson", "ninja-build", "pkg-config", "python3")
# Only what a guest with a serial line needs.
CONFIGURE = ("--target-list=x86_64-softmmu", "--without-default-features", "--without-default-devices", "--disable-docs",
             "--disable-tools", "--disable-guest-agent", "--disable-install-blobs", "--enable-system",
             "--enable-fdt=system")
EMULATES, RUNS_KVM = "--enable-tcg", "--enable-kvm"
# 1200 files take 10 minutes of CPU time, and longer on a busy machine.
TIMEOUT_S = 3600


def _unpack(work):
    """Unpacks the source in a folder, as a repository of its own, and returns where it is."""
    tree = os.path.join(work, "tree")
    packages.run(["dpkg-source", "--no-check", "-x", packages.fetch_source(SOURCE, work), tree])
    # Not a part of this project's own repository, which git would take it for.
    packages.run(["git", "-c", "init.defaultBranch=none", "init", "-q", tree])
    return tree


def applies(series, say=print):
    """Raises Broken if a series does not apply to QEMU's source. It is not a part of what is built here."""
    packages.install(("dpkg-dev", "git"))
    with tempfile.TemporaryDirectory() as work:
        packages.run(["git", "apply", *series.patches], _unpack(work))
    say(f"{series.name}: {len(series.patches)} patches apply to Debian's QEMU")


def _target(build, title, patches, options):
    """Returns a QEMU's path in the build tree, where it need not be yet."""
    text = hashlib.sha256(" ".join(options).encode())
    for patch in patches:
        with open(patch, "rb") as file:
            text.update(file.read())
    return os.path.join(build, "guest", f"{title}-{text.hexdigest()[:12]}")


def _built(build, title, patches, options, say):
    """Returns a QEMU's path; builds it if it is not there."""
    target = _target(build, title, patches, options)
    if os.path.exists(target):
        return target
    packages.install(NEEDS)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as work:
        say(f"fetching the source of {packages.QEMU}")
        tree = _unpack(work)
        packages.run(["git", "apply", *patches], tree)
        say(f"building {title}, once: some minutes")
        out = os.path.join(work, "out")
        os.mkdir(out)
        packages.run([os.path.join(tree, "configure"), *options], out)
        packages.run(["ninja", packages.QEMU], out, TIMEOUT_S)
        os.rename(os.path.join(out, packages.QEMU), target)
    return target


def qemu(build, say=print):
    """Returns the emulator's path in the build tree; builds it if it is not there."""
    packages.qemu()  # its firmware
    return _built(build, "qemu", [PATCH], (*CONFIGURE, EMULATES), say)


def _vmm(series):
    return "qemu-kvm", [PATCH, *series.patches], (*CONFIGURE, RUNS_KVM)


def vmm_built(build, series):
    """Returns True if vmm() builds nothing."""
    return os.path.exists(_target(build, *_vmm(series)))


def vmm(build, series, say=print):
    """The same of a QEMU that has the series, and runs guests by KVM only."""
    packages.qemu()
    return _built(build, *_vmm(series), say)
