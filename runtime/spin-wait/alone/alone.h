/*===- spin-wait/alone/alone.h - Waits of a program without libvfrt -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The build compiles linux.c or generic.c to IR for each target, and the pass
 * links the functions that a rewritten object file needs into that file, as
 * hidden functions of which a program keeps one copy. All scalar parameters are
 * uint64_t, which each target passes in the same way; functions are
 * async-signal- safe, preserve errno, and call no function of a library.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_ALONE_H
#define VFRIENDLY_SPIN_WAIT_ALONE_H

#include "vfriendly/spin_wait.h"
#include <stdbool.h>

/* One failed poll. The contract is that of vf_spin_wait; the state is the
 * number of failed polls, which is VF_SPIN_POLLS_UNCALLED at the first call, or
 * has bit 63 set. */
uint64_t vf_spin_alone(uint64_t state, uint64_t how);

/* The contract is that of vf_spin_wait_bounded; stores the number of polls to
 * skip in *skip. */
uint64_t vf_spin_alone_bounded(uint64_t state, uint64_t how, uint64_t left,
                               uint32_t *cost, uint64_t *skip);

#endif /* VFRIENDLY_SPIN_WAIT_ALONE_H */
