// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mark(1) when what is to be counted begins, mark(2) when it is over: see
// vmm.c. With NO_MARKS in the environment it does nothing: no VMM of ours
// listens, and in QEMU's guests the port's use ends in a fault.

#pragma once

#include <stdlib.h>
#include <sys/io.h>
#include <termios.h>

static inline void mark(unsigned number) {
  enum { PORT = 0xf4 };
  if (getenv("NO_MARKS"))
    return;
  // Else what was printed before would come after it, and cost exits meanwhile.
  tcdrain(1);
  // Root may; for this thread only, the others pay nothing for it.
  if (ioperm(PORT, 1, 1) == 0)
    outb((unsigned char)number, PORT);
}
