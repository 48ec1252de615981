/*===- waiting.h - What a loop does while it waits, by variant -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The kinds are ordinary user code. What they do between two polls is the one
 * thing that changes, so the hand-written peers keep each kind's algorithm:
 *
 *   none of these   the empty loop as users write it (and as the pass sees it)
 *   WAIT_PAUSE      PAUSE
 *   WAIT_YIELD      sched_yield
 *   WAIT_FUTEX      a bounded spin, then a futex with a count of its waiters
 *
 *   RELAX(object, word, seen)            object->word still held `seen`
 *   RELAX_TURN(object, word, seen, turn) the same, only `turn` ends the wait
 *   RELAX_BRIEFLY()                      a wait for another CPU's next store
 *   WAKE_ALL / WAKE_ONE(object, word)    after the store that ends waits
 *   WAKE_TURN(object, word, turn)        the same for the waiter of `turn`
 *   WAITER_COUNT                         in a struct whose words are waited on
 *===----------------------------------------------------------------------===*/

#ifndef WAITING_H
#define WAITING_H

#if defined(__x86_64__)
#define CPU_PAUSE() __builtin_ia32_pause()
#else
#define CPU_PAUSE() __asm__ volatile("isb" ::: "memory")
#endif

#if defined(WAIT_FUTEX)
#include "futex.h"
#include <sched.h>
#define WAITER_COUNT atomic_uint waiters;
#define RELAX(object, word, seen)                                              \
  futex_relax(&(object)->word, seen, &(object)->waiters, FUTEX_ANY)
#define RELAX_TURN(object, word, seen, turn)                                   \
  futex_relax(&(object)->word, seen, &(object)->waiters, 1u << (turn) % 32u)
#define RELAX_BRIEFLY() sched_yield()
#define WAKE_ALL(object, word)                                                 \
  futex_wake(&(object)->word, &(object)->waiters, INT_MAX, FUTEX_ANY)
#define WAKE_ONE(object, word)                                                 \
  futex_wake(&(object)->word, &(object)->waiters, 1, FUTEX_ANY)
#define WAKE_TURN(object, word, turn)                                          \
  futex_wake(&(object)->word, &(object)->waiters, INT_MAX, 1u << (turn) % 32u)

#else
#if defined(WAIT_YIELD)
#include <sched.h>
#define RELAX_BRIEFLY() sched_yield()
#elif defined(WAIT_PAUSE)
#define RELAX_BRIEFLY() CPU_PAUSE()
#else
#define RELAX_BRIEFLY() ((void)0)
#endif
#define WAITER_COUNT
#define RELAX(object, word, seen) RELAX_BRIEFLY()
#define RELAX_TURN(object, word, seen, turn) RELAX_BRIEFLY()
#define WAKE_ALL(object, word) ((void)0)
#define WAKE_ONE(object, word) ((void)0)
#define WAKE_TURN(object, word, turn) ((void)0)
#endif

#endif /* WAITING_H */
