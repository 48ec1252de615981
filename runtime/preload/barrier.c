/*===- preload/barrier.c - libc's barriers, with a spin before the sleep --===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Each arrival has a number, called its place. The end of a phase releases all
 * threads whose place is at most `phase`, which only grows. A thread that
 * leaves increments `out`, which is its last access to the barrier: libc's
 * pthread_barrier_destroy waits until all have done so.
 *
 * At a limit the numbers start again from 0. A thread that arrives beyond the
 * limit waits until all earlier threads have left. The last of those sets all
 * fields to zero, `in` last, and the waiting thread then arrives again.
 * pthread_barrier_destroy also triggers this, before the limit is reached.
 *
 * libc's waiters sleep in each phase. Here a waiter spins first, and yields if
 * there are more threads than CPUs. The end of a phase always calls the kernel,
 * because the fields do not tell whether a thread sleeps; if none does, this
 * costs a system call without a context switch. Barriers that processes share
 * are left to libc.
 *===----------------------------------------------------------------------===*/

#include "blocking-sync/waiting.h"
#include "common/sites.h"
#include "preload/libc.h"
#include "preload/next.h"
#include "preload/statistics.h"

static uint32_t last_place(const struct vf_libc_barrier *barrier) {
  return VF_LIBC_BARRIER_LIMIT - VF_LIBC_BARRIER_LIMIT % barrier->threads;
}

static uint32_t arrive(struct vf_libc_barrier *barrier) {
  for (;;) {
    uint32_t place = __atomic_add_fetch(&barrier->in, 1, __ATOMIC_ACQ_REL);
    uint32_t last = last_place(barrier);
    if (place <= last)
      return place;
    for (; place > last; place = vf_get(&barrier->in))
      vf_futex_wait_until(&barrier->in, place, NULL, VF_PRIVATE);
  }
}

/* Acquire order: a thread that sees the new phase also sees what others wrote
 * before they arrived. */
static uint32_t phase_of(const struct vf_libc_barrier *barrier) {
  return __atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE);
}

/* Ends all phases that are complete with the arrival at `place`, unless other
 * threads have done so. Returns the current phase. */
static uint32_t end_phases(struct vf_libc_barrier *barrier, uint32_t place) {
  uint32_t threads = barrier->threads, ended = place - place % threads;
  uint32_t phase = phase_of(barrier);
  while (phase < ended)
    if (__atomic_compare_exchange_n(&barrier->phase, &phase, ended, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      vf_futex_wake(&barrier->phase, INT_MAX, VF_PRIVATE);
      return ended;
    }
  return phase;
}

/* Not inline: its variables on the stack would cost each arrival the check of a
 * canary. */
static __attribute__((noinline)) void
wait_for_phase(struct vf_libc_barrier *barrier, uint32_t place, uint32_t phase,
               uintptr_t site) {
  vf_count_preload(VF_PRELOAD_BARRIER_WAITS);
  struct vf_visit visit = vf_visit_begin(site);
  uint64_t state = 0;
  while (phase < place && vf_keep_spinning(&state, NULL))
    phase = phase_of(barrier);
  while (phase < place) {
    vf_count_preload(VF_PRELOAD_BARRIER_SLEEPS);
    vf_visit_slept(&visit);
    vf_futex_wait_until(&barrier->phase, phase, NULL, VF_PRIVATE);
    phase = phase_of(barrier);
  }
  vf_visit_end(&visit);
}

static void leave(struct vf_libc_barrier *barrier) {
  uint32_t last = last_place(barrier);
  if (__atomic_add_fetch(&barrier->out, 1, __ATOMIC_ACQ_REL) != last)
    return;
  vf_set(&barrier->phase, 0);
  vf_set(&barrier->out, 0);
  /* From here on the barrier may be destroyed: only its address is used. */
  __atomic_store_n(&barrier->in, 0, __ATOMIC_RELEASE);
  vf_futex_wake(&barrier->in, INT_MAX, VF_PRIVATE);
}

VF_API int pthread_barrier_wait(pthread_barrier_t *object) {
  struct vf_libc_barrier *barrier = (struct vf_libc_barrier *)object;
  if (!vf_is_on(VF_BARRIERS) || barrier->shared)
    return vf_next()->pthread_barrier_wait(object);
  uint32_t place = arrive(barrier);
  bool ends_phase = place % barrier->threads == 0;
  uint32_t phase = end_phases(barrier, place);
  if (phase < place)
    wait_for_phase(barrier, place, phase, VF_CALLER);
  leave(barrier);
  return ends_phase ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
