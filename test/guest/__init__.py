# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots virtual machines where there is no hardware to virtualize: QEMU emulates one.

  packages.py   a stock kernel and a busybox, unpacked into the build tree; QEMU
  initramfs.py  all that a guest has: busybox, programs, and a script that runs them
  machine.py    boots that and reads what it prints
  nested.py     boots a guest in the guest, with KVM, and counts its exits by reason

What is emulated has no honest clock: operations may be compared within one boot, and
counted; nanoseconds say nothing about a real machine.
"""


class Broken(Exception):
    """The guest gives no result, and why, in one line."""


def broken(action):
    """What is said of an action that has to break; for the rigs' own tests."""
    try:
        action()
    except Broken as error:
        return str(error)
    raise AssertionError("that should not work")
