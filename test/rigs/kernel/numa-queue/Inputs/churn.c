// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// churn own|shared SECONDS MEGABYTES: a server on two vCPUs, each on a node of
// its host, that maps and unmaps blocks of 4 to 64 KiB, in memory that vCPU 0
// has used before. Each thread frees its own blocks, or (shared) what either
// has mapped. Prints one line of JSON: how many pages are on the node of the
// thread that uses them at the end, and how many had lost their content.

#define _GNU_SOURCE
#include "mark.h"
#include "node_of.h"
#include "stay_on.h"

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_PAGES = 16, USERS = 2, MOST_SLOTS = 1 << 16 };

// A block in use, or none. taken by the thread that looks at it.
struct slot {
  atomic_flag taken;
  uint8_t user, pages;
  uint64_t *memory;
};

static struct slot slots[MOST_SLOTS];
static size_t count;
static int shared;
static double seconds;
static atomic_ulong blocks, released, lost;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t any(uint64_t *state, uint64_t n) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (*state * UINT64_C(2685821657736338717) >> 32) % n;
}

// What a page of a block begins with.
static uint64_t stamp(const struct slot *s, int page) {
  return (uintptr_t)s->memory + (uint64_t)page * PAGE + s->user + 1;
}

static uint64_t *page_of(const struct slot *s, int page) {
  return s->memory + (size_t)page * PAGE / sizeof *s->memory;
}

static void use(struct slot *s, int user, int pages) {
  s->memory = mmap(0, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (s->memory == MAP_FAILED)
    err(1, "a block");
  s->user = (uint8_t)user;
  s->pages = (uint8_t)pages;
  for (int i = 0; i < pages; ++i)
    *page_of(s, i) = stamp(s, i);
}

static void check(const struct slot *s) {
  for (int i = 0; i < s->pages; ++i)
    if (*page_of(s, i) != stamp(s, i))
      atomic_fetch_add(&lost, 1);
}

static void *serve(void *argument) {
  int user = (int)(intptr_t)argument;
  uint64_t state = 88172645463325252u + (uint64_t)user;
  stay_on(user);
  for (double end = now() + seconds; now() < end;) {
    size_t at = any(&state, count);
    if (!shared)
      at = at / USERS * USERS + (size_t)user;
    struct slot *s = &slots[at];
    if (atomic_flag_test_and_set(&s->taken))
      continue;
    if (s->memory) {
      check(s);
      munmap(s->memory, (size_t)s->pages * PAGE);
      atomic_fetch_add(&released, s->pages);
      s->memory = 0;
    } else {
      use(s, user, 1 + (int)any(&state, MOST_PAGES));
      atomic_fetch_add(&blocks, 1);
    }
    atomic_flag_clear(&s->taken);
  }
  return 0;
}

// The number of the guest's page frame; see admin-guide/mm/pagemap.rst.
static uint64_t frame(int map, const void *page) {
  uint64_t entry;
  if (pread(map, &entry, sizeof entry,
            (off_t)((uintptr_t)page / PAGE * sizeof entry)) != sizeof entry)
    err(1, "/proc/self/pagemap");
  entry &= (UINT64_C(1) << 55) - 1;
  if (!entry)
    errx(1, "no page frame");
  return entry;
}

int main(int argc, char **argv) {
  if (argc != 4)
    errx(2, "usage: churn own|shared SECONDS MEGABYTES");
  shared = strcmp(argv[1], "shared") == 0;
  seconds = atof(argv[2]);
  size_t megabytes = strtoul(argv[3], 0, 10);
  // Half of the slots have a block, of 34 KiB on average.
  count = (megabytes << 10) / 34 * 2;
  if (count < USERS || count > MOST_SLOTS - 1 || ioperm(NODE_OF, 4, 1))
    errx(2, "megabytes, and the permission to ask");
  count -= count % USERS;

  // vCPU 0 has used twice the memory: it is on node 0 by first touch.
  stay_on(0);
  char *before = mmap(0, megabytes << 21, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (before == MAP_FAILED)
    err(1, "memory");
  for (size_t at = 0; at < megabytes << 21; at += PAGE)
    before[at] = 1;
  munmap(before, megabytes << 21);

  mark(1);
  pthread_t threads[USERS];
  for (intptr_t i = 0; i < USERS; ++i)
    if (pthread_create(&threads[i], 0, serve, (void *)i))
      errx(1, "a thread");
  for (int i = 0; i < USERS; ++i)
    pthread_join(threads[i], 0);
  mark(2);

  unsigned long pages[USERS] = {0}, right[USERS] = {0}, absent = 0;
  int map = open("/proc/self/pagemap", O_RDONLY);
  for (struct slot *s = slots; s != slots + count; ++s) {
    if (!s->memory)
      continue;
    check(s);
    for (int i = 0; i < s->pages; ++i) {
      uint32_t node = node_of(frame(map, page_of(s, i)));
      ++pages[s->user];
      right[s->user] += node == s->user;
      absent += node == NODE_ABSENT;
    }
  }
  printf("{\"server\": \"%s\", \"blocks\": %lu, \"released\": %lu, "
         "\"pages\": [%lu, %lu], \"right\": [%lu, %lu], \"absent\": %lu, "
         "\"lost\": %lu}\n",
         argv[1], blocks, released, pages[0], pages[1], right[0], right[1],
         absent, lost);
  return lost != 0;
}
