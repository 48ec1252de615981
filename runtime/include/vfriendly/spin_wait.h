/*===- vfriendly/spin_wait.h - Waiting for memory to change ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * These functions are for a loop that waits for memory to change. The loop
 * stays correct whatever the runtime does, because the loop itself tests
 * whether the wait is over:
 *
 *   uint64_t state = 0;
 *   int seen;
 *   while ((seen = atomic_load_explicit(&flag, memory_order_acquire)) == 0)
 *     state = vf_spin_wait(&flag, seen, state, sizeof flag | VF_SPIN_NOTIFIED);
 *
 * and the store that ends it:
 *
 *   atomic_store_explicit(&flag, 1, memory_order_release);
 *   vf_spin_notify_if_waiting(&flag);
 *
 * The pass vf-spin-loops emits exactly this. A forgotten notify delays the wait
 * but never hangs it: every sleep has a time limit, and if sleeps on an address
 * repeatedly end without a notify, VF_SPIN_NOTIFIED is ignored for that
 * address. While a signal that is triggered by CPU time may arrive (from
 * ITIMER_VIRTUAL, ITIMER_PROF, a timer of timer_create, RLIMIT_CPU, or
 * RLIMIT_RTTIME), waits only pause: the handler of the signal may end the wait,
 * and the signal arrives only if the process uses CPU time.
 *
 * All functions may be called from any thread, before main, after fork and in
 * signal handlers. None locks, allocates, aborts or changes errno.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_H
#define VFRIENDLY_SPIN_WAIT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of `how` that hold the number of bytes at addr that the runtime may read
 * to see whether they still hold `observed`: 1, 2, 4 or 8, or 0 for none
 * (memory that is volatile, or that may be gone by now). */
#define VF_SPIN_SIZE_MASK 0xffu
/* Says that the thread that ends this wait calls vf_spin_notify. If this flag
 * is set although no thread does so, some wake-ups are late; VF_SPIN_UNSEEN
 * limits how late. If the flag is not set, the wait never blocks in the kernel
 * for more than 1/16 of the time that it has already taken, or half of it near
 * a limit of CPU time. */
#define VF_SPIN_NOTIFIED 0x100u
/* Never sleep, only pause and yield: for locks that hand over in a fixed order,
 * where one sleeping waiter delays all waiters after it. VF_SPIN_NOTIFIED takes
 * precedence: with both set, the wait may block. */
#define VF_SPIN_NO_SLEEP 0x200u
/* Says that the caller waits for a lock by trying to take it. Such locks are
 * mostly held for less time than a switch to another thread takes, so the wait
 * spins for as long as it may before it yields, even where threads share CPUs.
 */
#define VF_SPIN_TRYLOCK 0x400u

/* Says that the condition reads several words. addr is a key that the writers
 * of all these words notify; it is not read. The size in `how` is 0. */
#define VF_SPIN_SEVERAL 0x800u
/* Says that the iterations of a bounded wait may do more than poll, so none may
 * be skipped: vf_spin_wait_bounded returns 0 in skip, never sleeps, and lets
 * some microseconds pass between two yields. */
#define VF_SPIN_MAY_WORK 0x1000u
/* With VF_SPIN_NOTIFIED: threads may also end this wait that do not call
 * vf_spin_notify, such as code that was compiled without it, another process,
 * or the kernel. The wait then notices any change at most 2 ms after it, or
 * after a twentieth of the time waited by then, at the cost of some 20 wake-ups
 * in the first 40 ms. Without this flag a change that no thread notifies is
 * noticed up to a second late. */
#define VF_SPIN_UNSEEN 0x2000u
/* Only pause: for loops in which the program's own definition of sched_yield or
 * nanosleep does what the wait waits for, such as a switch to another fiber of
 * this thread. */
#define VF_SPIN_AWAKE 0x4000u

/* Number of failed polls of one wait that a caller may make before it first
 * calls vf_spin_wait; it counts them in state. 64 polls take a tenth of a
 * microsecond, as does a hand-over between two running threads. */
#define VF_SPIN_POLLS_UNCALLED 64u

/* One failed poll: pauses, yields or blocks for a bounded time.
 *
 * addr is the polled address, observed the value just read there, zero-extended
 * to 64 bits (bit pattern for floating point), state at most
 * VF_SPIN_POLLS_UNCALLED on the first call of a wait and from then on what the
 * last call returned.
 *
 * pre: (how & VF_SPIN_SIZE_MASK) is 0, or that many bytes at addr are readable
 *      and naturally aligned. addr may be null when that size is 0.
 * Returns the state for the next call, above VF_SPIN_POLLS_UNCALLED. May return
 * early at any time; the caller tests its condition again. Orders no memory. */
uint64_t vf_spin_wait(const volatile void *addr, uint64_t observed,
                      uint64_t state, uint32_t how);

/* Bits of a bounded wait's state that hold the number of blocks of failed
 * polls, less one, that the caller may make before the next call. */
#define VF_SPIN_POLLS_MASK 0xffffu
/* To be or-ed to `how` of a bounded wait: the number of polls in a block, 1 to
 * 65535. The default is 1. */
#define VF_SPIN_BLOCK(polls) ((uint32_t)(polls) << 16)

struct vf_spin_bounded {
  uint64_t state; /* to pass to the next call */
  uint64_t skip;  /* polls to subtract from the count; at most left */
};

/* A wait that gives up after a number of polls:
 *
 *   static uint32_t cost;
 *   uint64_t state = 0, polls = VF_SPIN_POLLS_UNCALLED;
 *   for (long i = 0; i < 1000000; i++) {
 *     if ((seen = atomic_load_explicit(&flag, memory_order_acquire)) != 0)
 *       return true;
 *     if (--polls != 0)
 *       continue;
 *     struct vf_spin_bounded w = vf_spin_wait_bounded(
 *         &flag, seen, state, sizeof flag, 999999 - i, &cost);
 *     state = w.state;
 *     i += w.skip;
 *     polls = (state & VF_SPIN_POLLS_MASK) + 1;
 *   }
 *   return false;
 *
 * If each thread has a CPU, the loop polls as it would without
 * vf_spin_wait_bounded. Otherwise this function gives the CPU to other threads,
 * and returns in `skip` as many polls as the loop would have made in that time,
 * at most a time slice for each call. So the loop gives up as soon as it would
 * without these calls. While a timer or limit of CPU time may raise a signal,
 * the loop only polls.
 *
 * addr, observed and how are as for vf_spin_wait; VF_SPIN_NO_SLEEP has no
 * effect, because no sleep is longer than the rest of the wait. state is 0 on
 * the first call of a wait, and from then on what the last call returned. left
 * is the number of polls that the loop may still make, at least 1. *cost
 * belongs to one loop in the code: *cost is zero before the first wait of this
 * loop, and then written by vf_spin_wait_bounded only, with relaxed atomics. A
 * lost write costs a measurement.
 *
 * pre: since the last call the loop has made as many polls as the returned
 * state says (VF_SPIN_POLLS_MASK). */
struct vf_spin_bounded vf_spin_wait_bounded(const volatile void *addr,
                                            uint64_t observed, uint64_t state,
                                            uint32_t how, uint64_t left,
                                            uint32_t *cost);

/* Like vf_spin_wait_bounded, for loops written by hand: vf_spin_budget counts
 * the polls between two calls of vf_spin_wait_bounded.
 *
 *   VF_SPIN_BUDGET(wait);
 *   for (long i = 0; i < 1000000; i++) {
 *     if (atomic_load_explicit(&flag, memory_order_acquire) != 0)
 *       return true;
 *     i += vf_spin_budget(&flag, 0, &wait, sizeof flag, 999999 - i);
 *   }
 *   return false;
 *
 * VF_SPIN_BUDGET declares the state of one wait. VF_SPIN_BUDGET must stand in a
 * block, before the loop, and not where a static variable is forbidden
 * (constexpr, C's extern inline).
 *
 * Counting lengthens each poll of a loop without PAUSE, so such a loop gives up
 * later than without vf_spin_budget. */
struct vf_spin_budget {
  uint64_t state;
  uint64_t polls; /* until the next call of vf_spin_wait_bounded, at least 1 */
  uint32_t *cost;
};
#define VF_SPIN_BUDGET(name)                                                   \
  static uint32_t name##_cost;                                                 \
  struct vf_spin_budget name = {0, VF_SPIN_POLLS_UNCALLED, &name##_cost}

/* Called after one failed poll of a wait that gives up after a number of polls.
 *
 * addr, observed, how and left are as for vf_spin_wait_bounded, but left may be
 * 0, and how has no VF_SPIN_BLOCK.
 *
 * pre: the loop only polls one word and counts, so that each further poll would
 * be like the failed one. Returns the number of polls to subtract from the
 * count; at most left. */
static inline uint64_t vf_spin_budget(const volatile void *addr,
                                      uint64_t observed,
                                      struct vf_spin_budget *budget,
                                      uint32_t how, uint64_t left) {
  struct vf_spin_bounded wait;
  if (__builtin_expect(--budget->polls != 0, 1))
    return 0;
  budget->polls = 1;
  if (left == 0)
    return 0;
  wait = vf_spin_wait_bounded(addr, observed, budget->state, how, left,
                              budget->cost);
  budget->state = wait.state;
  budget->polls = (wait.state & VF_SPIN_POLLS_MASK) + 1;
  return wait.skip < left ? wait.skip : left;
}

/* Called after one failed attempt at something that has no address to wait on,
 * such as a foreign trylock (with VF_SPIN_TRYLOCK), or that reads several
 * words. Short for vf_spin_wait(NULL, 0, state, how without its size). */
uint64_t vf_spin_backoff(uint64_t state, uint32_t how);

/* Wakes every vf_spin_wait on addr. Call it after the store that ends the wait;
 * addr is a key and is never read, so the object may be gone by then. */
void vf_spin_notify(const volatile void *addr);

/* Number of buckets in which threads wait for a notify; if it is zero,
 * vf_spin_notify has nothing to do. Written by vf_spin_wait (before it blocks)
 * and vf_spin_notify. A notifier may read a stale zero and wake no thread: the
 * sleep of each waiter has a timeout. */
extern uint32_t vf_spin_armed;

/* Does what vf_spin_notify does, at the cost of one relaxed load if no thread
 * waits. */
static inline void vf_spin_notify_if_waiting(const volatile void *addr) {
  if (__builtin_expect(__atomic_load_n(&vf_spin_armed, __ATOMIC_RELAXED) != 0,
                       0))
    vf_spin_notify(addr);
}

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_SPIN_WAIT_H */
