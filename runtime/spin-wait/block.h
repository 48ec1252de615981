/*===- spin-wait/block.h - The sleeping part of a wait --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_BLOCK_H
#define VFRIENDLY_SPIN_WAIT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* With VF_SPIN_NO_SLEEP, of a caller that sleeps by itself once the wait would
 * block: the call that ends the opening phase makes no step if that step would
 * be a yield or a sleep, so that the caller sees it coming. Passed by
 * blocking-sync/waiting.h only. */
#define VF_SPIN_SLEEPS_ITSELF 0x8000u

struct vf_spin_bucket *vf_spin_bucket_of(const volatile void *addr);

/* Returns true if notifies have ended the bucket's last sleeps, as far as is
 * known: one may have been missed since. */
bool vf_spin_is_trusted(const struct vf_spin_bucket *bucket);

/* Performs one step of a wait in phase VF_BLOCKING: sleeps until a notify or a
 * timeout, or yields if this wait may not sleep. place is the return address of
 * the waiting call; other arguments and the result are those of vf_spin_wait.
 */
uint64_t vf_spin_block(const volatile void *addr, uint64_t observed,
                       uint64_t state, uint32_t how, uintptr_t place);

/* Sleeps until a notify, at most ns nanoseconds. Returns false without sleeping
 * if no writer notifies this wait, if there is no value to compare, or if too
 * many notifies were missed. */
bool vf_spin_block_for(const volatile void *addr, uint64_t observed,
                       uint32_t how, uint64_t ns);

#endif /* VFRIENDLY_SPIN_WAIT_BLOCK_H */
