/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * preload MEGABYTES NAME: a program that knows nothing of placement. It fills a
 * large array and some small blocks in one thread, and uses the array in a
 * team; a line of JSON each says where they lie. Then it says on which nodes
 * some threads run. */

#include "pages.h"
#include <omp.h>
#include <pthread.h>

enum { SMALL = 60000, BLOCKS = 200, THREADS = 4 };

static unsigned here(void) {
  unsigned cpu, node = 0;
  syscall(SYS_getcpu, &cpu, &node, NULL);
  return node;
}

static double use(const char *memory, size_t size) {
  long own = 0, all = (long)(size / PAGE);
#pragma omp parallel for schedule(static) reduction(+ : own)
  for (long page = 0; page < all; ++page)
    own += memory[page * PAGE] == (char)page &&
           node_of(&memory[page * PAGE]) == (int)here();
  return (double)own / (double)all;
}

static void large(const char *name, size_t size) {
  /* Half of it first, so that realloc has to grow it. */
  char *block = malloc(size / 2);
  block = realloc(block, size);
  char *memory = (char *)(((uintptr_t)block + PAGE) & -(uintptr_t)PAGE);
  size = (size - PAGE) / PAGE * PAGE;
  for (size_t i = 0; i < size; i += PAGE)
    memory[i] = (char)(i / PAGE);
  print_spread(name, memory, size, use(memory, size));
  free(block);
}

/* More than all of them together is a large block's size. */
static void small(const char *name) {
  char *block[BLOCKS], text[64];
  long own = 0;
  for (int i = 0; i < BLOCKS; ++i) {
    block[i] = malloc(SMALL);
    memset(block[i], i, SMALL);
  }
  for (int i = 0; i < BLOCKS; ++i)
    own += node_of(block[i] + SMALL / 2) == node_of(block[0] + SMALL / 2);
  snprintf(text, sizeof text, "%s, small blocks", name);
  print_spread(text, block[0], 0, (double)own / BLOCKS);
}

static void *node_here(void *node) {
  *(unsigned *)node = here();
  return node;
}

static void threads(void) {
  unsigned node[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, node_here, &node[i]) != 0)
      abort();
    pthread_join(thread, NULL);
    printf("%u ", node[i]);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  large(argv[2], strtoul(argv[1], NULL, 10) << 20);
  small(argv[2]);
  threads();
  return 0;
}
