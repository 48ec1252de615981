// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// phases WHAT ROUNDS: a phase takes blocks from the region of one library (-DPEER_x) and
// gives them back, one by one if the library can. Prints {"ns_per_block", "peak_kb",
// "mean_kb"}: the resident size at the end of each phase's growth, over an empty one.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(PEER_obstack)
#include <obstack.h>
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free
static struct obstack region;
static void open_region(void) { obstack_init(&region); }
static void *take(size_t size) { return obstack_alloc(&region, size); }
static void give(void *block) { (void)block; }
static void close_region(void) { obstack_free(&region, NULL); }
static void set_up(void) {}

#elif defined(PEER_apr)
#include <apr_general.h>
#include <apr_pools.h>
static apr_pool_t *region;
static void open_region(void) {
  // With an allocator of its own, or memory would never leave the process.
  apr_allocator_t *allocator;
  apr_allocator_create(&allocator);
  apr_pool_create_ex(&region, NULL, NULL, allocator);
  apr_allocator_owner_set(allocator, region);
}
static void *take(size_t size) { return apr_palloc(region, size); }
static void give(void *block) { (void)block; }
static void close_region(void) { apr_pool_destroy(region); }
static void set_up(void) { apr_initialize(); }

#elif defined(PEER_mimalloc)
#include <mimalloc.h>
static mi_heap_t *region;
static void open_region(void) { region = mi_heap_new(); }
static void *take(size_t size) { return mi_heap_malloc(region, size); }
static void give(void *block) { mi_free(block); }
static void close_region(void) { mi_heap_destroy(region); }
static void set_up(void) {}

#elif defined(PEER_jemalloc)
#include <jemalloc/jemalloc.h>
// Arenas that are destroyed are used again, but not their threads' caches.
static unsigned region;
static void open_region(void) {
  size_t size = sizeof region;
  if (mallctl("arenas.create", &region, &size, NULL, 0))
    abort();
}
static int flags(void) { return MALLOCX_ARENA(region) | MALLOCX_TCACHE_NONE; }
static void *take(size_t size) { return mallocx(size, flags()); }
static void give(void *block) { dallocx(block, flags()); }
static void close_region(void) {
  char name[40];
  snprintf(name, sizeof name, "arena.%u.destroy", region);
  if (mallctl(name, NULL, NULL, NULL, 0))
    abort();
}
static void set_up(void) {}

#elif defined(PEER_vf)
#include "vfriendly/pool.h"
static vf_pool region = VF_POOL_INIT;
static void open_region(void) {}
static void *take(size_t size) { return vf_pool_alloc(&region, size); }
static void give(void *block) { vf_pool_free(&region, block); }
static void close_region(void) { vf_pool_destroy(&region); }
static void set_up(void) {}

#else // Without a region: the C library's malloc.
static void open_region(void) {}
static void *take(size_t size) { return malloc(size); }
static void give(void *block) { free(block); }
static void close_region(void) {}
static void set_up(void) {}
#endif

enum { MOST = 100000 };
static char *blocks[MOST];
static long resident_sum, resident_times, resident_idle;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Without stdio, whose buffers would lie on top of the heap. */
static long resident_kb(void) {
  char text[128] = "";
  long pages = 0;
  int fd = open("/proc/self/statm", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 ||
      sscanf(text, "%*d %ld", &pages) != 1)
    abort();
  close(fd);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void look(void) {
  resident_sum += resident_kb();
  ++resident_times;
}

static void fill(int i, size_t size) {
  blocks[i] = take(size);
  if (!blocks[i])
    abort();
  memset(blocks[i], i, size < 64 ? size : 64);
}

// Listing 8.8: ever larger ones, freed backwards.
static long grows(int round) {
  open_region();
  for (int i = 0; i < 1000; ++i)
    fill(i, (size_t)(10 * i + 1));
  if (round % 64 == 0)
    look();
  for (int i = 1000; i-- != 0;)
    give(blocks[i]);
  close_region();
  return 1000;
}

// Nodes of a list, freed in order.
static long nodes(int round) {
  open_region();
  for (int i = 0; i < MOST; ++i)
    fill(i, 40);
  if (round % 4 == 0)
    look();
  for (int i = 0; i < MOST; ++i)
    give(blocks[i]);
  close_region();
  return MOST;
}

// Few live at a time, of many sizes, by chance: what is freed is needed again.
static long changes(int round) {
  enum { LIVE = 1000, STEPS = 100000 };
  uint32_t state = (uint32_t)round * 2654435761u + 1;
  open_region();
  memset(blocks, 0, LIVE * sizeof *blocks);
  for (int i = 0; i < STEPS; ++i) {
    state = state * 1103515245u + 12345u;
    int place = (int)((state >> 8) % LIVE);
    if (blocks[place])
      give(blocks[place]);
    fill(place, 8 + (state >> 20) % 1000);
  }
  look();
  for (int i = 0; i < LIVE; ++i)
    if (blocks[i])
      give(blocks[i]);
  close_region();
  return STEPS;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    long (*run)(int);
  } all[] = {{"grows", grows}, {"nodes", nodes}, {"changes", changes}};
  if (argc != 3)
    return 2;
  int rounds = atoi(argv[2]);
  set_up();
  for (size_t i = 0; i != sizeof all / sizeof *all; ++i) {
    if (strcmp(argv[1], all[i].name) != 0)
      continue;
    memset(blocks, 1, sizeof blocks);
    resident_idle = resident_kb();
    double began = now();
    long n = 0;
    for (int round = 0; round < rounds; ++round)
      n += all[i].run(round);
    double took = now() - began;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"ns_per_block\": %.2f, \"mean_kb\": %ld, \"peak_kb\": %ld}\n",
           took / (double)n * 1e9, resident_sum / resident_times - resident_idle,
           usage.ru_maxrss - resident_idle);
    return 0;
  }
  return 2;
}
