/*===- spin-wait/move.h - Sleeping to be moved to an idle CPU -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Threads that yield to each other may share a CPU beside an idle one, because
 * a new thread often starts on the CPU of its creator. The kernel's load
 * balancer leaves them there for up to 50 ms, as it does not move threads that
 * ran in the last half millisecond. (Threads that only spin are moved after a
 * few time slices.) But it puts a thread that wakes up on an idle CPU. So now
 * and then a wait for a notify sleeps instead of yielding.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_MOVE_H
#define VFRIENDLY_SPIN_WAIT_MOVE_H

#include "spin-wait/crowd.h"
#include "spin-wait/shared.h"
#include <stdbool.h>
#include <stdint.h>

/* Time for which threads yield to each other before one of them sleeps: 20
 * times as long as that sleep takes. It doubles with each sleep after which
 * they still share a CPU, up to 67 ms. */
#define VF_MOVE_NS (UINT64_C(1) << 19)
#define VF_MOVE_DOUBLINGS 7u

/* Called before a wait's first yield, since most waits have ended after it.
 * Returns true if the wait should sleep instead. If the last yield was long
 * before, the time begins anew. */
static inline bool vf_should_move(uint64_t now) {
  if (!vf_crowded())
    return false;
  uint32_t at = vf_get(&vf_spin_shared_1.move_at),
           in_vain = vf_get(&vf_spin_shared_1.moved_in_vain);
  int32_t late = (int32_t)((uint32_t)(now >> VF_HOG_UNIT_LOG2) - at);
  if (at != 0 && late < 0)
    return false;
  bool moves = at != 0 && late <= (int32_t)(VF_MOVE_NS >> VF_HOG_UNIT_LOG2);
  if (!moves)
    in_vain = 0;
  else if (in_vain < VF_MOVE_DOUBLINGS)
    ++in_vain;
  vf_set(&vf_spin_shared_1.moved_in_vain, in_vain);
  vf_set(&vf_spin_shared_1.move_at, vf_hog_time(now + (VF_MOVE_NS << in_vain)));
  return moves;
}

/* Called after a yield that let no other thread run. */
static inline void vf_runs_alone(void) {
  if (!vf_crowded() && vf_get(&vf_spin_shared_1.move_at) != 0)
    vf_set(&vf_spin_shared_1.move_at, 0);
}

#endif /* VFRIENDLY_SPIN_WAIT_MOVE_H */
