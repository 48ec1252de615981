// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern volatile int system_flag;
static inline void system_wait(void) {
  while (!system_flag)
    ;
}
#define SYSTEM_WAIT(x) while (!(x))
