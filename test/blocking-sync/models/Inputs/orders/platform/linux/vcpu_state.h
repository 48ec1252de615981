/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In place of runtime/platform/linux/vcpu_state.h: in some runs there is the
 * device, and says anything.
 */

#ifndef VFRIENDLY_PLATFORM_VCPU_STATE_H
#define VFRIENDLY_PLATFORM_VCPU_STATE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t vf_cpu;
bool vf_vcpu_states_are_there(void);
vf_cpu vf_cpu_plus_1(void);
bool vf_vcpu_is_preempted(vf_cpu cpu);

#ifdef __cplusplus
}
#endif

#endif
