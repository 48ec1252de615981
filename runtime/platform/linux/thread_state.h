/*===- platform/linux/thread_state.h - Which threads are off their CPUs ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   holder:  if (vf_thread_states_are_there())
 *              vf_set(&lock->thread, vf_own_thread(vf_cpu_plus_1()));
 *   waiter:  if (vf_thread_is_off(vf_get(&lock->thread)))
 *              ... blocks instead of spinning ...
 *
 * `gleaner hints`, if root runs it, gives each process a page in which the
 * kernel says which thread runs on each CPU, and of each thread whether it has
 * one (gleaner/hints.bpf.h). Reading takes no system call. The answer is a
 * hint: it may be outdated, or be that of another thread if the holder moved to
 * another CPU between two reads. Nothing may depend on its being right.
 *
 * Without the page no thread is off its CPU. A constructor of mutex.c asks for
 * it, as that of vcpu_state.h opens the device. In a process that is
 * privileged, or may have a filter of system calls, it asks for nothing. A
 * forked child uses the page of its parent.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_THREAD_STATE_H
#define VFRIENDLY_PLATFORM_THREAD_STATE_H

#include "platform/linux/vcpu_state.h"

/* The number of a thread in the page; 0 is unknown. */
typedef uint16_t vf_thread_number;

/* The page as mapped; written once. */
struct vf_thread_states {
  struct vf_vcpu_states cpus; /* no records: there is no page */
  const uint32_t *threads;    /* a word for each number */
};
extern struct vf_thread_states vf_thread_states;

/* Asks for the page where it is allowed to, at a socket or, if that is NULL, at
 * the one of the daemon. For a constructor. */
void vf_thread_states_begin(const char *socket);

/* Asks for the page at a socket, and maps it. pre: no other thread reads the
 * states yet. Returns 0 or an errno value: that of a system call, EINVAL if
 * what comes has another layout, EPERM if the one who answers is neither root
 * nor of the caller's user. */
int vf_thread_states_ask(const char *socket);
/* Maps a page that is an open file. */
int vf_thread_states_map(int file);

static inline const unsigned char *vf_thread_records(void) {
  return __atomic_load_n(&vf_thread_states.cpus.records, __ATOMIC_ACQUIRE);
}

static inline bool vf_thread_states_are_there(void) {
  return __builtin_expect(vf_thread_records() != NULL, 0);
}

/* Of gleaner/hints.bpf.h. */
#define VF_THREAD_NUMBERS 1024u
#define VF_THREAD_CURRENT_AT 68u
#define VF_THREAD_RUNS 1u
#define VF_THREAD_OFF 2u

/* Returns the caller's number, given its CPU. Inline, as the holder of a
 * contended lock calls it each time. pre: the page is there. */
static inline vf_thread_number vf_own_thread(vf_cpu cpu) {
  /* An unknown CPU is 0, or more than there are. */
  if ((vf_cpu)(cpu - 1) >= vf_thread_states.cpus.cpus)
    return 0;
  uint32_t number = __atomic_load_n(
      (const uint32_t *)(vf_thread_records() +
                         (size_t)(cpu - 1) * vf_thread_states.cpus.stride +
                         VF_THREAD_CURRENT_AT),
      __ATOMIC_RELAXED);
  /* The caller runs. Where another thing is said, nobody updates the page. */
  return number < VF_THREAD_NUMBERS &&
                 __atomic_load_n(&vf_thread_states.threads[number],
                                 __ATOMIC_RELAXED) == VF_THREAD_RUNS
             ? (vf_thread_number)number
             : 0;
}

/* Returns true if the thread has no CPU; false if that is unknown. pre: the
 * page is there. Not inline, so that tests and measurements can replace it. */
bool vf_thread_is_off(vf_thread_number number);

#endif /* VFRIENDLY_PLATFORM_THREAD_STATE_H */
