/*===- malloc/cpu_cache.c - Freed large blocks, to 1 MiB ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A thread that finds the cache of its CPU locked, because the holder was
 * preempted or the thread itself has just been moved, calls jemalloc instead.
 *===----------------------------------------------------------------------===*/

#include "malloc/cpu_cache.h"
#include "common/plain_lock.h"
#include "malloc/fork_gate.h"
#include "malloc/jemalloc.h"
#include "malloc/pages.h"
#include <jemalloc/jemalloc.h>
#include <sched.h>
#include <string.h>

/* Logarithms of the largest power of 2 below the smallest size, and of the
 * largest size. */
#define LOG2_BELOW_MIN (62u - (unsigned)__builtin_clzll(VF_CPU_CACHE_MIN))
#define LOG2_MAX (63u - (unsigned)__builtin_clzll(VF_CPU_CACHE_MAX))
/* Number of sizes, four between two powers of 2. */
#define SIZES (4 * (LOG2_MAX - LOG2_BELOW_MIN - 1) + 1)
/* Maximum number of kept blocks of one size and CPU. More gain nothing when
 * each thread replaces random blocks out of 1,000, of random sizes up to 200
 * KB. */
#define KEPT 16
/* CPUs share a cache if there are more. */
#define CPUS 64
/* Of the memory of the process, kept blocks are at most a 16th: less than the
 * free memory that is never returned, a tenth (policy.c). */
#define SHARE_SHIFT 4

/* A CPU's cache consists of a head and of blocks[cpu], which the head's lock
 * protects too. All heads are on one page, because the kernel copies the pages
 * that a fork writes to. */
static struct head {
  _Alignas(64) uint32_t lock;
  uint32_t kib;         /* size of all blocks */
  uint8_t n[SIZES];     /* number of blocks of each size */
  uint8_t least[SIZES]; /* smallest n since the last vf_cpu_cache_trim */
  bool is_active;       /* included in `active` */
} heads[CPUS] __attribute__((aligned(4096)));
static void *blocks[CPUS][SIZES][KEPT];
_Static_assert(sizeof(struct head) == 64, "a cache line");

static uint32_t active; /* number of CPUs with blocks since their last trim */

static unsigned log2_below(size_t size) {
  return 63u - (unsigned)__builtin_clzll((uint64_t)size - 1);
}

/* Returns the index of the smallest of the sizes that is not below `size`. */
static unsigned index_of(size_t size) {
  unsigned log2 = log2_below(size);
  return (log2 - LOG2_BELOW_MIN) * 4 +
         ((unsigned)((size - 1) >> (log2 - 2)) & 3) - 3;
}

static uint32_t kib_of(unsigned index) {
  unsigned log2 = LOG2_BELOW_MIN + (index + 3) / 4,
           quarters = (index + 3) % 4 + 1;
  return (4 + quarters) << (log2 - 2) >> 10;
}

/* No thread sleeps until a lock is free, so unlock need not wake any. */
static bool try_lock(struct head *head) { return vf_plain_try(&head->lock); }

static void unlock(struct head *head) {
  __atomic_store_n(&head->lock, VF_FREE, __ATOMIC_RELEASE);
}

static unsigned own_cpu(void) { return (unsigned)sched_getcpu() % CPUS; }

/* Reads n without the lock. */
static bool is_empty(const struct head *head, unsigned index) {
  return __atomic_load_n(&head->n[index], __ATOMIC_RELAXED) == 0;
}

static void set_n(struct head *head, unsigned index, unsigned n) {
  __atomic_store_n(&head->n[index], (uint8_t)n, __ATOMIC_RELAXED);
}

void *vf_cpu_cache_take(size_t size) {
  unsigned cpu = own_cpu(), index = index_of(size);
  struct head *head = &heads[cpu];
  if (is_empty(head, index) || !try_lock(head))
    return NULL;
  void *block = NULL;
  unsigned n = head->n[index];
  if (n != 0) {
    block = blocks[cpu][index][--n];
    set_n(head, index, n);
    if (head->least[index] > n)
      head->least[index] = (uint8_t)n;
    head->kib -= kib_of(index);
  }
  unlock(head);
  return block;
}

/* Returns true if this CPU may keep so many KiB. All CPUs that keep any may
 * keep the same. */
static bool is_little(struct head *head, uint32_t kib) {
  if (!head->is_active) {
    __atomic_store_n(&head->is_active, true, __ATOMIC_RELAXED);
    __atomic_fetch_add(&active, 1, __ATOMIC_RELAXED);
  }
  return (uint64_t)kib * __atomic_load_n(&active, __ATOMIC_RELAXED) <=
         vf_pages_around() >> (10 + SHARE_SHIFT);
}

bool vf_cpu_cache_put(void *block, size_t usable_size) {
  if (usable_size < VF_CPU_CACHE_MIN || usable_size > VF_CPU_CACHE_MAX)
    return false;
  unsigned cpu = own_cpu(), index = index_of(usable_size);
  uint32_t kib = kib_of(index);
  struct head *head = &heads[cpu];
  if ((size_t)kib << 10 != usable_size || !try_lock(head))
    return false;
  unsigned n = head->n[index];
  bool is_kept = n != KEPT && is_little(head, head->kib + kib);
  if (is_kept) {
    blocks[cpu][index][n] = block;
    set_n(head, index, n + 1);
    head->kib += kib;
  }
  unlock(head);
  return is_kept;
}

/* Removes the `n` blocks of this size that were kept first. */
static void remove_oldest(unsigned cpu, unsigned index, unsigned n,
                          void **removed) {
  struct head *head = &heads[cpu];
  void **kept = blocks[cpu][index];
  memcpy(removed, kept, n * sizeof *kept);
  unsigned left = head->n[index] - n;
  memmove(kept, kept + n, left * sizeof *kept);
  set_n(head, index, left);
  head->least[index] = (uint8_t)left;
  head->kib -= n * kib_of(index);
}

/* Frees blocks of one size and CPU: all, or those that were not needed. */
static void free_kept(unsigned cpu, unsigned index, bool all) {
  struct head *head = &heads[cpu];
  void *removed[KEPT];
  if (!try_lock(head))
    return;
  unsigned n = all ? head->n[index] : head->least[index];
  remove_oldest(cpu, index, n, removed);
  unlock(head);
  for (unsigned i = 0; i != n; ++i)
    vf_je_dallocx(removed[i], MALLOCX_TCACHE_NONE);
}

static void free_all_kept(bool all) {
  for (unsigned cpu = 0; cpu != CPUS; ++cpu) {
    struct head *head = &heads[cpu];
    if (!__atomic_load_n(&head->is_active, __ATOMIC_RELAXED))
      continue;
    for (unsigned index = 0; index != SIZES; ++index)
      if (!is_empty(head, index))
        free_kept(cpu, index, all);
    if (!try_lock(head))
      continue;
    if (head->is_active && head->kib == 0) {
      __atomic_store_n(&head->is_active, false, __ATOMIC_RELAXED);
      __atomic_fetch_sub(&active, 1, __ATOMIC_RELAXED);
    }
    unlock(head);
  }
}

void vf_cpu_cache_trim(void) { free_all_kept(false); }
void vf_cpu_cache_empty(void) { free_all_kept(true); }

void vf_cpu_cache_before_fork(void) {
  for (unsigned cpu = 0; cpu != CPUS; ++cpu)
    for (unsigned polls = 0; !try_lock(&heads[cpu]); ++polls)
      vf_fork_wait(polls);
}

void vf_cpu_cache_after_fork(void) {
  for (unsigned cpu = 0; cpu != CPUS; ++cpu)
    unlock(&heads[cpu]);
}
