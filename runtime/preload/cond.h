/*===- preload/cond.h - Condition functions for C11 -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_COND_H
#define VFRIENDLY_PRELOAD_COND_H

#include <pthread.h>
#include <stdint.h>

/* Like pthread_cond_wait and pthread_cond_timedwait, with the call site as an
 * argument (common/sites.h). */
int vf_cond_wait_at(pthread_cond_t *cond, pthread_mutex_t *mutex,
                    uintptr_t site);
int vf_cond_timedwait_at(pthread_cond_t *cond, pthread_mutex_t *mutex,
                         const struct timespec *at, uintptr_t site);

#endif /* VFRIENDLY_PRELOAD_COND_H */
