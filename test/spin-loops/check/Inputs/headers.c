// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <system.h>
#include "user.h"
void use(void) {
  system_wait();
  user_wait();
  SYSTEM_WAIT(user_flag);
}
