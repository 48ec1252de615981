/*===- spin-unmodified/give_way.h - Letting other threads run -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A thread that waits yields, as long as others run meanwhile, and sleeps for a
 * share of the time waited where yields do not help: beside threads that
 * compute, near a CPU limit, and if nobody else wants this CPU (crowd.h,
 * limit.h).
 *
 * It does not sleep in a futex on the word that it polls: a program that also
 * has sleepers there would wake this thread in place of one of them.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_GIVE_WAY_H
#define VFRIENDLY_SPIN_UNMODIFIED_GIVE_WAY_H

#include "spin-unmodified/prove.h"
#include <ucontext.h>

/* Gives way until what the wait reads has changed, a signal is pending, or a
 * time has passed after which the wait is proved again. Returns true if that
 * let other threads run or saved CPU time. pre: in a handler that blocks all
 * signals; verdict is not VF_COMPUTES. Preserves errno. */
bool vf_give_way(enum vf_verdict verdict, const struct vf_wait *wait,
                 const struct vf_memory *memory, const ucontext_t *context);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_GIVE_WAY_H */
