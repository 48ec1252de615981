# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds Linux with a patch series of runtime/kernel, and tests it in nested guests.

  run.py       ./dev kernel-test
  source.py    Linux' source, unpacked once, and with a series applied
  build.py     configures and builds that, once for each series, configuration, compiler
  rig.py       boots a kernel as L1, with another, or the same, in it as L2: see test/guest
  NAME/        the tests of the series runtime/kernel/NAME: run_test.py
"""
