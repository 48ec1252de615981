/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime/blocking-sync/mutex.c with parking.c, for every interleaving of their
 * accesses to the word, the bucket and the waiters: never two holders, and nobody
 * sleeps for ever.
 *
 * How a waiter falls asleep on its own word is preload-cond.pml's: here it is woken
 * once its word says so.
 *
 * Time does not exist here. What depends on it (is the spin over? is a waiter old
 * enough to be handed the lock? has the deadline come? were there MAX_SKIPS?) may go
 * either way at any moment, which is more than the code does. Memory is in order;
 * that the orders asked for are enough is for orders.py to say.
 * A waiter that parks again goes to the end of the queue, not the front. Looks of the
 * parked (-DLOOKS) would make up for what this is there to find: checked apart.
 *
 * -DBREAK=n leaves out one thing that matters; mutex.test sees each found.
 */

#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define PARK_UNSEEN 1   /* parks without looking whether the lock is still held */
#define KEEP_SPINNING 2 /* parks and leaves SPINNING set */
#define NO_PARKED 3     /* parks without setting PARKED */
#define DROP_PARKED 4   /* clears PARKED with others still queued */
#define SKIP_ALWAYS 5   /* relies on SPINNING when it is not set */
#define LATE_BUCKET 6   /* looks at the queue before it has the bucket's lock */
#define LOOK_WOKEN 7    /* leaves after a look, though it was woken meanwhile */

#define HELD 1
#define PARKED 2
#define SPINNING 4

byte word, holders, finished;
bool bucket;
chan queue = [THREADS] of { byte };
#define NONE 0
#define RETRY 1
#define HANDED 2
byte woken[THREADS];

#define LOCK_BUCKET atomic { !bucket -> bucket = true }
#define UNLOCK_BUCKET bucket = false

/* Compare and swap: w is what the word was. */
#define CAS(to, then)                                                          \
  atomic {                                                                     \
    if                                                                         \
    :: word == w -> word = (to); goto then                                     \
    :: else -> w = word                                                        \
    fi                                                                         \
  }

#define MINE(w) ((spinning -> (w) & ~SPINNING : (w)))

active [THREADS] proctype thread() {
  byte w, first, left, rounds;
  bool spinning, timed_out, hand_over;

next_round:
  if
  :: rounds == ROUNDS -> goto done
  :: else -> rounds++
  fi;
  spinning = false;

  /* vf_mutex_lock */
  atomic { if :: word == 0 -> word = HELD; goto have :: else fi };

  /* spin_first */
  w = word;
  if
  :: w & SPINNING -> goto spin
  :: else -> CAS(w | SPINNING, marked); goto spin
  fi;
marked:
  spinning = true;
spin:
  do
  :: w = word;
     if
     :: !(w & HELD) -> CAS(MINE(w) | HELD, have)
     :: (w & HELD) && spinning && !(w & PARKED) -> CAS(w & ~SPINNING, naps)
     :: w & HELD
     fi
  :: break
  od;
  goto park;
naps:
  spinning = false;
  goto spin;

park:
  LOCK_BUCKET;
  w = word;
validate:
#if BREAK != PARK_UNSEEN
  if
  :: !(w & HELD) -> UNLOCK_BUCKET; goto spin
  :: else
  fi;
#endif
#if BREAK == KEEP_SPINNING
  CAS(w | PARKED, queued);
#elif BREAK == NO_PARKED
  CAS(MINE(w), queued);
#else
  CAS(MINE(w) | PARKED, queued);
#endif
  goto validate;
queued:
  atomic { spinning = false; woken[_pid] = NONE; queue!_pid };
  UNLOCK_BUCKET;
  if
  :: woken[_pid] != NONE
#ifdef LOOKS
  :: !(word & HELD) && (word & SPINNING) -> /* is_left_free */
     LOCK_BUCKET;
     timed_out = woken[_pid] == NONE;
     if
     :: timed_out -> queue??eval(_pid)
     :: else
     fi;
     UNLOCK_BUCKET;
     if
#if BREAK == LOOK_WOKEN
     :: goto spin
#else
     :: timed_out -> goto spin
     :: else
#endif
     fi
#endif
#ifdef TIMEOUTS
  :: LOCK_BUCKET; /* the deadline */
     timed_out = woken[_pid] == NONE;
     if
     :: timed_out -> queue??eval(_pid)
     :: else
     fi;
     UNLOCK_BUCKET;
     if
     :: timed_out -> goto next_round
     :: else
     fi
#endif
  fi;
  if
  :: woken[_pid] == HANDED -> goto have
  :: woken[_pid] == RETRY -> spinning = true; goto spin
  fi;

have:
  holders++;
  assert(holders == 1);
  assert(word & HELD);
  holders--;

  /* vf_mutex_unlock */
  atomic { if :: word == HELD -> word = 0; goto next_round :: else fi };
  w = word;
unlock:
  if
#if BREAK == SKIP_ALWAYS
  :: w & PARKED -> goto skip_wake
#else
  :: (w & PARKED) && (w & SPINNING) -> goto skip_wake
#endif
  :: w & PARKED -> goto unpark /* none spins, or MAX_SKIPS are reached */
  :: !(w & PARKED) -> goto skip_wake
  fi;
skip_wake:
  CAS(w & ~HELD, next_round);
  goto unlock;

unpark:
#if BREAK == LATE_BUCKET
  left = len(queue);
#endif
  LOCK_BUCKET;
  w = word;
#if BREAK != LATE_BUCKET
  left = len(queue);
#endif
  if
  :: hand_over = true
  :: hand_over = false
  fi;
release:
  if
  :: left == 0 -> CAS(w & ~(HELD | PARKED), released); goto release
  :: else
  fi;
#if BREAK == DROP_PARKED
#define LEFT(w) ((w) & ~PARKED)
#else
#define LEFT(w) ((left > 1 -> (w) | PARKED : (w) & ~PARKED))
#endif
  if
  :: hand_over -> CAS(LEFT(w), handed)
  :: !hand_over && (w & SPINNING) -> CAS((w | PARKED) & ~HELD, released)
  :: !hand_over && !(w & SPINNING) -> CAS((LEFT(w) & ~HELD) | SPINNING, woke)
  fi;
  goto release;
handed:
  queue?first; woken[first] = HANDED; goto released;
woke:
  queue?first; woken[first] = RETRY;
released:
  UNLOCK_BUCKET;
  goto next_round;

done:
  finished++
}

/* Nobody sleeps for ever: deadlocks are errors by themselves, and whoever is left at
 * the end has finished. The word claims nothing that is not so, but for waiters that
 * timed out. */
active proctype end() {
  finished == THREADS;
  assert(len(queue) == 0 && !(word & (HELD | SPINNING)));
#ifndef TIMEOUTS
  assert(!bucket)
#endif
}
