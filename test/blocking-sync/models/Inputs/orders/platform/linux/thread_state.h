/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In place of runtime/platform/linux/thread_state.h: in the runs with the device
 * there is the page, too, and says anything.
 */

#ifndef VFRIENDLY_PLATFORM_THREAD_STATE_H
#define VFRIENDLY_PLATFORM_THREAD_STATE_H

#include "platform/linux/vcpu_state.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline bool vf_thread_states_are_there(void) { return vf_vcpu_states_are_there(); }
typedef uint16_t vf_thread_number;
vf_thread_number vf_own_thread(vf_cpu cpu);
bool vf_thread_is_off(vf_thread_number number);
void vf_thread_states_begin(const char *socket);

#ifdef __cplusplus
}
#endif

#endif
