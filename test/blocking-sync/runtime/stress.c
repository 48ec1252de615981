// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every primitive keeps its promises with more threads than CPUs.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t mutex 8 3000
// RUN: %t mutex 2 20000
// RUN: %t cond 8 2000
// RUN: %t turns 2 3000
// RUN: %t rwlock 8 2000
// RUN: %t sem 8 3000
// RUN: %t barrier 7 500
// RUN: %t event 8 1000

#include "validate.h"

int main(int argc, char **argv) {
  CHECK(argc == 4);
  int threads = atoi(argv[2]);
  long rounds = atol(argv[3]);
  CHECK(threads > 1 && threads <= MAX_THREADS && rounds > 0);
  static const struct {
    const char *name;
    void (*validate)(int threads, long rounds);
  } primitives[] = {
      {"mutex", validate_mutex},     {"cond", validate_cond},
      {"rwlock", validate_rwlock},   {"sem", validate_sem},
      {"turns", validate_turns},     {"barrier", validate_barrier}, {"event", validate_event},
  };
  for (unsigned i = 0; i < sizeof primitives / sizeof *primitives; ++i)
    if (strcmp(argv[1], primitives[i].name) == 0) {
      primitives[i].validate(threads, rounds);
      return 0;
    }
  fprintf(stderr, "no primitive '%s'\n", argv[1]);
  return 2;
}
