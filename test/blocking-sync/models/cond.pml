/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime/blocking-sync/cond.c with parking.c and what both use of mutex.c, for every
 * interleaving: who waits for a token gets one, if there are enough, whether they are
 * signalled one by one or broadcast, with the mutex or without.
 *
 * One queue for the condition, one for the mutex, each with its bucket. Of the mutex
 * only what its queue needs: HELD and PARKED, and an unlock that wakes the first to
 * try again. Spinners and handing over are mutex.pml's, and orders.py runs all of it
 * together. Deadlines come whenever a waiter sleeps, TIMEOUTS times in a run: without
 * end, they would hide a lost wake-up. Not here: waiters with a mutex that cannot have
 * a queue, which stay with the condition; conditions in shared memory, which count.
 * Memory is in order.
 *
 * -DBREAK=n leaves out one thing that matters; cond.test sees each found.
 */

#ifndef THREADS
#define THREADS 3 /* the last of them signals */
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define LATE_QUEUE 1    /* releases the mutex before it is queued */
#define DROP_QUEUED 2   /* a signal leaves others queued and says there are none */
#define MOVE_ALWAYS 3   /* broadcasts to the queue of a mutex that nobody holds */
#define MOVE_UNMARKED 4 /* moves to the mutex's queue and does not set PARKED */
#define LEAVE_BLINDLY 5 /* a deadline takes it out of the queue it was first in */
#define EARLY_WORD 6    /* says that someone is queued before it has the bucket */

#define WAITERS (THREADS - 1)
#define HELD 1
#define PARKED 2

byte word, holders, tokens, finished;
byte timeouts = TIMEOUTS;
bool cond_word;
/* Buckets: 0 is the condition's, 1 the mutex's. */
#define COND 0
#define MUTEX 1
bool bucket[2];
chan cond_queue = [THREADS] of { byte };
chan mutex_queue = [THREADS] of { byte };
bool woken[THREADS];
bit key[THREADS];

#define LOCK_BUCKET(k) atomic { !bucket[k] -> bucket[k] = true }
#define UNLOCK_BUCKET(k) bucket[k] = false

/* vf_mutex_lock, without spinning. */
inline lock() {
  do
  :: atomic { !(word & HELD) -> word = word | HELD; break }
  :: else ->
     LOCK_BUCKET(MUTEX);
     /* Whether it is held and that it is parked for are one compare-and-swap. */
     atomic {
       if
       :: word & HELD ->
          word = word | PARKED;
          woken[_pid] = false;
          key[_pid] = MUTEX;
          mutex_queue!_pid;
          bucket[MUTEX] = false;
          queued = true
       :: else -> bucket[MUTEX] = false; queued = false
       fi
     };
     if
     :: queued -> woken[_pid]
     :: else
     fi
  od;
  holders++;
  assert(holders == 1)
}

inline unlock() {
  holders--;
  if
  :: atomic { word == HELD -> word = 0 }
  :: else ->
     LOCK_BUCKET(MUTEX);
     atomic {
       if
       :: mutex_queue?who -> word = (len(mutex_queue) > 0 -> PARKED : 0)
       :: empty(mutex_queue) -> word = 0; who = THREADS
       fi
     };
     if
     :: who < THREADS -> woken[who] = true
     :: else
     fi;
     UNLOCK_BUCKET(MUTEX)
  fi
}

active [WAITERS] proctype waiter() {
  byte who;
  bool queued, left, here;
  bit old_key;

  lock();
  do
  :: tokens > 0 -> break
  :: tokens == 0 ->
     /* wait_private */
#if BREAK == LATE_QUEUE
     unlock();
#endif
#if BREAK == EARLY_WORD
     cond_word = true;
#endif
     LOCK_BUCKET(COND);
#if BREAK != EARLY_WORD
     cond_word = true;
#endif
     atomic { woken[_pid] = false; key[_pid] = COND; cond_queue!_pid };
     UNLOCK_BUCKET(COND);
#if BREAK != LATE_QUEUE
     unlock();
#endif
     if
     :: woken[_pid]
     :: atomic { !woken[_pid] && timeouts > 0 -> timeouts-- };
        do /* leave */
        :: old_key = key[_pid];
           LOCK_BUCKET(old_key);
           left = !woken[_pid];
#if BREAK == LEAVE_BLINDLY
           here = true;
           atomic {
             if
             :: left && cond_queue??[eval(_pid)] -> cond_queue??eval(_pid)
             :: else
             fi
           };
#else
           here = key[_pid] == old_key;
           if
           :: left && here && old_key == COND -> cond_queue??eval(_pid)
           :: left && here && old_key == MUTEX -> mutex_queue??eval(_pid)
           :: else
           fi;
#endif
           UNLOCK_BUCKET(old_key);
           if
           :: !left || here -> break
           :: else
           fi
        od
     fi;
     lock()
  od;
  tokens--;
  unlock();
  finished++
}

/* vf_cond_signal */
inline signal() {
  if
  :: !cond_word
  :: cond_word ->
     LOCK_BUCKET(COND);
     if
     :: cond_queue?who ->
#if BREAK == DROP_QUEUED
        cond_word = false;
#else
        cond_word = len(cond_queue) > 0;
#endif
        woken[who] = true
     :: empty(cond_queue) -> cond_word = false
     fi;
     UNLOCK_BUCKET(COND)
  fi
}

/* vf_cond_broadcast; all who wait want the one mutex. */
inline broadcast() {
  if
  :: !cond_word
  :: cond_word ->
     LOCK_BUCKET(COND);
     LOCK_BUCKET(MUTEX);
     must = false;
     do
     :: cond_queue?who ->
        /* vf_mutex_may_move */
        atomic {
          if
#if BREAK == MOVE_ALWAYS
          :: true ->
#else
          :: (word & HELD) || must ->
#endif
#if BREAK != MOVE_UNMARKED
             word = word | PARKED;
#endif
             moves = true
          :: else -> moves = false
          fi
        };
        if
        :: moves -> atomic { key[who] = MUTEX; mutex_queue!who }
        :: else -> must = true; first = who
        fi
     :: empty(cond_queue) -> break
     od;
     cond_word = false;
     if
     :: must -> woken[first] = true
     :: else
     fi;
     atomic { UNLOCK_BUCKET(COND); UNLOCK_BUCKET(MUTEX) }
  fi
}

/* A token for each waiter: given one by one, or all at once. */
active proctype signaller() {
  byte who, given, first;
  bool queued, must, moves, at_once, inside;

  if
  :: at_once = true
  :: at_once = false
  fi;
  do
  :: given == WAITERS -> break
  :: else ->
     lock();
     if
     :: at_once -> tokens = WAITERS; given = WAITERS
     :: else -> tokens++; given++
     fi;
     if
     :: inside = true
     :: inside = false -> unlock()
     fi;
     if
     :: at_once -> broadcast()
     :: else -> signal()
     fi;
     if
     :: inside -> unlock()
     :: else
     fi
  od;
  finished++
}

/* Whoever is left waiting is a deadlock. */
active proctype end() {
  finished == THREADS;
  assert(tokens == 0 && len(cond_queue) == 0 && len(mutex_queue) == 0);
  assert(!(word & HELD))
}
