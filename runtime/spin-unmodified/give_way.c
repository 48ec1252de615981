/*===- spin-unmodified/give_way.c - Letting other threads run -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/give_way.h"
#include "platform/linux/kernel.h"
#include "spin-unmodified/counters.h"
#include "spin-unmodified/signals.h"
#include "spin-wait/crowd.h"
#include "spin-wait/limit.h"
#include <sys/prctl.h>
#include <sys/resource.h>

/* Maximum time until the wait is proved again. A wait that counts or takes the
 * time gives up at some time, which it must notice. */
#define POLLS_MAX_NS 50000000u
#define GIVES_UP_MAX_NS 4000000u
/* A nap is a twentieth of the time waited, so that the wait gets longer by at
 * most 5 %, or at least this, which with the time of a wake-up is below 0.2 ms;
 * and at most 1 ms, as a signal waits for so long. */
#define NAP_SHARE 20
#define NAP_MIN_NS 100000u
#define NAP_MAX_NS 1000000u
/* Yields in a row that let nobody run, after which a thread is alone. */
#define ALONE 2
/* A thread that is alone sleeps after it has waited for so long: its spin keeps
 * the CPU from nobody, but takes the time of a limit, or of other guests. */
#define ALONE_NS 300000u

static bool has_changed(const struct vf_wait *wait,
                        const struct vf_memory *memory) {
  for (unsigned i = 0; i != wait->reads.n; ++i)
    if (vf_read_changed(memory, &wait->reads.of[i]))
      return true;
  return false;
}

/* The timer slack of the thread, 50 us by default, would prolong each nap. */
struct naps {
  int slack; /* the program's; 0 before the first nap */
};

static void nap(struct naps *naps, uint64_t waited) {
  uint64_t ns = waited / NAP_SHARE;
  if (ns < NAP_MIN_NS)
    ns = NAP_MIN_NS;
  if (ns > NAP_MAX_NS)
    ns = NAP_MAX_NS;
  if (naps->slack == 0) {
    naps->slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  }
  vf_sleep_ns(ns);
  vf_spin_count(VF_SPIN_NAPS, 1);
}

static void end_naps(const struct naps *naps) {
  if (naps->slack > 0)
    prctl(PR_SET_TIMERSLACK, naps->slack, 0, 0, 0);
}

/* How often another thread got this thread's CPU. */
static long switches(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0
             ? usage.ru_nvcsw + usage.ru_nivcsw
             : 0;
}

/* Yields. Returns true if that took as long as if another thread ran. */
static bool yield(uint64_t *now) {
  uint64_t begin = *now;
  vf_yield();
  *now = vf_now_ns();
  uint64_t took = *now - begin;
  vf_spin_count(VF_SPIN_GIVEN, 1);
  if (took <= VF_SLOW_YIELD_NS) {
    vf_crowd_not_seen();
    return false;
  }
  vf_crowd_seen();
  if (took > VF_HOG_NS)
    vf_hog_seen(*now, took);
  return true;
}

bool vf_give_way(enum vf_verdict verdict, const struct vf_wait *wait,
                 const struct vf_memory *memory, const ucontext_t *context) {
  int saved = errno;
  uint64_t began = vf_now_ns(), now = began;
  uint64_t most = verdict == VF_POLLS ? POLLS_MAX_NS : GIVES_UP_MAX_NS;
  struct naps naps = {0};
  bool may_nap = wait->reads.n != 0;
  long switched = switches();
  unsigned alone = 0;
  vf_limit_look(now);
  while (!vf_signals_pending(context)) {
    bool sleeps = may_nap && (vf_hogged(now) || vf_limit_counts(began) ||
                              (alone >= ALONE && now - began >= ALONE_NS));
    if (sleeps) {
      nap(&naps, now - began);
      now = vf_now_ns();
      alone = 0;
    } else if (yield(&now))
      alone = 0;
    else
      ++alone;
    if (has_changed(wait, memory)) {
      vf_spin_count(VF_SPIN_CHANGED, 1);
      break;
    }
    if (verdict == VF_DELAYS || now - began > most)
      break;
    /* Alone, the thread spins for itself, which is the quickest. */
    if (alone >= ALONE && (verdict != VF_POLLS || now - began < ALONE_NS))
      break;
  }
  end_naps(&naps);
  vf_spin_count(VF_SPIN_GAVE_US, (uint32_t)((now - began) / 1000));
  /* The time of a yield does not tell: where each thread has a CPU, those of
   * a virtual machine are slow, too, and a signal each 0.1 ms costs a third. */
  bool helped = switches() != switched;
  errno = saved;
  return helped;
}
