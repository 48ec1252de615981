/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime/blocking-sync/sem.c, for every interleaving: nobody sleeps while there is
 * something to take, and who no longer sleeps is not counted. Waiters may be
 * interrupted anywhere by a signal handler that posts; the interrupted thread stands
 * still meanwhile.
 *
 * The futex is the kernel's promise: it compares and sleeps in one step, and a wake
 * takes any one of those asleep. A loop around a compare-and-swap is one step, as
 * only the round that succeeds changes anything. How long a waiter spins is open, and
 * a deadline may come whenever it sleeps, TIMEOUTS times in a run: without end, they
 * would hide a lost wake-up. The same for sleeps that end without cause. Memory is in
 * order here; orders.py asks whether the orders are enough.
 *
 * -DBREAK=n leaves out one thing that matters; sem.test sees each found.
 */

#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define NOT_COUNTED 1   /* sleeps without being counted */
#define NOT_COMPARED 2  /* sleeps without looking at the value again */
#define STAY_COUNTED 3  /* takes and is still counted as a sleeper */
#define WAKE_AT_ZERO 4  /* wakes only if there was nothing before */
#define LOCKED 5        /* waiters and posters share a lock */
#define LATE_COUNT 6    /* asks for sleepers before it gives, not by the same step */

byte value, counted, finished;
byte timeouts = TIMEOUTS, spurious = SPURIOUS;
bool asleep[THREADS], lock;
#define NOBODY 255
byte interrupted = NOBODY;

#define TAKE(sleeper, then)                                                    \
  atomic {                                                                     \
    if                                                                         \
    :: value > 0 -> value--; counted = counted - (sleeper); goto then   \
    :: else                                                                    \
    fi                                                                         \
  }

#if BREAK == STAY_COUNTED || BREAK == NOT_COUNTED
#define SLEEPER 0
#else
#define SLEEPER 1
#endif

active [THREADS] proctype waiter() provided(interrupted != _pid) {
  byte rounds;

next_round:
  if
  :: rounds == ROUNDS -> goto done
  :: else -> rounds++
  fi;
  do
  :: TAKE(0, next_round)
  :: break
  od;
#if BREAK == LOCKED
  atomic { !lock -> lock = true };
  lock = false;
#endif
#if BREAK != NOT_COUNTED
  counted++;
#endif
again:
  TAKE(SLEEPER, next_round);
  atomic {
    if
#if BREAK == NOT_COMPARED
    :: asleep[_pid] = true
#else
    :: value == 0 -> asleep[_pid] = true
    :: else -> goto again
#endif
    fi
  };
  if
  :: !asleep[_pid] -> goto again
  :: atomic { asleep[_pid] && spurious > 0 -> asleep[_pid] = false; spurious-- };
     goto again
  :: atomic { asleep[_pid] && timeouts > 0 -> asleep[_pid] = false; timeouts-- }
  fi;
  TAKE(SLEEPER, next_round); /* It may have been given to us. */
  counted--;
  goto next_round;

done:
  finished++
}

inline wake_one() {
  atomic {
    if
    :: asleep[0] -> asleep[0] = false
    :: asleep[1] -> asleep[1] = false
#if THREADS > 2
    :: asleep[2] -> asleep[2] = false
#endif
    :: else
    fi
  }
}

/* Each of its posts may be of a thread of its own, or of a handler in a waiter. */
active proctype poster() {
  byte posts, sleepers;
  do
  :: posts == THREADS * ROUNDS -> break
  :: else ->
     posts++;
     if
     :: atomic { select(sleepers : 0 .. THREADS - 1); interrupted = sleepers }
     :: skip
     fi;
#if BREAK == LOCKED
     atomic { !lock -> lock = true };
#endif
#if BREAK == LATE_COUNT
     sleepers = counted;
     value++;
#elif BREAK == WAKE_AT_ZERO
     atomic { sleepers = (value == 0 -> counted : 0); value++ };
#else
     atomic { sleepers = counted; value++ };
#endif
     if
     :: sleepers > 0 -> wake_one()
     :: else
     fi;
#if BREAK == LOCKED
     lock = false;
#endif
     interrupted = NOBODY
  od
}

/* Whoever is left waiting is a deadlock. */
active proctype end() {
  finished == THREADS;
  assert(counted == 0)
}
