/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime/preload/cond.c with queue.c and blocking-sync/parking_table.c, for every
 * interleaving of their accesses to the bucket and the waiters, so many of whom may time out or be cancelled in their sleep:
 * of SIGNALS for one none is lost, and one broadcast reaches all (GATE).
 *
 * With LIBC, the last waiter waits inside libc, where a wait or a wake-up is one step.
 *
 * Who waits is a set here, not a queue: anyone may be woken, which is more than the
 * code does. Memory is in order. Time does not exist: a spin may end at once, a deadline
 * come at any moment.
 *
 * -DBREAK=n leaves out one thing that matters; preload-cond.test sees each found.
 */

#ifndef THREADS
#define THREADS 3
#endif
#ifndef SIGNALS
#define SIGNALS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define LATE_QUEUE 1    /* queues after the mutex is free */
#define KEEP_SIGNAL 2   /* cancelled, keeps the signal that was for it */
#define NO_DUTY 3       /* cancelled, wakes nobody of its broadcast */
#define TIMED_OUT 4     /* goes with the deadline without looking if it was woken */
#define NO_LAST_LOOK 5  /* sleeps whatever its state is by then */
#define MOVED_WAITS 6   /* of a broadcast that had not woken it yet, goes on waiting */
#define ONE_QUEUE 7     /* signals inside libc only if nobody is in the table */

#define NOWHERE 0
#define COND 1
#define MUTEX 2
byte key[THREADS];

#define AWAKE 0
#define ASLEEP 1
#define WOKEN 2
byte state[THREADS];
bool passes_on[THREADS], in_kernel[THREADS], in_libc;

bool held, bucket, gate;
byte tokens, waiting, cancelled, timed_out;

#define LOCK(what) atomic { !what -> what = true }

/* The first of those with this key, if any, is w afterwards; else THREADS. Leaves
 * the bucket and calls the kernel. */
inline wake_first(which, duty) {
  atomic {
    !bucket -> bucket = true;
    if
    :: key[0] == which -> w = 0
    :: key[1] == which -> w = 1
#if THREADS > 2
    :: key[2] == which -> w = 2
#endif
    :: else -> w = THREADS
    fi
  }
  call = false;
  if
  :: w < THREADS ->
    key[w] = NOWHERE;
    passes_on[w] = duty;
    atomic { call = (state[w] == ASLEEP); state[w] = WOKEN }
  :: else
  fi;
  bucket = false;
  if
  :: call -> in_kernel[w] = false /* Nothing, if it does not sleep yet. */
  :: else
  fi
}

inline leave() {
  LOCK(bucket);
  was_woken = (state[me] == WOKEN);
  if
  :: !was_woken -> key[me] = NOWHERE
  :: else
  fi;
  bucket = false
}

inline lock_again() {
  LOCK(held);
  if
  :: passes_on[me] && !(BREAK == NO_DUTY && is_cancelled) ->
    wake_first(MUTEX, true);
    if
    :: wake_first(MUTEX, true)
    :: true
    fi
  :: else
  fi
}

inline enter() {
  LOCK(bucket);
  key[me] = COND;
  state[me] = AWAKE;
  passes_on[me] = false;
  bucket = false
}

active [THREADS] proctype waiter() {
  byte me = _pid, w;
  bool call, was_woken, is_cancelled;
  LOCK(held);
  do
  :: gate -> break
  :: !gate && tokens > 0 -> tokens--; break
  :: else ->
#ifdef LIBC
    if
    :: me == THREADS - 1 ->
      atomic { in_libc = true; held = false; waiting++ }
end_libc:
      atomic { !in_libc -> waiting-- }
      goto woken
    :: else
    fi;
#endif
#if BREAK == LATE_QUEUE
    held = false;
    enter();
#else
    enter();
    held = false;
#endif
    if
    :: state[me] == WOKEN -> goto woken
    :: true
    fi;
    atomic {
      if
      :: state[me] == WOKEN -> goto woken
      :: else -> state[me] = ASLEEP
      fi
    }
sleep:
    atomic {
      if
      :: BREAK != NO_LAST_LOOK && state[me] != ASLEEP -> goto woken
      :: else -> in_kernel[me] = true; waiting++
      fi
    }
end:
    if
    :: atomic { !in_kernel[me] -> waiting-- }
      if
      :: state[me] == WOKEN -> goto woken
      :: else -> goto sleep
      fi
#ifdef CANCELS
    :: atomic { cancelled < CANCELS -> cancelled++; in_kernel[me] = false; waiting-- }
      is_cancelled = true;
      leave();
      if
      :: was_woken && !passes_on[me] && BREAK != KEEP_SIGNAL -> wake_first(COND, false)
      :: else
      fi;
      lock_again();
      break
#endif
#ifdef TIMEOUTS
    :: atomic { timed_out < TIMEOUTS -> timed_out++; in_kernel[me] = false; waiting-- }
#if BREAK == TIMED_OUT
      LOCK(bucket);
      key[me] = NOWHERE;
      bucket = false;
      passes_on[me] = false
#else
      leave()
#endif
#endif
    fi;
woken:
    lock_again()
  od;
  held = false
}

inline signal_table() {
  w = THREADS;
  if
  :: key[0] != NOWHERE || key[1] != NOWHERE || key[THREADS - 1] != NOWHERE ->
    wake_first(COND, false)
  :: else
  fi
}

inline signal() {
  if
  :: in_libc && BREAK != ONE_QUEUE ->
    in_libc = false;
    signal_table()
  :: else ->
    signal_table();
    if
    :: w == THREADS -> in_libc = false
    :: else
    fi
  fi
}

inline broadcast() {
  in_libc = false;
  if
  :: key[0] != NOWHERE || key[1] != NOWHERE || key[THREADS - 1] != NOWHERE ->
    atomic {
      LOCK(bucket);
      w = 0;
      first = THREADS;
      do
      :: w == THREADS -> break
      :: else ->
        if
        :: key[w] == COND && first == THREADS -> first = w
        :: key[w] == COND && first != THREADS && BREAK != MOVED_WAITS -> key[w] = MUTEX
        :: else
        fi;
        w++
      od
    }
    if
    :: first < THREADS ->
      w = first;
      key[w] = NOWHERE;
      passes_on[w] = true;
      atomic { call = (state[w] == ASLEEP); state[w] = WOKEN }
      bucket = false;
      if
      :: call -> in_kernel[w] = false
      :: else
      fi
    :: else -> bucket = false
    fi
  :: else
  fi
}

active proctype waker() {
  byte w, first, sent;
  bool call, inside;
  do
  :: sent < SIGNALS ->
    sent++;
    LOCK(held);
    tokens++;
    if
    :: held = false; signal()
    :: signal(); held = false
    fi
  :: else -> break
  od;
#ifdef GATE
  LOCK(held);
  gate = true;
  if
  :: held = false; broadcast()
  :: broadcast(); held = false
  fi
#endif
}

/* When nothing moves any more. */
active proctype watch() {
  timeout;
  assert(waiting == 0 || (!gate && tokens == 0));
  assert(!held && !bucket)
}
