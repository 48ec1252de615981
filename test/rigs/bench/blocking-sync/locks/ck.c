// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concurrency Kit's headers are C only: the two locks behind functions, which the
// others are, too.

#include <ck_spinlock.h>

void ck_ticket_lock(ck_spinlock_ticket_t *spin) { ck_spinlock_ticket_lock(spin); }
void ck_ticket_unlock(ck_spinlock_ticket_t *spin) { ck_spinlock_ticket_unlock(spin); }

static __thread ck_spinlock_mcs_context_t mine;

void ck_mcs_lock(ck_spinlock_mcs_t *queue) { ck_spinlock_mcs_lock(queue, &mine); }
void ck_mcs_unlock(ck_spinlock_mcs_t *queue) { ck_spinlock_mcs_unlock(queue, &mine); }
