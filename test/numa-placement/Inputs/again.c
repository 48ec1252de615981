/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * again NAME MEGABYTES SECONDS: memory that vCPU 0 uses and frees, and that,
 * some seconds later, vCPU 1 uses. The VMM is asked before and after each
 * use: see mark.h. */

#define _GNU_SOURCE
#include "mark.h"
#include "stay_on.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MEMORY_PAGES = 1 << 18 };

/* Of each page frame of the guest, whether it was used before. */
static char used[MEMORY_PAGES];

/* Marks the frames of the memory as used; returns how many were before. */
static size_t frames(const char *memory, size_t size) {
  int map = open("/proc/self/pagemap", O_RDONLY);
  size_t again = 0;
  for (size_t at = 0; at < size; at += PAGE) {
    uint64_t entry;
    off_t where = (off_t)((uintptr_t)(memory + at) / PAGE * sizeof entry);
    if (pread(map, &entry, sizeof entry, where) != sizeof entry)
      abort();
    uint64_t frame = entry & ((UINT64_C(1) << 55) - 1);
    if (frame == 0 || frame >= MEMORY_PAGES)
      abort();
    again += used[frame] != 0;
    used[frame] = 1;
  }
  close(map);
  return again;
}

/* The memory is written by this vCPU. */
static void use(const char *name, int cpu, size_t size) {
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  stay_on(cpu);
  mark(1);
  memset(memory, 1, size);
  mark(2);
  printf("{\"case\": \"%s, by vCPU %d\", \"again\": %zu}\n", name, cpu,
         frames(memory, size));
  fflush(stdout);
  munmap(memory, size);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  size_t size = strtoul(argv[2], NULL, 10) << 20;
  use(argv[1], 0, size);
  sleep((unsigned)atoi(argv[3]));
  use(argv[1], 1, size);
  return 0;
}
