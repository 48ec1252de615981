/*===- spin-unmodified/next.h - The functions that are replaced -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_NEXT_H
#define VFRIENDLY_SPIN_UNMODIFIED_NEXT_H

#include <pthread.h>
#include <signal.h>
#include <threads.h>
#include <unistd.h>

typedef void (*vf_signal_handler)(int);

/* clang-format off */
#define VF_SPIN_NEXT_FUNCTIONS(F)                                              \
  F(pthread_create) F(thrd_create) F(sigaction) F(signal)                      \
  F(pthread_sigmask) F(sigprocmask) F(sigaltstack) F(syscall)
/* clang-format on */

struct vf_spin_next {
#define VF_SPIN_NEXT_MEMBER(name) __typeof__(name) *name;
  VF_SPIN_NEXT_FUNCTIONS(VF_SPIN_NEXT_MEMBER)
#undef VF_SPIN_NEXT_MEMBER
  int ready;
};

extern struct vf_spin_next vf_spin_next_table;

/* Asks the dynamic linker. The constructor does so; calls before it, of other
 * constructors, do so themselves. */
void vf_spin_next_look_up(void);

static inline const struct vf_spin_next *vf_spin_next(void) {
  if (!__atomic_load_n(&vf_spin_next_table.ready, __ATOMIC_ACQUIRE))
    vf_spin_next_look_up();
  return &vf_spin_next_table;
}

#endif /* VFRIENDLY_SPIN_UNMODIFIED_NEXT_H */
