// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the ticks of each CPU, between the two marks.

#pragma once

#include "guest.h"
#include "mark.h"

static inline void print_list(const char *name, const uint64_t *of, int count) {
  printf("\"%s\": [", name);
  for (int i = 0; i < count; ++i)
    printf("%s%llu", i ? ", " : "", (unsigned long long)of[i]);
  printf("]");
}

struct ticks {
  uint64_t ptk[MAX_CPUS], loc[MAX_CPUS];
  int cpus, paratick;
  double at;
};

static inline void read_ticks(struct ticks *t) {
  t->cpus = interrupts("LOC", t->loc);
  t->at = now(CLOCK_MONOTONIC);
  t->paratick = interrupts("PTK", t->ptk);
}

static inline void print_ticks(const char *check, double seconds) {
  struct ticks begin, end;
  // What the host counts it reads a while after each, the same while.
  double marked = now(CLOCK_MONOTONIC);
  mark(1);
  read_ticks(&begin);
  sleep_for(seconds);
  read_ticks(&end);
  marked = now(CLOCK_MONOTONIC) - marked;
  mark(2);
  for (int i = 0; i < end.cpus; ++i)
    end.loc[i] -= begin.loc[i];
  for (int i = 0; i < end.paratick; ++i)
    end.ptk[i] -= begin.ptk[i];
  printf("{\"check\": \"%s\", \"asked_s\": %.6f, \"marked_s\": %.6f, "
         "\"seconds\": %.6f, ",
         check, seconds, marked, end.at - begin.at);
  print_list("loc", end.loc, end.cpus);
  printf(", ");
  print_list("ptk", end.ptk, end.paratick);
  printf("}\n");
}
