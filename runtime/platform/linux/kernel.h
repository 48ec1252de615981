/*===- platform/linux/kernel.h - System calls that waits use --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Clock, yield, sleep, futex and CPUs. All functions preserve errno, are
 * async-signal-safe, and are not cancellation points, because a spin loop was
 * not one before it was rewritten.
 *
 * Uses syscall() and restores errno instead of inline assembly: one
 * implementation works on every architecture, and its three additional
 * instructions are negligible beside a system call.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_KERNEL_H
#define VFRIENDLY_PLATFORM_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns the monotonic clock in nanoseconds. A call takes 21 ns on the
 * development machine, by the vDSO. Never fails. */
static inline uint64_t vf_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the CPU time of the process in nanoseconds. A call takes some 0.3 us,
 * and more with each thread that runs. */
static inline uint64_t vf_process_ns(void) {
  int saved = errno;
  struct timespec t = {0, 0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  errno = saved;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns a number of the calling thread. Two threads have the same only if
 * their memory is a multiple of 4 GiB apart. */
static inline uint32_t vf_self(void) { return (uint32_t)(uintptr_t)&errno; }

static inline struct timespec vf_timespec(uint64_t ns) {
  struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  return t;
}

static inline void vf_yield(void) {
  int saved = errno;
  syscall(SYS_sched_yield);
  errno = saved;
}

/* Sleeps for ns nanoseconds, or until a signal arrives. */
static inline void vf_sleep_ns(uint64_t ns) {
  int saved = errno;
  struct timespec t = vf_timespec(ns);
  syscall(SYS_nanosleep, &t, NULL);
  errno = saved;
}

/* Sleeps while *word == value, at most ns. Returns 0 (woken, perhaps without
 * cause), EAGAIN (*word differed), EINTR or ETIMEDOUT. */
static inline int vf_futex_wait(uint32_t *word, uint32_t value, uint64_t ns) {
  int saved = errno;
  struct timespec t = vf_timespec(ns);
  int result = 0;
  if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0) != 0)
    result = errno;
  errno = saved;
  return result;
}

/* A deadline: a time on a clock. A null pointer means no deadline. */
struct vf_deadline {
  clockid_t clock; /* CLOCK_MONOTONIC or CLOCK_REALTIME */
  struct timespec at;
};

/* Whether a futex word is used by one process, or by several that may map it at
 * different addresses. */
enum vf_scope { VF_PRIVATE = FUTEX_PRIVATE_FLAG, VF_ACROSS = 0 };

/* Like vf_futex_wait, with a deadline. */
static inline int vf_futex_wait_until(uint32_t *word, uint32_t value,
                                      const struct vf_deadline *deadline,
                                      enum vf_scope scope) {
  int saved = errno;
  int op = FUTEX_WAIT_BITSET | (int)scope;
  if (deadline && deadline->clock == CLOCK_REALTIME)
    op |= FUTEX_CLOCK_REALTIME;
  int result = 0;
  if (syscall(SYS_futex, word, op, value, deadline ? &deadline->at : NULL, NULL,
              FUTEX_BITSET_MATCH_ANY) != 0)
    result = errno;
  errno = saved;
  return result;
}

/* Wakes at most n of the threads that sleep on word. The word is a key and is
 * not read. */
static inline void vf_futex_wake(uint32_t *word, int n, enum vf_scope scope) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE | (int)scope, n, NULL, NULL, 0);
  errno = saved;
}

/* Returns the number of CPUs on which the calling thread may run, or 0 if there
 * are more than 8192. */
static inline uint32_t vf_cpus(void) {
  int saved = errno;
  uint64_t mask[128];
  long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  uint32_t cpus = 0;
  for (long i = 0; i < size / (long)sizeof *mask; ++i)
    cpus += (uint32_t)__builtin_popcountll(mask[i]);
  errno = saved;
  return cpus;
}

/* Wakes all threads that sleep on word. Returns their number. */
static inline uint32_t vf_futex_wake_all(uint32_t *word) {
  int saved = errno;
  long woken =
      syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  errno = saved;
  return woken > 0 ? (uint32_t)woken : 0;
}

#endif /* VFRIENDLY_PLATFORM_KERNEL_H */
