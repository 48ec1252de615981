/*===- spin-wait/block.h - The sleeping part of a wait --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_BLOCK_H
#define VFRIENDLY_SPIN_WAIT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* One call of a wait in VF_BLOCKING: sleeps until a notify or a timeout, or
 * yields where this wait may not sleep. Arguments as vf_spin_wait, and the place
 * in the program that waits. */
uint64_t vf_spin_block(const volatile void *addr, uint64_t observed,
                       uint64_t state, uint32_t how, uintptr_t place);

/* Sleeps for at most ns, until a notify. Returns whether it did: not where the
 * wait may not sleep, is not notified or has no value to compare. */
bool vf_spin_block_for(const volatile void *addr, uint64_t observed,
                       uint32_t how, uint64_t ns);

#endif /* VFRIENDLY_SPIN_WAIT_BLOCK_H */
