// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of constructors.c.

#include "attack.h"
#include "threads.h"
__attribute__((constructor)) static void before_all(void) { start(4); }
void library_ends(void) {
  end();
  printf("%d\n", turns >= 50);
}
