# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots virtual machines where there is no hardware to virtualize: QEMU emulates one.

  packages.py   a stock kernel and a busybox, unpacked into the build tree; QEMU
  emulator.py   QEMU again, without the fault that breaks guests of the guest
  initramfs.py  all that a guest has: busybox, programs, and a script that runs them
  machine.py    boots that and reads what it prints
  nested.py     boots a guest in the guest, with KVM, and counts its exits by reason

What is emulated has no honest clock: operations may be compared within one boot, and
counted; nanoseconds say nothing about a real machine. With virtual time, of one CPU, they
do not depend on what else this machine does.
"""


class Broken(Exception):
    """The guest gives no result, and why, in one line."""


# The emulator's SVM is not perfect: a guest in the guest breaks off at times, in whatever it
# does; of 60 runs that a repetition of blocking-sync-guest has, about one in four did. What
# does so three times in a row has a reason of its own.
TRIES = 3


def until_whole(attempt, heard):
    """What attempt() returns, which is called anew if it is Broken. heard(error, again) is
    told of each, and whether there will be another."""
    for tries_left in reversed(range(TRIES)):
        try:
            return attempt()
        except Broken as error:
            heard(error, tries_left > 0)
            if not tries_left:
                raise


def broken(action):
    """What is said of an action that has to break; for the rigs' own tests."""
    try:
        action()
    except Broken as error:
        return str(error)
    raise AssertionError("that should not work")
