// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared library of the program: its lines are the program's own.
void touch_shared(volatile char *pages, int count) {
  for (int i = 0; i < count; i++)
    pages[i * 4096L] = 1; // HERE shared fault
}
