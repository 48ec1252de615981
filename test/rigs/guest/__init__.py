# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots virtual machines on machines without hardware virtualization: QEMU emulates the CPU.

  packages.py   fetches a stock kernel, busybox and QEMU
  emulator.py   builds a QEMU without the fault that breaks nested guests
  initramfs.py  writes a guest's file system: busybox, programs, and a script that runs them
  machine.py    boots a guest and reads its output
  nested.py     boots a guest in the guest, with KVM, and counts its exits by reason

Times in an emulated machine say nothing about a real one. Operations can be counted, and
times of one boot compared with each other. With virtual time, on one CPU, results do not
depend on the load of this machine.
"""


class Broken(Exception):
    """Raised if a guest gives no result; the message is the reason, in one line."""


# The emulator's SVM has faults: of the 60 runs of a repetition of blocking-sync-guest, about one
# in four ended early, at any place. A run that fails three times has another cause (if failures
# were independent, one run in 64 would).
TRIES = 3


def until_whole(attempt, heard):
    """Returns the result of attempt(), which is called up to TRIES times while it raises
    Broken. Calls heard(error, again) for each error; again: whether another try follows."""
    for tries_left in reversed(range(TRIES)):
        try:
            return attempt()
        except Broken as error:
            heard(error, tries_left > 0)
            if not tries_left:
                raise


def broken(action):
    """Returns the message of the Broken that action raises; for the rigs' own tests."""
    try:
        action()
    except Broken as error:
        return str(error)
    raise AssertionError("that should not work")
