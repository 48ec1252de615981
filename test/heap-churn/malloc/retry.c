// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that is free only in an arena of the program, which malloc does not use: at a
// limit of address space, malloc of each size gets it in a second attempt, also of the
// sizes of which the CPUs keep freed blocks (32 KiB to 1 MiB).
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -ljemalloc
// RUN: %vf_malloc %t

#include "check.h"
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FREE = 256 << 20 };

// Must not be called later, because stdio needs memory.
static size_t address_space(void) {
  long pages;
  FILE *statm = fopen("/proc/self/statm", "r");
  CHECK(statm && fscanf(statm, "%ld", &pages) == 1);
  CHECK(fclose(statm) == 0);
  return (size_t)(pages * sysconf(_SC_PAGESIZE));
}

static void *by_malloc(size_t size) { return malloc(size); }
static void *by_calloc(size_t size) { return calloc(1, size); }
static void *by_realloc(size_t size) { return realloc(NULL, size); }
static void *by_alignment(size_t size) { return aligned_alloc(64, size); }

// Uses half of the free memory, as blocks of 20 KB, for example, leave some of it unused.
static void use_half(void *(*allocate)(size_t), size_t size) {
  unsigned arena;
  size_t length = sizeof arena;
  CHECK(mallctl("arenas.create", &arena, &length, NULL, 0) == 0);
  int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
  CHECK(mallocx(FREE, flags));
  char reset[64];
  snprintf(reset, sizeof reset, "arena.%u.reset", arena);
  size_t all = address_space();
  struct rlimit is = {all, all};
  CHECK(setrlimit(RLIMIT_AS, &is) == 0);
  // Frees the block, but not as a call of free would: that looks for memory to return.
  CHECK(mallctl(reset, NULL, NULL, NULL, 0) == 0);
  for (size_t used = 0; used < FREE / 2; used += size)
    CHECK(allocate(size));
}

int main(void) {
  static const size_t sizes[] = {1024, 20480, 131072, 1 << 20, 8 << 20};
  static void *(*const ways[])(size_t) = {by_malloc, by_calloc, by_realloc, by_alignment};
  for (unsigned i = 0; i != sizeof sizes / sizeof *sizes; ++i)
    for (unsigned way = 0; way != sizeof ways / sizeof *ways; ++way) {
      pid_t child = fork();
      CHECK(child != -1);
      if (child == 0) {
        use_half(ways[way], sizes[i]);
        _exit(0);
      }
      int status;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
  return 0;
}
