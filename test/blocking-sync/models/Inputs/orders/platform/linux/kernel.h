/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In place of runtime/platform/linux/kernel.h: clock and futex of the model, which
 * hooks.cpp defines.
 */

#ifndef VFRIENDLY_PLATFORM_KERNEL_H
#define VFRIENDLY_PLATFORM_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vf_deadline {
  clockid_t clock;
  struct timespec at;
};

enum vf_scope { VF_PRIVATE = FUTEX_PRIVATE_FLAG, VF_ACROSS = 0 };

/* Any time may have passed since it was last asked. */
uint64_t vf_now_ns(void);
void vf_yield(void);
void vf_sleep_ns(uint64_t ns);
/* May end by timeout at any moment, if there is a deadline, and without cause. */
int vf_futex_wait_until(uint32_t *word, uint32_t value,
                        const struct vf_deadline *deadline,
                        enum vf_scope scope);
void vf_futex_wake(uint32_t *word, int n, enum vf_scope scope);
uint32_t vf_cpus(void);

#ifdef __cplusplus
}
#endif

#endif
