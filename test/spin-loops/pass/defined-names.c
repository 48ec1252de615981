// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a name of the C library tells counts only for its own function. Where the program defines
// the function by itself, its body decides: a sched_yield that switches fibers does work.
//
// RUN: %vf_clang -O2 -DDEFINED -S -emit-llvm %s -o - -Rpass=vf-spin -Rpass-missed=vf-spin 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=LIBC
// Bodies that a header has for inlining only are libc's.
// RUN: %vf_clang -O2 -DINLINE -S -emit-llvm %s -o - | FileCheck %s --check-prefix=LIBC
// In a link, the definition may be another file's.
// RUN: clang -O2 -S -emit-llvm %s -o %t.loop.ll
// RUN: clang -O2 -S -emit-llvm -DDEFINED -DNO_LOOP %s -o %t.own.ll
// RUN: llvm-link -S %t.loop.ll %t.own.ll -o %t.both.ll
// RUN: %vf_opt -passes='vf-spin-loops<mode=block>' -S %t.loop.ll | FileCheck %s --check-prefix=LIBC
// RUN: %vf_opt -passes='vf-spin-loops<mode=block>' -S %t.both.ll | FileCheck %s --check-prefix=LINKED

extern int flag;
int sched_yield(void);
struct fiber;
void switch_to(struct fiber *);

#ifdef DEFINED
extern struct fiber *next;
__attribute__((noinline)) int sched_yield(void) {
  switch_to(next);
  return 0;
}
#endif
#ifdef INLINE
int yield_of_libc(void) __asm__("sched_yield");
extern inline __attribute__((gnu_inline)) int sched_yield(void) { return yield_of_libc(); }
#endif

#ifndef NO_LOOP
// OWN: defined-names.c:[[#@LINE+8]]:{{.*}}left as it is: it calls 'sched_yield', whose effects are unknown
// OWN-LABEL: define {{.*}}@await(
// OWN-NOT: @vf_spin_wait
// LINKED-LABEL: define {{.*}}@await(
// LINKED-NOT: @vf_spin_wait
// LIBC-LABEL: define {{.*}}@await(
// LIBC: @vf_spin_wait_or_fallback(
void await(void) {
  while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
    sched_yield();
}
#endif
