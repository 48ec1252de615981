/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How often holders of a mutex lose their CPU, and how often others wait for
 * such a one:
 *
 *   slices THREADS SECTION_STEPS THINK_STEPS MILLISECONDS
 *
 * A thread tells without a system call whether it was switched out: it points
 * rseq_cs to a sequence that it is not in, and the kernel clears that at a
 * switch. Each thread registers a struct rseq of its own, of the size that the
 * kernel wants for slices, which glibc before 2.41 does not; run it with
 * GLIBC_TUNABLES=glibc.pthread.rseq=0. */

#define _GNU_SOURCE
#include "common/slice.h"
#include "vfriendly/mutex.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, RSEQ_SIGNATURE = 0x53053053, ORIGINAL_SIZE = 32 };
#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif

struct area {
  uint32_t cpu_id_start, cpu_id;
  uint64_t rseq_cs;
  uint32_t flags, node_id, mm_cid;
  uint8_t request, granted;
  uint16_t reserved;
  char more[96];
};
static __thread volatile struct area area
    __attribute__((tls_model("initial-exec"), aligned(128)));
/* A sequence that nobody executes, and what follows the signature if it were
 * interrupted. */
__asm__(".pushsection .text\n"
        "elsewhere_begin: .long 0\n"
        ".long 0x53053053\n"
        "elsewhere_abort: .long 0\n"
        ".popsection");
extern const char elsewhere_begin[], elsewhere_abort[];
static struct {
  uint32_t version, flags;
  uint64_t start, length, abort;
} elsewhere __attribute__((aligned(32)));

static vf_mutex mutex = VF_MUTEX_INIT;
static uint64_t lost; /* how many holders were; under the mutex */
static bool stop;
static unsigned long section, think;

struct __attribute__((aligned(128))) counts {
  uint64_t holds, lost, waited, granted;
};
static struct counts counts[MAX_THREADS];

static void enter(void) {
  size_t size = getauxval(AT_RSEQ_FEATURE_SIZE);
  if (size < ORIGINAL_SIZE) /* an older kernel */
    size = ORIGINAL_SIZE;
  if (size > sizeof area || syscall(SYS_rseq, &area, size, 0, RSEQ_SIGNATURE)) {
    perror("rseq");
    exit(1);
  }
}

static void work(unsigned long steps) {
  for (unsigned long i = 0; i < steps; ++i)
    __asm__ volatile("" : "+r"(i));
}

static void *use(void *arg) {
  struct counts *of = arg;
  if (of != counts) /* the first thread has */
    enter();
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    uint64_t before = __atomic_load_n(&lost, __ATOMIC_RELAXED);
    vf_mutex_lock(&mutex);
    of->waited += lost != before;
    area.rseq_cs = (uintptr_t)&elsewhere;
    work(section);
    bool was_switched = area.rseq_cs == 0;
    area.rseq_cs = 0;
    ++of->holds;
    of->granted += area.granted;
    of->lost += was_switched;
    if (was_switched)
      __atomic_store_n(&lost, lost + 1, __ATOMIC_RELAXED);
    vf_mutex_unlock(&mutex);
    work(think);
  }
  return NULL;
}

static void *end(void *arg) {
  struct timespec time = {*(long *)arg / 1000, *(long *)arg % 1000 * 1000000};
  nanosleep(&time, NULL);
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  long threads = atol(argv[1]), milliseconds = atol(argv[4]);
  section = strtoul(argv[2], NULL, 10);
  think = strtoul(argv[3], NULL, 10);
  if (threads < 2 || threads > MAX_THREADS)
    return 2;
  elsewhere.start = (uintptr_t)elsewhere_begin;
  elsewhere.length = 4;
  elsewhere.abort = (uintptr_t)elsewhere_abort;
  enter();
  vf_slice_find((char *)&area - (char *)__builtin_thread_pointer());
  pthread_t ids[MAX_THREADS], clock;
  pthread_create(&clock, NULL, end, &milliseconds);
  for (long i = 1; i < threads; ++i)
    pthread_create(&ids[i], NULL, use, &counts[i]);
  use(counts);
  struct counts all = counts[0];
  for (long i = 1; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    all.holds += counts[i].holds;
    all.lost += counts[i].lost;
    all.waited += counts[i].waited;
    all.granted += counts[i].granted;
  }
  pthread_join(clock, NULL);
  printf("available=%d holds=%llu lost=%llu waited=%llu granted=%llu\n",
         vf_slice_at != 0, (unsigned long long)all.holds,
         (unsigned long long)all.lost, (unsigned long long)all.waited,
         (unsigned long long)all.granted);
  return 0;
}
