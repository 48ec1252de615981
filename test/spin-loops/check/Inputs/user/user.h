// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern volatile int user_flag;
static inline void user_wait(void) {
  while (!user_flag)
    ;
}
