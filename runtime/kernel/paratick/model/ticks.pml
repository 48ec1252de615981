/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime/kernel/paratick's rules for one vCPU: the guest's periodic timer, which is
 * queued when the vCPU halts with its tick on (tick_paravirt_halt()), and the ticks
 * of the host, which come to a vCPU that is not halted (tick_paravirt_interrupt()).
 * Checked for every load and every phase of the host's ticks against the guest's.
 *
 * A period has PERIOD slots; the guest's tick is due in slot 0, the host's in slot
 * host. In each slot the vCPU may halt, with its tick on or stopped, or wake up. The
 * kernel keeps the tick on when a timer is due: that it is stopped later needs a tick.
 *
 *   guest's tick due   |           |           |           |
 *   host's tick due          |           |           |           |
 *   vCPU               ==....====....====....====....====....====   = busy  . halted
 *
 * is the load that had no tick: the host delivers none at each '.', and the timer was
 * cancelled at each '=' and set for the next period at each '.'.
 *
 * Claim: each of the guest's periods in which the tick was on from its beginning to
 * its end has one tick, neither none nor two. So two ticks are less than two periods
 * apart.
 *
 * -DBREAK=n leaves out one thing that matters; ticks.test sees each found.
 */

#ifndef PERIOD
#define PERIOD 5
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define FORWARD 1     /* an overdue tick waits for the next period */
#define SERVE_TWICE 2 /* the host's tick counts after the timer's */
#define NO_TIMER 3    /* halts with its tick on without a timer */
#define FIRST 4       /* the first version: FORWARD, and cancels the timer on wake-up */

byte slot, host;
bool halted, stopped; /* stopped: the tick, while the vCPU is halted */
bool queued;          /* the timer */
byte expires;         /* in how many slots; 0: is due, or overdue */
bool served;          /* the timer has had the tick of this period */
bool whole;           /* the tick was on since this period began */
byte ticks;           /* of this period */

/* From one slot to the guest's next due time. */
#define NEXT_DUE (PERIOD - slot)

inline tick() {
  ticks++;
  assert(ticks <= 1)
}

inline timer_expires() {
  queued = false;
  halted = false; /* the interrupt wakes it up, and the load may halt it again */
  if
  :: stopped -> stopped = false; whole = false; expires = NEXT_DUE
  :: else -> tick(); expires = NEXT_DUE; served = true
  fi
}

inline hosts_tick() {
  if
  :: served && BREAK != SERVE_TWICE -> skip
  :: else -> tick(); if :: !queued -> expires = NEXT_DUE :: else fi
  fi
}

inline halt_with_tick() {
  halted = true;
  if
  :: queued || BREAK == NO_TIMER -> skip
  :: else ->
    queued = true;
    if
    :: expires > 0 -> skip
    :: expires == 0 && (BREAK == FORWARD || BREAK == FIRST) -> expires = NEXT_DUE
    :: else -> timer_expires()
    fi
  fi
}

/* Nothing is due within a period. The timer is queued for what is due later, if there
 * is anything; that may as well come before, by a new one. The tick that was due
 * meanwhile does not matter: jiffies are updated when the vCPU wakes up. */
inline halt_without() {
  halted = true;
  stopped = true;
  whole = false;
  if
  :: queued = false
  :: queued = true; select(expires : 1 .. PERIOD)
  fi
}

inline wake() {
  halted = false;
  if
  :: stopped -> stopped = false; queued = false; expires = NEXT_DUE
  :: else -> if :: BREAK == FIRST -> queued = false :: else fi
  fi
}

init {
  /* The host's tick is not due in the same slot: that is either just before or after. */
  select(host : 1 .. PERIOD - 1);
  expires = PERIOD;
  do
  :: atomic {
    /* What is due comes before what the load does in this slot. */
    if :: queued && expires == 0 -> timer_expires() :: else fi;
    if :: slot == host && !halted -> hosts_tick() :: else fi;
    /* A load does as many things in a slot as it likes; three show all there are. */
    byte left = 3;
    do
    :: left > 0 && !halted -> left--; halt_with_tick()
    :: left > 0 && !halted -> left--; halt_without()
    :: left > 0 && halted -> left--; wake()
    :: true -> break
    od;
    left = 0;
    slot++;
    if :: expires > 0 -> expires-- :: else fi;
    if
    :: slot == PERIOD ->
      slot = 0;
      assert(!whole || ticks == 1);
      ticks = 0;
      served = false;
      whole = !stopped
    :: else
    fi
  }
  od
}
