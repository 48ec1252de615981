// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdlib.h>
static inline void user_rounds(int n) {
  while (n--) {
    void *p = malloc(n);
    free(p);
  }
}
