/*===- blocking-sync/parking_table.c - Queues of threads, by address ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "blocking-sync/parking_table.h"
#include "common/hash.h"
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* Number of buckets for each CPU. At any moment at most one thread per CPU
 * accesses the table, so at most one operation in 16 finds its bucket locked
 * for another object. */
#define VF_BUCKETS_PER_CPU 16
/* log2 of the minimum and maximum numbers of buckets. With the minimum and a
 * thousand parked threads, each on an object of its own, four share a bucket,
 * and each operation searches all four. The maximum is enough for 256 CPUs.
 * Only the pages of buckets in use occupy memory: 16 KiB with the minimum. */
#define VF_BUCKETS_MIN_LOG2 8u
#define VF_BUCKETS_MAX_LOG2 12u
/* The page size that the layout assumes. On kernels with larger pages the table
 * shares pages with other data, so the kernel cannot wipe the table without
 * wiping this data. */
#define VF_PARKING_PAGE 4096

/* The parking table. All copies of libvfrt in a process, and libvfpthread,
 * share one table, because a lock may be taken through one copy and released
 * through another. A copy with hidden symbols has a table of its own and must
 * not share locks with other copies, as a waiter in one table is not found in
 * the other.
 *
 * The kernel clears the table in forked children, in whole pages. */
struct vf_parking {
  uint32_t generation;   /* 0: not asked for yet in this process */
  uint32_t buckets_log2; /* 0: not decided yet in this process */
  struct vf_bucket buckets[1u << VF_BUCKETS_MAX_LOG2];
} __attribute__((aligned(VF_PARKING_PAGE)));

/* The suffix of vf_parking_2 is the version of the layout. Copies of libvfrt
 * with different layouts use different tables and must not share locks. */
#define VF_PARKING_SIZE 266240
VF_PROCESS_WIDE_AT(vf_parking_2, VF_PARKING_SIZE, VF_PARKING_PAGE);
_Static_assert(sizeof(struct vf_parking) == VF_PARKING_SIZE,
               "VF_PARKING_SIZE is what the assembler reserves");
extern VF_API struct vf_parking vf_parking_2;
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_parking_2);
#define vf_parking_2 (*(struct vf_parking *)vf_parking_2_found.at)
#endif

/* Number of generations (vf_generation) that this process and the processes
 * from which it was forked have used. The counter is not wiped in forked
 * children. */
VF_PROCESS_WIDE(vf_generations_1, 4);
extern VF_API uint32_t vf_generations_1;
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_generations_1);
#define vf_generations_1 (*(uint32_t *)vf_generations_1_found.at)
#endif

uint32_t vf_generation(void) {
  uint32_t now = __atomic_load_n(&vf_parking_2.generation, __ATOMIC_RELAXED);
  if (__builtin_expect(now != 0, 1))
    return now;
  /* Increments the counter before vf_parking_2.generation is set. A child that
   * is forked between the two steps continues from the incremented counter, so
   * its generation differs from that of this process. */
  uint32_t next = __atomic_add_fetch(&vf_generations_1, 1, __ATOMIC_RELAXED);
  return __atomic_compare_exchange_n(&vf_parking_2.generation, &now, next,
                                     false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
             ? next
             : now;
}

/* Runs in a forked child, which has no other thread. */
static void wipe(void) {
  memset(&vf_parking_2, 0,
         offsetof(struct vf_parking, buckets) +
             (sizeof(struct vf_bucket) << vf_parking_2.buckets_log2));
}

bool vf_parking_prepare(void) {
  static uint32_t has_handler;
  if (sysconf(_SC_PAGESIZE) == VF_PARKING_PAGE &&
      madvise(&vf_parking_2, sizeof vf_parking_2, MADV_WIPEONFORK) == 0)
    return true;
  if (__atomic_exchange_n(&has_handler, 1, __ATOMIC_RELAXED) == 0)
    pthread_atfork(NULL, NULL, wipe);
  return false;
}

/* Returns log2 of the number of buckets. The first thread that calls this
 * function decides the size for all threads. If that thread may use few CPUs
 * only, the table is too small for the other threads, which only costs time. */
__attribute__((noinline)) static uint32_t decide_size(void) {
  uint32_t before = 0, log2 = VF_BUCKETS_MIN_LOG2, cpus = vf_cpus();
  while (log2 < VF_BUCKETS_MAX_LOG2 && 1u << log2 < cpus * VF_BUCKETS_PER_CPU)
    ++log2;
  return __atomic_compare_exchange_n(&vf_parking_2.buckets_log2, &before, log2,
                                     false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
             ? log2
             : before;
}

/* Before the size is decided no thread waits. */
struct vf_bucket *vf_bucket_lock_nth(uint32_t number) {
  uint32_t log2 = __atomic_load_n(&vf_parking_2.buckets_log2, __ATOMIC_RELAXED);
  if (log2 == 0 || number >> log2 != 0)
    return NULL;
  struct vf_bucket *bucket = &vf_parking_2.buckets[number];
  vf_plain_lock(&bucket->lock);
  return bucket;
}

struct vf_bucket *vf_bucket_of(const void *key) {
  uint32_t log2 = __atomic_load_n(&vf_parking_2.buckets_log2, __ATOMIC_RELAXED);
  if (__builtin_expect(log2 == 0, 0))
    log2 = decide_size();
  return &vf_parking_2.buckets[vf_hash(key, log2)];
}

/* Atomic store, because vf_bucket_is_empty reads `first` without the lock. */
static void set(struct vf_parked **link, struct vf_parked *waiter) {
  __atomic_store_n(link, waiter, __ATOMIC_RELAXED);
}

static void insert(struct vf_bucket *bucket, struct vf_parked *waiter,
                   struct vf_parked *before, struct vf_parked *next) {
  waiter->before = before;
  waiter->next = next;
  if (before)
    before->next = waiter;
  else
    set(&bucket->first, waiter);
  *(next ? &next->before : &bucket->last) = waiter;
}

void vf_bucket_append(struct vf_bucket *bucket, struct vf_parked *waiter) {
  insert(bucket, waiter, bucket->last, NULL);
}

void vf_bucket_prepend(struct vf_bucket *bucket, struct vf_parked *waiter) {
  insert(bucket, waiter, NULL, bucket->first);
}

void vf_bucket_take_out(struct vf_bucket *bucket, struct vf_parked *waiter) {
  if (waiter->before)
    waiter->before->next = waiter->next;
  else
    set(&bucket->first, waiter->next);
  *(waiter->next ? &waiter->next->before : &bucket->last) = waiter->before;
}

uint32_t *vf_parked_wake(struct vf_parked *waiter, uint32_t state) {
  uint32_t *word = &waiter->state;
  /* Stores the time of the wake-up only for a waiter that already sleeps. A
   * waiter that is just falling asleep gets no time: reading its state again
   * would cost more than the measurement is worth. */
  if (__atomic_load_n(word, __ATOMIC_RELAXED) == VF_PARKED_ASLEEP)
    waiter->woken_at = vf_now_ns();
  return __atomic_exchange_n(word, state, __ATOMIC_RELEASE) == VF_PARKED_ASLEEP
             ? word
             : NULL;
}
