/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime/blocking-sync/mutex.c with parking.c in a forked child, for every
 * interleaving: whatever the parent's other threads were doing with the mutex at the
 * fork, in the child its own threads get it, and none of them sleeps for ever.
 *
 * The child begins with all that the parent may have left in memory, and more: a
 * mutex that the forking thread holds or nobody, with any marks; a queue of threads
 * that are not there; a bucket locked by one of them. The kernel, or the fork handler,
 * empties the table. Then the thread that forked and CHILDREN new ones use the mutex. The
 * parent goes on in its own memory as if nothing was; that is mutex.pml's.
 *
 * As in mutex.pml, what depends on time may go either way at any moment, and memory
 * is in order. Two generations, as nothing but their being equal or not is looked at.
 *
 * -DBREAK=n leaves out one thing that matters; fork.test sees each found.
 */

#ifndef CHILDREN
#define CHILDREN 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define KEEP_GENERATION 1 /* does not count generations: SPINNING stays valid */
#define KEEP_QUEUE 2      /* the child still has the parent's waiters queued */
#define KEEP_BUCKET 3     /* the bucket's lock stays with who had it */
#define TRUST_PARKED 4    /* counts on a waiter where PARKED is set */

#define THREADS (CHILDREN + 1)
#define FORKER 0
#define GHOST THREADS /* a thread of the parent */

#define HELD 1
#define PARKED 2
#define SPINNING 4
#define MARKS 7
#define GENERATION 8 /* times generation */

byte word, holders, finished, generation;
bool forked, bucket;
chan queue = [THREADS] of { byte };
#define NONE 0
#define RETRY 1
#define HANDED 2
byte woken[THREADS + 1];

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

#define HAS_SPINNER(w) (((w) & SPINNING) && (w) / GENERATION == generation)
#define WITH_SPINNER(w) (((w) & MARKS) | SPINNING | (generation * GENERATION))
#define WITHOUT_SPINNER(w) ((w) & MARKS & ~SPINNING)
#define MINE(w) ((spinning -> WITHOUT_SPINNER(w) : (w)))

active [THREADS] proctype thread() {
  byte w, first, left;
  bool spinning, again, hand_over;

  if
  :: _pid == FORKER -> goto fork
  :: _pid != FORKER -> forked
  fi;

next_round:
  spinning = false;

  /* vf_mutex_lock */
  atomic { if :: word == 0 -> word = HELD; goto have :: else fi };

  /* spin_first */
  w = word;
  if
  :: HAS_SPINNER(w) -> goto spin
  :: else -> CAS(WITH_SPINNER(w), marked); goto spin
  fi;
marked:
  spinning = true;
spin:
  do
  :: w = word;
     if
     :: !(w & HELD) -> CAS(MINE(w) | HELD, have)
     :: (w & HELD) && spinning && !(w & PARKED) -> CAS(WITHOUT_SPINNER(w), naps)
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
  if
  :: !(w & HELD) -> UNLOCK_BUCKET; goto spin
  :: else
  fi;
  CAS(MINE(w) | PARKED, queued);
  goto validate;
queued:
  atomic { spinning = false; woken[_pid] = NONE; queue!_pid };
  UNLOCK_BUCKET;
  woken[_pid] != NONE;
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
  atomic { if :: word == HELD -> word = 0; goto released :: else fi };
  w = word;
unlock:
  if
  :: (w & PARKED) && HAS_SPINNER(w) -> goto skip_wake
  :: w & PARKED -> goto unpark /* none spins, or MAX_SKIPS are reached */
  :: !(w & PARKED) -> goto skip_wake
  fi;
skip_wake:
  CAS((HAS_SPINNER(w) -> w & ~HELD : 0), released);
  goto unlock;

unpark:
  LOCK_BUCKET;
  w = word;
  left = len(queue);
  if
  :: hand_over = true
  :: hand_over = false
  fi;
release:
#if BREAK != TRUST_PARKED
  if
  :: left == 0 ->
     CAS((HAS_SPINNER(w) -> w & ~(HELD | PARKED) : 0), unlock_bucket);
     goto release
  :: else
  fi;
#else
  if
  :: left == 0 -> goto unlock_bucket
  :: else
  fi;
#endif
#define LEFT(w) ((left > 1 -> (w) | PARKED : (w) & ~PARKED))
  if
  :: hand_over -> CAS(LEFT(w), handed)
  :: !hand_over && HAS_SPINNER(w) -> CAS((w | PARKED) & ~HELD, unlock_bucket)
  :: !hand_over && !HAS_SPINNER(w) -> CAS(WITH_SPINNER(LEFT(w) & ~HELD), woke)
  fi;
  goto release;
handed:
  queue?first; woken[first] = HANDED; goto unlock_bucket;
woke:
  queue?first; woken[first] = RETRY;
unlock_bucket:
  UNLOCK_BUCKET;
released:
  if
  :: again -> again = false; goto next_round
  :: else -> goto done
  fi;

fork:
  atomic {
    if /* the mutex: ours, or free */
    :: word = HELD; again = true
    :: word = 0
    fi;
    if
    :: word = word | PARKED
    :: skip
    fi;
    if
    :: word = word | SPINNING
    :: skip
    fi;
    if
    :: queue!GHOST
    :: skip
    fi;
    if
    :: bucket = true
    :: skip
    fi;
    /* MADV_WIPEONFORK, or wipe; vf_generation counts on first use */
#if BREAK != KEEP_GENERATION
    generation++;
#endif
#if BREAK != KEEP_BUCKET
    bucket = false;
#endif
#if BREAK != KEEP_QUEUE
    do
    :: queue?first
    :: empty(queue) -> break
    od;
#endif
    forked = true
  };
  if
  :: again -> goto have
  :: else -> goto next_round
  fi;

done:
  finished++
}

/* Whoever is left waiting is a deadlock. The word claims nothing that is not so, but
 * what the parent left there. */
active proctype end() {
  finished == THREADS;
  assert(len(queue) == 0 && !(word & HELD) && !HAS_SPINNER(word) && !bucket)
}
