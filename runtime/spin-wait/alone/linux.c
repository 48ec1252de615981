/*===- spin-wait/alone/linux.c - Waits without libvfrt, on Linux ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Without the runtime no writer notifies, so a wait pauses 64 times (a few
 * microseconds, enough for a hand-over between running threads), yields 4096
 * times (about a millisecond if no other thread wants the CPU, longer
 * otherwise), then sleeps 50 us at a time, less than 1/16 of the time that it
 * has waited until then. With VF_SPIN_NO_SLEEP it yields for ever, with
 * VF_SPIN_AWAKE it only pauses. Before the
 * first yield, before the first sleep, and then every 256 calls it tests
 * whether the process may get a signal after using more CPU time; if so, it
 * only pauses, with bit 63 of the state set, and tests again after 2^18 pauses,
 * 10 ms.
 *
 * A wait that gives up after a number of polls takes the steps of the runtime,
 * of which it never sleeps.
 *===----------------------------------------------------------------------===*/

#include "relax.h"
#include "spin-wait/alone/alone.h"
#include "spin-wait/bounded_steps.h"
#include "system_call.h"

#define YIELDS 4096u
#define BURNING (UINT64_C(1) << 63)
#define BURNING_PAUSES (UINT64_C(1) << 18)

struct vf_spin_shared vf_spin_shared_1;

/* The functions that follow test whether the process may get a signal once it
 * has used more CPU time. runtime/platform/linux/cpu_timers.h explains which
 * signals these are and why the test is made in this way; keep both files
 * consistent. */

/* Returns true if one of the timers runs that call, getitimer or timer_gettime,
 * knows by the numbers from first to before end. */
static bool timer_runs(long call, long first, long end) {
  for (long id = first; id != end; ++id) {
    long timer[4]; /* itimerval or itimerspec: it_value is in words 2 and 3 */
    if (vf_system_call(call, id, (long)timer, 0, 0) == 0 &&
        (timer[2] | timer[3]) != 0)
      return true;
  }
  return false;
}

static bool is_limited(long resource) {
  unsigned long limit[2]; /* The soft limit comes first. */
  return vf_system_call(VF_PRLIMIT64, 0, resource, 0, (long)limit) == 0 &&
         limit[0] != ~0ul;
}

static bool cpu_limit_is_told(void) {
  const long rlimit_cpu = 0, rlimit_rttime = 15, sigxcpu = 24, set = 8;
  if (!is_limited(rlimit_cpu) && !is_limited(rlimit_rttime))
    return false;
  /* The handler comes first; SIG_DFL and SIG_IGN are 0 and 1. */
  unsigned long action[4], blocked;
  return (vf_system_call(VF_RT_SIGACTION, sigxcpu, 0, (long)action, set) == 0 &&
          action[0] > 1) ||
         (vf_system_call(VF_RT_SIGPROCMASK, 0, 0, (long)&blocked, set) == 0 &&
          (blocked >> (sigxcpu - 1) & 1) != 0);
}

/* Not inline: rewritten files share one copy. */
__attribute__((noinline, cold)) bool vf_spin_alone_cpu_timer_runs(void) {
  const long itimer_virtual = 1, itimer_prof = 2, posix_timers = 16;
  return timer_runs(VF_GETITIMER, itimer_virtual, itimer_prof + 1) ||
         cpu_limit_is_told() || timer_runs(VF_TIMER_GETTIME, 0, posix_timers);
}

__attribute__((noinline, cold)) bool vf_cpu_time_counts(uint64_t now) {
  return vf_cpu_time_counts_by(&vf_spin_shared_1.cpu_time, now,
                               vf_spin_alone_cpu_timer_runs);
}

static uint64_t burn(uint64_t state) {
  vf_relax();
  return state;
}

uint64_t vf_spin_alone(uint64_t state, uint64_t how) {
  uint64_t polls = state + 1;
  if (how & VF_SPIN_AWAKE)
    return burn(state < VF_SPIN_POLLS_UNCALLED ? VF_SPIN_POLLS_UNCALLED
                                               : state);
  if (polls & BURNING) {
    if (polls % BURNING_PAUSES != 0)
      return burn(polls);
    if (vf_spin_alone_cpu_timer_runs())
      return burn(BURNING);
    polls = 2 * VF_SPIN_POLLS_UNCALLED + 1;
  } else if (polls < 2 * VF_SPIN_POLLS_UNCALLED) {
    vf_relax();
    return polls;
  } else if (polls % 256 == 2 * VF_SPIN_POLLS_UNCALLED &&
             vf_spin_alone_cpu_timer_runs()) {
    return burn(BURNING);
  }
  if (polls < 2 * VF_SPIN_POLLS_UNCALLED + YIELDS || how & VF_SPIN_NO_SLEEP) {
    vf_yield();
  } else {
    /* A signal ends the sleep early, which is fine. */
    long time[2]; /* With an initializer, a constant that needs a section. */
    time[0] = 0;
    time[1] = 50000;
    vf_system_call(VF_NANOSLEEP, (long)time, 0, 0, 0);
  }
  return polls;
}

uint64_t vf_spin_alone_bounded(uint64_t state, uint64_t how, uint64_t left,
                               uint32_t *cost, uint64_t *skip) {
  struct vf_spin_bounded next =
      vf_bounded_step(0, 0, state, (uint32_t)how, left, cost);
  *skip = next.skip;
  return next.state;
}
