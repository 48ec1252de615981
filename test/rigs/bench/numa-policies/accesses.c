/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Counts each access of a program to memory, by page and thread, and prints
 * how many were made by each node to each node.
 *
 * Linked to a program that is compiled with
 *   -fsanitize-coverage=func,trace-loads,trace-stores
 * and whose threads are bound. Each thread has a simple cache of 256 KiB,
 * and only accesses that miss it are counted; it ignores what other threads
 * write. SIGUSR1 sets all counts to 0; at SIGTERM, or if the program ends
 * before, one line of JSON is printed to the file in the variable ACCESSES:
 *   {"accesses": [[by node 0 to node 0, to node 1], [by node 1 ...]],
 *    "pages": [of node 0, of node 1]}
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A table has 4 times as many entries as a program of 64 MB needs. */
enum {
  NODES = 2,
  PAGE_BITS = 12,
  LINE_BITS = 6,
  LINES = 4096,
  ENTRY_BITS = 16,
  ENTRIES = 1 << ENTRY_BITS,
  THREADS = 512
};

struct entry {
  uintptr_t page;
  unsigned long count;
};

/* Of one thread. Only that thread changes it; the report reads it meanwhile. */
struct table {
  unsigned era, node;
  uintptr_t line[LINES]; /* direct-mapped */
  struct entry entry[ENTRIES];
};

static struct table *tables[THREADS];
static int threads;
static unsigned era;
static __thread struct table *mine;

/* Begins to count anew, where the thread runs now. */
static void begin(unsigned now) {
  if (!mine) {
    int number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    struct table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (number >= THREADS || table == MAP_FAILED)
      abort();
    mine = table;
    __atomic_store_n(&tables[number], table, __ATOMIC_RELEASE);
  }
  memset(mine->entry, 0, sizeof mine->entry);
  getcpu(NULL, &mine->node);
  mine->era = now;
}

static inline uint32_t slot_of(uintptr_t page) {
  return (uint32_t)page * 2654435769u >> (32 - ENTRY_BITS);
}

static inline void count(const void *address) {
  unsigned now = __atomic_load_n(&era, __ATOMIC_RELAXED);
  if (!mine || mine->era != now)
    begin(now);
  uintptr_t line = (uintptr_t)address >> LINE_BITS,
            page = (uintptr_t)address >> PAGE_BITS;
  if (mine->line[line % LINES] == line)
    return;
  mine->line[line % LINES] = line;
  uint32_t at = slot_of(page);
  for (int tries = 0; tries < ENTRIES; ++tries, at = (at + 1) % ENTRIES) {
    struct entry *entry = &mine->entry[at];
    if (!entry->page)
      entry->page = page;
    if (entry->page == page) {
      ++entry->count;
      return;
    }
  }
  abort();
}

#define COUNTED(what, bytes)                                                   \
  void __sanitizer_cov_##what##bytes(const void *address);                     \
  void __sanitizer_cov_##what##bytes(const void *address) { count(address); }
COUNTED(load, 1)
COUNTED(load, 2)
COUNTED(load, 4)
COUNTED(load, 8)
COUNTED(load, 16)
COUNTED(store, 1)
COUNTED(store, 2)
COUNTED(store, 4)
COUNTED(store, 8)
COUNTED(store, 16)

/* The accesses to a page by the threads of each node. */
static struct {
  uintptr_t page;
  unsigned long count[NODES];
} merged[ENTRIES];

static unsigned long accesses[NODES][NODES], pages[NODES];

static void merge(const struct table *table) {
  for (int from = 0; from < ENTRIES; ++from) {
    const struct entry *entry = &table->entry[from];
    if (!entry->count)
      continue;
    uint32_t at = slot_of(entry->page);
    while (merged[at].page && merged[at].page != entry->page)
      at = (at + 1) % ENTRIES;
    merged[at].page = entry->page;
    merged[at].count[table->node % NODES] += entry->count;
  }
}

static void report(void) {
  for (int i = 0; i < threads && i < THREADS; ++i) {
    const struct table *table = __atomic_load_n(&tables[i], __ATOMIC_ACQUIRE);
    if (table && table->era == era)
      merge(table);
  }
  for (int at = 0; at < ENTRIES; ++at) {
    void *address = (void *)(merged[at].page << PAGE_BITS);
    int node = -1;
    if (!merged[at].page ||
        syscall(SYS_move_pages, 0, 1ul, &address, NULL, &node, 0) != 0 ||
        node < 0 || node >= NODES)
      continue;
    ++pages[node];
    for (int by = 0; by < NODES; ++by)
      accesses[by][node] += merged[at].count[by];
  }
  const char *path = getenv("ACCESSES");
  int file =
      path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : STDERR_FILENO;
  dprintf(file,
          "{\"accesses\": [[%lu, %lu], [%lu, %lu]], \"pages\": [%lu, %lu]}\n",
          accesses[0][0], accesses[0][1], accesses[1][0], accesses[1][1],
          pages[0], pages[1]);
}

static void on_usr1(int number) {
  (void)number;
  __atomic_fetch_add(&era, 1, __ATOMIC_RELAXED);
}

static void on_term(int number) {
  (void)number;
  report();
  _exit(0);
}

__attribute__((constructor)) static void prepare(void) {
  signal(SIGUSR1, on_usr1);
  signal(SIGTERM, on_term);
}

__attribute__((destructor)) static void finish(void) { report(); }
