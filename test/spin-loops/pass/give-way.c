// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that may do more than wait, with PAUSE in each iteration: they keep all iterations and yield
// between them. Each negative says why a yield would be wrong or of no use.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -mllvm -vf-spin=pause -S -emit-llvm %s -o - | FileCheck %s --check-prefix=PAUSE
// PAUSE-NOT: @vf_spin_wait
//
// REQUIRES: host-x86_64

#include <immintrin.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

struct queue;
void *pop(struct queue *q);
int is_idle(struct queue *q);
atomic_int flag, readers;
void set(void) { atomic_store(&flag, 1), atomic_store(&readers, 0); }

// The worker of a pool, before it blocks. 4097: no skipped polls, in blocks of 1.
// CHECK-LABEL: define {{.*}}@take(
// CHECK: call {{.*}}@vf_spin_wait_bounded_or_fallback(ptr null, i64 0, i64 %{{.*}}, i32 69632, i64 -1, ptr nonnull @vf.spin.cost
// CHECK-NOT: @vf_spin_wait
// CHECK: ret ptr
void *take(struct queue *q) {
  void *task = 0;
  // expected-remark-re@+1 {{on {{.*}} may do more than wait: it calls 'pop', whose effects are unknown; it keeps all iterations, and now yields where threads share CPUs}}
  for (int i = 0; i < 1 << 20 && !atomic_load(&flag); i++) {
    task = pop(q);
    if (task)
      break;
    _mm_pause();
  }
  return task;
}

// CHECK-LABEL: define {{.*}}@wait_counting(
// CHECK: call {{.*}}@vf_spin_wait_bounded_or_fallback(
unsigned wait_counting(void) {
  unsigned n = 0;
  // expected-remark@+1 {{may do more than wait: it keeps a count; it keeps all}}
  while (!atomic_load(&flag)) {
    n++;
    _mm_pause();
  }
  return n;
}

// Several pauses in turn are one delay: the polls are counted once.
// CHECK-LABEL: define {{.*}}@delay_written_out(
// CHECK-COUNT-1: call {{.*}}@vf_spin_wait_bounded_or_fallback(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void delay_written_out(struct queue *q) {
  // expected-remark@+1 {{may do more than wait: it calls 'is_idle'}}
  while (!is_idle(q)) {
    _mm_pause();
    _mm_pause();
    _mm_pause();
  }
}

// Its copies yield, too.
// CHECK-LABEL: define {{.*}}@inlined(
// CHECK-COUNT-2: call {{.*}}@vf_spin_wait_bounded_or_fallback(
static inline __attribute__((always_inline)) void wait_idle(struct queue *q) {
  // expected-remark@+1 {{may do more than wait: it calls 'is_idle'}}
  while (!is_idle(q))
    _mm_pause();
}
void inlined(struct queue *a, struct queue *b) {
  wait_idle(a);
  wait_idle(b);
}

// Not marked in the function that it is inlined into.
// CHECK-LABEL: define {{.*}}@kept_caller(
// CHECK-NOT: call {{.*}}@vf_spin_wait
// CHECK: ret void
__attribute__((annotate("vfriendly:keep"))) void kept_caller(struct queue *q) { wait_idle(q); }

// A loop of a marked function is kept where it is inlined, too.
// CHECK-LABEL: define {{.*}}@around_kept(
// CHECK-COUNT-1: call {{.*}}@vf_spin_wait_bounded_or_fallback(
// CHECK-NOT: call {{.*}}@vf_spin_wait
// CHECK: ret void
__attribute__((annotate("vfriendly:keep"), always_inline)) static inline void kept_pauses(int n) {
  for (int i = 0; i < n; i++)
    _mm_pause();
}
void around_kept(struct queue *q, int n) {
  // expected-remark@+1 {{may do more than wait: it calls 'is_idle'}}
  while (!is_idle(q)) {
    _mm_pause();
    kept_pauses(n);
  }
}

// A doubt that inlining ends: the last run finds no doubt, and the wait is rewritten as others.
// CHECK-LABEL: define {{.*}}@certain(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
static inline __attribute__((always_inline)) void wait_by(int (*ends)(void)) {
  // expected-remark@+2 {{it calls a function, whose effects are unknown}}
  // expected-remark@+1 {{(flag poll) on atomic 'flag' wastes its vCPU}}
  while (!ends())
    _mm_pause();
}
static int ended(void) { return atomic_load(&flag); }
void certain(void) { wait_by(ended); }

// CHECK-NOT: call {{.*}}@vf_spin_wait

// It yields already.
void yields(struct queue *q) {
  // expected-remark@+1 {{left as it is: it calls 'is_idle'}}
  while (!is_idle(q)) {
    _mm_pause();
    sched_yield();
  }
}

// What is a hint by its name may yield or sleep already.
void cpu_relax_or_yield(void);
void named(void) {
  // expected-remark@+1 {{left as it is: it calls 'cpu_relax_or_yield'}}
  while (!atomic_load(&flag))
    cpu_relax_or_yield();
}

// It sleeps.
void sleeps(struct queue *q) {
  // expected-remark@+1 {{left as it is: it calls 'is_idle'}}
  while (!is_idle(q)) {
    _mm_pause();
    usleep(10);
  }
}

// A device may need an answer in time.
void answer(unsigned);
void device(volatile unsigned *reg) {
  // expected-remark@+1 {{left as it is: it calls 'is_idle'}}
  while (!(*reg & 1)) {
    if (is_idle((struct queue *)reg))
      break;
    _mm_pause();
  }
}

// A signal handler.
void on_signal(int n) {
  // expected-remark@+1 {{left as it is: its function is a signal handler}}
  while (!is_idle(0))
    _mm_pause();
  (void)n;
}
void install(void) { signal(SIGUSR1, on_signal); }

// Marked.
__attribute__((annotate("vfriendly:keep"))) void kept(struct queue *q) {
  // expected-remark@+1 {{left as it is: its function is marked vfriendly:keep}}
  while (!is_idle(q))
    _mm_pause();
}

// No wait, so it need not give way: it works in most iterations, and without a remark.
// CHECK-LABEL: define {{.*}}@works(
// CHECK-NOT: call {{.*}}@vf_spin_wait
// CHECK: ret void
void run(int);
void works(void) {
  for (int n = 0; !atomic_load(&flag); ++n) {
    run(n);
    if (n % 64 == 0)
      continue;
    _mm_pause();
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
