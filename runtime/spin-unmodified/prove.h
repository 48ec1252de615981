/*===- spin-unmodified/prove.h - Whether a thread waits -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct vf_registers at = vf_registers_of(context);   (registers.h)
 *   struct vf_wait wait;
 *   if (vf_prove(&at, &memory, cache, &wait) != VF_COMPUTES)
 *     ... the thread may give way until one of wait.reads changes ...
 *
 * Emulates the thread from where it was interrupted until it comes back to the
 * same instruction. If registers, flags and memory are then what they were, it
 * will come back again and again until somebody else changes what it has read.
 * No pattern of code is looked for: calls, temporaries in memory, failed
 * compare-and-exchange and just-in-time compiled code need no rule.
 *
 *     interrupted here
 *          |       first iteration: what it changes is "carried"
 *          v <---- second: taints show what becomes of carried values
 *        loop      then: until a state repeats (Brent's search of cycles)
 *          |
 *          +-----> an iteration that stores anything new for other threads, or
 *                  that executes an unknown instruction, proves nothing
 *
 * A wait that gives up after a count or a time never repeats a state. For it
 * the second iteration may differ only by counters to which constants are
 * added, or by the processor's clock.
 *
 * A verdict allows nothing but a delay, to which a thread is exposed at each
 * instruction anyway. If it is wrong, the program is slower, never wrong.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_PROVE_H
#define VFRIENDLY_SPIN_UNMODIFIED_PROVE_H

#include "registers.h"
#include "spin-unmodified/emulate.h"

enum vf_verdict {
  VF_COMPUTES, /* or nothing is proved */
  VF_POLLS,    /* only other threads can end it */
  VF_COUNTS,   /* polls, and gives up after a count */
  VF_TIMES,    /* ... or after a time */
  VF_DELAYS,   /* executes pauses for a count, reads nothing */
  VF_VERDICTS
};

struct vf_wait {
  struct vf_reads reads; /* what decides, in the order of the program */
  bool yields;           /* the loop calls sched_yield itself */
  unsigned steps;        /* instructions that were emulated */
  const char *why;       /* nothing is proved */
  uint64_t where;        /* the instruction at which that was seen */
};

/* Judges the code that a thread with these registers executes. Async-signal-
 * safe; takes some microseconds, and uses 6 KiB of stack. `cache` must not be
 * used by two threads at a time. */
enum vf_verdict vf_prove(const struct vf_registers *at,
                         const struct vf_memory *memory,
                         struct vf_decoded *cache, struct vf_wait *wait);

/* The verdict in a word. */
const char *vf_verdict_name(enum vf_verdict verdict);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_PROVE_H */
