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

/* One step of a wait in phase VF_BLOCKING: sleeps until a notify or a timeout,
 * or yields if this wait may not sleep. Arguments and result as of vf_spin_wait,
 * and place is where the program waits. */
uint64_t vf_spin_block(const volatile void *addr, uint64_t observed,
                       uint64_t state, uint32_t how, uintptr_t place);

/* Sleeps until a notify, for at most ns. Returns false without sleeping if the
 * wait is not notified, has no value to compare, or misses too many notifies.
 */
bool vf_spin_block_for(const volatile void *addr, uint64_t observed,
                       uint32_t how, uint64_t ns);

#endif /* VFRIENDLY_SPIN_WAIT_BLOCK_H */
