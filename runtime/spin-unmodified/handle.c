/*===- spin-unmodified/handle.c - The signal handler ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The kernel writes the frame of a signal to the thread's alternate stack: the
 * library's, or the program's, which may be small. All else happens on the
 * library's. While the handler runs no other one can, as it blocks all signals.
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/handle.h"
#include "platform/linux/kernel.h"
#include "spin-unmodified/counters.h"
#include "spin-unmodified/give_way.h"
#include "spin-unmodified/prove.h"
#include "spin-unmodified/signals.h"
#include "spin-unmodified/threads.h"
#include "spin-unmodified/trigger.h"
#include "stack.h"

static uint64_t doubled(uint64_t ns, uint64_t most) {
  return 2 * ns < most ? 2 * ns : most;
}

static void judge(void *data, void *interrupted) {
  struct vf_thread *thread = data;
  const ucontext_t *context = interrupted;
  struct vf_memory memory = {.access = vf_signals_guard(context)
                                           ? VF_MEMORY_GUARDED
                                           : VF_MEMORY_COPIED};
  struct vf_wait wait;
  struct vf_registers at = vf_registers_of(context);
  enum vf_verdict verdict = vf_prove(&at, &memory, thread->decoded, &wait);
  vf_spin_count((enum vf_spin_unmodified_counter)verdict, 1);
  uint64_t period;
  if (verdict == VF_COMPUTES)
    period = doubled(thread->period, VF_PERIOD_MAX_NS);
  else if (vf_give_way(verdict, &wait, &memory, context)) {
    period = VF_PERIOD_MIN_NS;
    __atomic_store_n(&thread->found_at, vf_now_ns(), __ATOMIC_RELAXED);
  } else
    period = doubled(thread->period, VF_PERIOD_ALONE_NS);
  vf_trigger_again(thread, period);
}

void vf_handle(int number, siginfo_t *info, void *context) {
  struct vf_thread *thread = vf_this_thread;
  int saved = errno;
  if (!thread || !vf_trigger_is_mine(thread, info)) {
    vf_signals_pass_on(number, info, context);
    errno = saved;
    return;
  }
  uint32_t armed = VF_ARMED;
  if (!__atomic_compare_exchange_n(&thread->state, &armed, VF_HANDLING, false,
                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return;
  if (vf_thread_is_on_stack(thread, &saved))
    judge(thread, context);
  else
    vf_call_on_stack(vf_thread_stack_top(thread), judge, thread, context);
  vf_thread_set(thread, VF_ARMED);
  errno = saved;
}
