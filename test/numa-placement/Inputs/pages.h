/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Where pages lie, as the kernel says: by move_pages, page by page, and by
 * /proc/self/numa_maps, in sum. */

#ifndef VF_TEST_PAGES_H
#define VF_TEST_PAGES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES = 8, PAGE = 4096 };

/* A mapping of its own, with a gap on both sides, so that numa_maps has lines
 * for it alone. */
static inline char *map_apart(size_t size) {
  char *all = mmap(NULL, size + 2 * PAGE, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + PAGE, size, PROT_READ | PROT_WRITE))
    abort();
  return all + PAGE;
}

/* The node of a page, -1 if it has no memory. */
static inline int node_of(const void *address) {
  void *page = (void *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));
  int status = -1;
  if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) != 0)
    return -1;
  return status < 0 ? -1 : status;
}

struct spread {
  long pages[NODES];
  long all;
};

static inline struct spread spread_of(const char *begin, size_t size) {
  struct spread s = {{0}, 0};
  for (size_t at = 0; at < size; at += PAGE) {
    int node = node_of(begin + at);
    if (node >= 0 && node < NODES) {
      ++s.pages[node];
      ++s.all;
    }
  }
  return s;
}

static inline struct spread maps_of(const char *begin, size_t size) {
  struct spread s = {{0}, 0};
  FILE *file = fopen("/proc/self/numa_maps", "r");
  char line[4096];
  while (file && fgets(line, sizeof line, file)) {
    uintptr_t at = strtoul(line, NULL, 16);
    if (at < (uintptr_t)begin || at >= (uintptr_t)begin + size)
      continue;
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
      int node;
      long pages;
      if (sscanf(word, "N%d=%ld", &node, &pages) == 2 && node < NODES) {
        s.pages[node] += pages;
        s.all += pages;
      }
    }
  }
  if (file)
    fclose(file);
  return s;
}

/* One line of JSON: pages by node and, if known, the share on the node of the
 * thread that uses them. */
static inline void print_spread(const char *name, const char *begin,
                                size_t size, double own) {
  struct spread s = spread_of(begin, size), maps = maps_of(begin, size);
  printf("{\"case\": \"%s\", \"pages\": [", name);
  for (int i = 0; i < NODES; ++i)
    printf("%s%ld", i ? ", " : "", s.pages[i]);
  printf("], \"numa_maps\": %d, \"own\": %.4f}\n",
         memcmp(&s, &maps, sizeof s) == 0, own);
  fflush(stdout);
}

#endif
