/*===- blocking-sync/rwlock.c - Read-write locks --------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The gate is a mutex, lock->gate_, that a writer holds from its request to its
 * unlock. The writer marks the word GATED, so that new readers also queue for
 * the gate, and then waits until the readers that hold the lock have released
 * it. To unlock, a writer only unlocks the gate and leaves the mark; the next
 * reader that acquires the gate clears the mark. So the lock is not accessed
 * once it is free.
 *===----------------------------------------------------------------------===*/

#include "vfriendly/rwlock.h"
#include "blocking-sync/mutex.h"
#include "blocking-sync/waiting.h"
#include "common/sites.h"

/* Makes new readers queue for the gate (lock->gate_). A writer that holds the
 * gate sets this bit; a reader that holds the gate clears it. The bit may be
 * set when there is no writer: a reader then has to take the gate. */
#define GATED (1u << 31)
/* Set while the writer sleeps until the last reader has left. Only the writer
 * sets and clears it. */
#define SLEEPER (1u << 30)
#define READERS (SLEEPER - 1)

static uint32_t load(const vf_rwlock *lock) {
  return __atomic_load_n(&lock->word_, __ATOMIC_RELAXED);
}

/* Compare-and-swap of the lock word. It has acquire order even on failure,
 * because the value that it then loads may tell a writer that the last reader
 * has left. */
static bool change(vf_rwlock *lock, uint32_t *from, uint32_t to) {
  return __atomic_compare_exchange_n(&lock->word_, from, to, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Acquires the lock as a reader that does not take the gate. Returns EBUSY if
 * GATED is set, so that the reader must take the gate. */
static int read_past_gate(vf_rwlock *lock) {
  uint32_t word = load(lock);
  while (!(word & GATED)) {
    if ((word & READERS) == READERS)
      return EAGAIN;
    if (change(lock, &word, word + 1))
      return 0;
  }
  return EBUSY;
}

/* Takes the lock as a reader and releases the gate. pre: the caller holds the
 * gate, so there is no writer. GATED is cleared in release order: readers that
 * find it cleared see what the writer wrote. */
static int read_at_gate(vf_rwlock *lock) {
  uint32_t word = load(lock);
  int result = 0;
  do {
    if ((word & READERS) == READERS) {
      result = EAGAIN;
      break;
    }
  } while (!change(lock, &word, (word & ~GATED) + 1));
  vf_mutex_unlock(&lock->gate_);
  return result;
}

/* Makes new readers wait, and waits until the readers that hold the lock have
 * released it. pre: the caller holds the gate, the mutex of writers. */
static int drain(vf_rwlock *lock, const struct vf_deadline *deadline,
                 uintptr_t site) {
  uint32_t word = __atomic_or_fetch(&lock->word_, GATED, __ATOMIC_ACQUIRE);
  if ((word & READERS) == 0)
    return 0;
  struct vf_visit visit = vf_visit_begin(site);
  uint64_t state = 0;
  while ((word & READERS) != 0 && vf_keep_spinning(&state, deadline))
    word = __atomic_load_n(&lock->word_, __ATOMIC_ACQUIRE);

  int result = 0;
  while ((word & READERS) != 0 && result != ETIMEDOUT) {
    if (!(word & SLEEPER)) {
      if (!change(lock, &word, word | SLEEPER))
        continue;
      word |= SLEEPER;
    }
    vf_visit_slept(&visit);
    result = vf_futex_wait_until(&lock->word_, word, deadline,
                                 vf_scope(lock->flags_));
    word = load(lock);
  }
  if (word & SLEEPER) /* Acquires, because load() above is relaxed. */
    word = __atomic_and_fetch(&lock->word_, ~SLEEPER, __ATOMIC_ACQUIRE);
  vf_visit_end(&visit);
  if ((word & READERS) == 0)
    return 0;
  vf_mutex_unlock(&lock->gate_);
  return ETIMEDOUT;
}

VF_API int vf_rwlock_init(vf_rwlock *lock, unsigned flags) {
  if (!vf_flags_are_good(flags))
    return EINVAL;
  vf_mutex_init(&lock->gate_, flags);
  lock->word_ = 0;
  lock->flags_ = flags;
  return 0;
}

VF_API int vf_rwlock_destroy(vf_rwlock *lock) {
  return load(lock) & READERS ? EBUSY : vf_mutex_destroy(&lock->gate_);
}

VF_API int vf_rwlock_rdlock(vf_rwlock *lock) {
  int result = read_past_gate(lock);
  if (result != EBUSY)
    return result;
  vf_mutex_lock_at(&lock->gate_, VF_CALLER);
  return read_at_gate(lock);
}

VF_API int vf_rwlock_tryrdlock(vf_rwlock *lock) {
  int result = read_past_gate(lock);
  if (result != EBUSY || vf_mutex_trylock(&lock->gate_) != 0)
    return result;
  return read_at_gate(lock);
}

VF_API int vf_rwlock_clockrdlock(vf_rwlock *lock, clockid_t clock,
                                 const struct timespec *at) {
  int result = read_past_gate(lock);
  if (result != EBUSY)
    return result;
  result = vf_mutex_clocklock_at(&lock->gate_, clock, at, VF_CALLER);
  return result ? result : read_at_gate(lock);
}

VF_API int vf_rwlock_wrlock(vf_rwlock *lock) {
  vf_mutex_lock_at(&lock->gate_, VF_CALLER);
  return drain(lock, NULL, VF_CALLER);
}

VF_API int vf_rwlock_trywrlock(vf_rwlock *lock) {
  if (vf_mutex_trylock(&lock->gate_) != 0)
    return EBUSY;
  uint32_t word = load(lock);
  while ((word & READERS) == 0)
    if (change(lock, &word, word | GATED))
      return 0;
  vf_mutex_unlock(&lock->gate_);
  return EBUSY;
}

VF_API int vf_rwlock_clockwrlock(vf_rwlock *lock, clockid_t clock,
                                 const struct timespec *at) {
  if (vf_rwlock_trywrlock(lock) == 0)
    return 0;
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  if (!error)
    error = vf_mutex_clocklock_at(&lock->gate_, clock, at, VF_CALLER);
  return error ? error : drain(lock, &deadline, VF_CALLER);
}

VF_API int vf_rwlock_unlock(vf_rwlock *lock) {
  /* Every reader is counted, so if there is none, the caller is the writer. */
  if ((load(lock) & READERS) == 0)
    return vf_mutex_unlock(&lock->gate_);
  enum vf_scope scope = vf_scope(lock->flags_);
  uint32_t before = __atomic_fetch_sub(&lock->word_, 1, __ATOMIC_RELEASE);
  if ((before & SLEEPER) && (before & READERS) == 1)
    vf_futex_wake(&lock->word_, 1, scope);
  return 0;
}
