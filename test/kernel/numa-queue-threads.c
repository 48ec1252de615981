// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queues of released pages between CPUs: whoever takes a block asks its queue without the
// lock, as the series does, while others fill and send it. No block loses what its owner wrote.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/added_file.py %vf_src/runtime/kernel/numa-queue/6.12 arch/x86/include/asm/kvm_numa.h > %t/kvm_numa.h
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -pthread -I %S/../Inputs -I %vf_include -I %t %s -o %t/queue
// RUN: %t/queue
//
// It finds a queue that is emptied before it was sent, and one that is sent without its lock.
// RUN: clang -std=gnu11 -O2 -pthread -DEARLY -I %S/../Inputs -I %vf_include -I %t %s -o %t/early
// RUN: not --crash %t/early 2>&1 | FileCheck %s
// RUN: clang -std=gnu11 -O2 -pthread -DUNLOCKED -I %S/../Inputs -I %vf_include -I %t %s -o %t/unlocked
// RUN: not --crash %t/unlocked 2>&1 | FileCheck %s
// CHECK: not so: {{.*}}content

#include <stdbool.h>
#include <stdint.h>
typedef uint64_t u64;
#define BITS_PER_LONG 64
#include "kvm_numa.h"

#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* Two regions for each queue. A region has blocks of one order, 0 to 3. */
enum { REGIONS = 8, PAGES = 512 * REGIONS, THREADS = 4, ROUNDS = 300000, HELD = 200 };

static _Atomic unsigned content[PAGES];

static struct {
  pthread_mutex_t lock;
  struct kvm_numa_queue q;
  u64 entries[KVM_NUMA_BATCH];
} queues[KVM_NUMA_QUEUES];

/* The guest's allocator: a stack of free blocks under a lock. */
static pthread_mutex_t zone = PTHREAD_MUTEX_INITIALIZER;
static u64 free_blocks[PAGES];
static unsigned free_count;
static atomic_ulong unmapped;

static unsigned order_of(u64 pfn) { return pfn / 512 % 4; }

static void unmap(void *unused, u64 pfn, unsigned order) {
  (void)unused;
  for (u64 p = pfn; p != pfn + (1u << order); ++p)
    atomic_store(&content[p], 0);
  atomic_fetch_add(&unmapped, 1u << order);
}

/* It keeps the content. */
static void move(void *unused, u64 pfn, unsigned order, unsigned cpu) {
  (void)unused;
  CHECK(pfn + (1u << order) <= PAGES && cpu == 0);
}

static const struct kvm_numa_host host = {unmap, move, NULL};

static void note(u64 pfn, unsigned order, bool release) {
  unsigned i = kvm_numa_queue_of(pfn);
  struct kvm_numa_queue *q = &queues[i].q;
  if (!release && !kvm_numa_may_hold(q, pfn, order))
    return;
  pthread_mutex_lock(&queues[i].lock);
  if (kvm_numa_add(q, pfn, order, release, 0)) {
    u64 batch[KVM_NUMA_BATCH];
    unsigned n = q->n;
    memcpy(batch, q->entry, sizeof batch);
#if defined EARLY || defined UNLOCKED
    kvm_numa_forget(q);
#endif
#ifdef UNLOCKED
    pthread_mutex_unlock(&queues[i].lock);
#endif
    sched_yield(); /* as long as an exit */
    kvm_numa_replay(batch, n, &host);
#ifdef UNLOCKED
    return;
#endif
    kvm_numa_forget(q);
  }
  pthread_mutex_unlock(&queues[i].lock);
}

struct held {
  u64 pfn;
  unsigned tag;
};

static void give(struct held *h) {
  unsigned order = order_of(h->pfn);
  for (u64 p = h->pfn; p != h->pfn + (1u << order); ++p)
    CHECK(atomic_load(&content[p]) == h->tag);
  note(h->pfn, order, true);
  pthread_mutex_lock(&zone);
  free_blocks[free_count++] = h->pfn;
  pthread_mutex_unlock(&zone);
  h->tag = 0;
}

static void take(struct held *h, unsigned tag, unsigned which) {
  pthread_mutex_lock(&zone);
  bool some = free_count != 0;
  if (some) {
    which %= free_count;
    h->pfn = free_blocks[which];
    free_blocks[which] = free_blocks[--free_count];
  }
  pthread_mutex_unlock(&zone);
  if (!some)
    return;
  note(h->pfn, order_of(h->pfn), false);
  h->tag = tag;
  for (u64 p = h->pfn; p != h->pfn + (1u << order_of(h->pfn)); ++p)
    atomic_store(&content[p], tag);
}

static void *churn(void *argument) {
  unsigned state = (unsigned)(uintptr_t)argument * 2654435761u + 1;
  struct held held[HELD] = {{0, 0}};
  for (unsigned round = 1; round != ROUNDS; ++round) {
    state = state * 1664525u + 1013904223u;
    struct held *h = &held[(state >> 8) % HELD];
    if (h->tag)
      give(h);
    else
      take(h, round, state >> 4);
  }
  for (int i = 0; i != HELD; ++i)
    if (held[i].tag)
      give(&held[i]);
  return NULL;
}

int main(void) {
  for (int i = 0; i != KVM_NUMA_QUEUES; ++i) {
    pthread_mutex_init(&queues[i].lock, NULL);
    queues[i].q.entry = queues[i].entries;
    queues[i].q.is_on = true;
  }
  for (u64 p = 0; p < PAGES; p += 1u << order_of(p))
    free_blocks[free_count++] = p;
  unsigned all = free_count;
  pthread_t ids[THREADS];
  for (uintptr_t i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&ids[i], NULL, churn, (void *)(i + 1)) == 0);
  for (int i = 0; i != THREADS; ++i)
    pthread_join(ids[i], NULL);
  CHECK(free_count == all && unmapped > 0);
  printf("%lu pages were released\n", (unsigned long)unmapped);
  return 0;
}
