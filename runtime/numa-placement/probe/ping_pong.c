/*===- numa-placement/probe/ping_pong.c - How far two CPUs are apart ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Used by `vfriendly numa probe`: two threads pass a cache line back and forth.
 * The result is the time of the fastest of several batches, because a
 * hypervisor or another thread makes batches only slower.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "platform/linux/kernel.h"
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

/* EXCHANGES is the number of exchanges in a batch. A batch takes 10 to 100 us:
 * less than a time slice, so that some of the BATCHES are not interrupted, and
 * at least 500 times the clock's resolution of 20 ns. */
enum { BATCHES = 30, EXCHANGES = 200 };
/* Number of spins after which a thread yields, in case both threads run on one
 * CPU after all. */
enum { SPINS = 1 << 20 };

struct line {
  /* Number of writes, two in each exchange. If it is even, the pinger (ask)
   * writes next; if it is odd, its peer (answer) does. */
  uint32_t turn __attribute__((aligned(VF_CACHE_LINE)));
  int cpu __attribute__((aligned(VF_CACHE_LINE)));
  int error;
};

static int bind_self(int cpu) {
  cpu_set_t *mask = CPU_ALLOC(cpu + 1);
  size_t size = CPU_ALLOC_SIZE(cpu + 1);
  if (!mask)
    return ENOMEM;
  CPU_ZERO_S(size, mask);
  CPU_SET_S(cpu, size, mask);
  int error = pthread_setaffinity_np(pthread_self(), size, mask);
  CPU_FREE(mask);
  return error;
}

static void wait_for(uint32_t *word, uint32_t value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
    for (int i = 0;
         i < SPINS && __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; ++i)
      if (i == SPINS - 1)
        vf_yield();
}

static void *answer(void *data) {
  struct line *line = data;
  line->error = bind_self(line->cpu);
  for (uint32_t turn = 1; turn <= 2 * (BATCHES * EXCHANGES + 1); turn += 2) {
    wait_for(&line->turn, turn);
    __atomic_store_n(&line->turn, turn + 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

struct pinger {
  struct line *line;
  int cpu, error;
  double best;
};

static void *ask(void *data) {
  struct pinger *pinger = data;
  uint32_t *turn = &pinger->line->turn, next = 0;
  pinger->error = bind_self(pinger->cpu);
  /* Batch -1 is one exchange that is not timed: after it both threads run on
   * their CPUs. */
  for (int batch = -1; batch < BATCHES; ++batch) {
    uint64_t begin = vf_now_ns();
    for (int round = 0; round < (batch < 0 ? 1 : EXCHANGES); ++round) {
      __atomic_store_n(turn, next + 1, __ATOMIC_RELEASE);
      next += 2;
      wait_for(turn, next);
    }
    double took = (double)(vf_now_ns() - begin) / (2.0 * EXCHANGES);
    if (batch >= 0 && (batch == 0 || took < pinger->best))
      pinger->best = took;
  }
  return NULL;
}

/* Sets *ns to the time that a cache line takes from one CPU to the other.
 * Returns 0 or an errno value, EINVAL for CPUs that the process may not use. */
VF_API int vf_probe_pair(int first, int second, double *ns) {
  pthread_t threads[2];
  struct line *line = aligned_alloc(VF_CACHE_LINE, sizeof *line);
  if (!line)
    return ENOMEM;
  *line = (struct line){.cpu = second};
  struct pinger pinger = {.line = line, .cpu = first};
  int error = pthread_create(&threads[0], NULL, answer, line);
  if (!error) {
    error = pthread_create(&threads[1], NULL, ask, &pinger);
    if (error) /* The second thread was not created, and the first one waits. */
      ask(&pinger);
    else
      pthread_join(threads[1], NULL);
    pthread_join(threads[0], NULL);
  }
  *ns = pinger.best;
  if (!error)
    error = line->error ? line->error : pinger.error;
  free(line);
  return error;
}
