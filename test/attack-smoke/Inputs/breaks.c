// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that breaks a set-up: its program ends with a status of its own, or never.

#include <errno.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void) {
  if (strcmp(program_invocation_short_name, "stack-use") != 0)
    return;
#ifdef HANGS
  for (;;)
    pause();
#endif
  _exit(7);
}
