/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of other parts of the runtime that blocking-sync calls and that order
 * nothing: each returns what the search chooses, or a constant.
 */

#include "common/environment.h"
#include "common/sites.h"
#include "common/slice.h"
#include "model.h"
#include "platform/linux/kernel.h"
#include "platform/linux/thread_state.h"
#include "spin-wait/state.h"
#include "spin-wait/tuning.h"
#include <stdlib.h>

/* What spins, yields and reads the clock is in spin-wait; here a wait may sleep at
 * once or after a few more polls. */
uint64_t vf_spin_wait(const volatile void *address, uint64_t seen, uint64_t state,
                      uint32_t limit) {
  (void)address, (void)seen, (void)limit;
  unsigned phase = model_choose(2) ? VF_BLOCKING : VF_SPINNING;
  return vf_with(state, VF_PHASE, phase) | VF_LIVE;
}

uint32_t vf_cpus(void) { return 1; }
uint32_t vf_spin_budget_ns(void) { return 50000; }
void vf_woke_since(uint64_t woken_at) { (void)woken_at; }

vf_cpu vf_cpu_plus_1(void) { return 1; }
bool vf_vcpu_is_preempted(vf_cpu cpu) {
  (void)cpu;
  return model_choose(2) != 0;
}

vf_thread_number vf_own_thread(vf_cpu cpu) { return cpu; }
bool vf_thread_is_off(vf_thread_number number) {
  (void)number;
  return model_choose(2) != 0;
}
void vf_thread_states_begin(const char *socket) { (void)socket; }
const char *vf_env_get(const char *name) {
  (void)name;
  return NULL;
}

/* Statistics are off. */
void vf_site_waited(uintptr_t site, uint64_t ns, bool slept) {
  (void)site, (void)ns, (void)slept;
  abort();
}
void vf_site_passed(uintptr_t site) {
  (void)site;
  abort();
}
void vf_site_took(uintptr_t site, const void *lock) {
  (void)site, (void)lock;
  abort();
}
uintptr_t vf_site_freeing(const void *lock) {
  (void)lock;
  abort();
}
void vf_site_woke(uintptr_t site) {
  (void)site;
  abort();
}

/* The kernel lends no slices. */
ptrdiff_t vf_slice_at;
bool vf_slice_begin(void) { abort(); }
void vf_slice_end(void) { abort(); }
