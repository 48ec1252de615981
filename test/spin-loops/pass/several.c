// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits whose condition reads several words: one key, which the writers of each of the words notify.
// 2304 is VF_SPIN_SEVERAL | VF_SPIN_NOTIFIED, 2048 the former alone.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <stdatomic.h>
#include <pthread.h>

enum { Slots = 4 };
struct slot {
  _Alignas(64) atomic_int pending;
};

// The sum of an array's words: the array is the key. Redis' main thread waits like that.
struct slot pending[Slots];
extern int threads;

// CHECK-LABEL: define {{.*}}@await_all(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(ptr {{.*}}@pending, i64 0, i64 %{{.*}}, i32 10496)
void await_all(void) {
  for (;;) {
    int sum = 0;
    for (int i = 0; i < Slots; ++i)
      sum += atomic_load(&pending[i].pending);
    if (sum == 0)
      return;
  }
}

// Both for a wait on this word alone, and for one on all.
// CHECK-LABEL: define {{.*}}@await_one(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(ptr {{.*}}%{{.*}}, i64 0, i64 %{{.*}}, i32 8452)
void await_one(int id) {
  while (atomic_load(&pending[id].pending) == 0) {
  }
}
// CHECK-LABEL: define {{.*}}@set_one(
// CHECK: store atomic i32 %{{.*}}, ptr %[[SLOT:[a-z0-9.]+]] seq_cst, align 64, {{.*}}!vf.spin.notifies
// CHECK-DAG: call void @vf_spin_notify(ptr{{.*}} @pending)
// CHECK-DAG: call void @vf_spin_notify(ptr{{.*}} %[[SLOT]])
// CHECK: ret void
void set_one(int id, int value) { atomic_store(&pending[id].pending, value); }

// Two fields: the first is the key, and who writes the second knows where that is.
struct ring {
  atomic_uint head;
  _Alignas(64) atomic_uint tail;
};
// CHECK-LABEL: define {{.*}}@await_item(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(ptr {{.*}}%0, i64 0, i64 %{{.*}}, i32 10496)
void await_item(struct ring *r) {
  while (atomic_load(&r->head) == atomic_load(&r->tail)) {
  }
}
// CHECK-LABEL: define {{.*}}@push(
// CHECK: %[[TAIL:[0-9]+]] = getelementptr {{.*}}, ptr %0, i64 64
// CHECK: atomicrmw add ptr %[[TAIL]],
// CHECK: call void @vf_spin_notify(ptr{{.*}} %0)
void push(struct ring *r) { atomic_fetch_add(&r->tail, 1); }
// CHECK-LABEL: define {{.*}}@pop(
// CHECK: atomicrmw add ptr %0,
// CHECK: call void @vf_spin_notify(ptr{{.*}} %0)
void pop(struct ring *r) { atomic_fetch_add(&r->head, 1); }

// Words of different objects: a constant that both writers know.
struct worker {
  int id;
  atomic_short job;
};
atomic_char stop;
// CHECK-LABEL: define {{.*}}@await_job(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(ptr {{.*}}inttoptr (i64 [[KEY:-[0-9]+]] to ptr), i64 0, i64 %{{.*}}, i32 10496)
int await_job(struct worker *w) {
  while (atomic_load(&w->job) == 0 && atomic_load(&stop) == 0) {
  }
  return w->id;
}
// CHECK-LABEL: define {{.*}}@give(
// CHECK: call void @vf_spin_notify(ptr{{.*}} inttoptr (i64 [[KEY]] to ptr))
void give(struct worker *w) { atomic_store(&w->job, 1); }
// CHECK-LABEL: define {{.*}}@stop_all(
// CHECK: call void @vf_spin_notify(ptr{{.*}} inttoptr (i64 [[KEY]] to ptr))
void stop_all(void) { atomic_store(&stop, 1); }

// Why not notified: nothing here writes the second word, so whoever does would not wake the waiter.
struct half {
  atomic_long seen, unseen;
};
// CHECK-LABEL: define {{.*}}@not_notified(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(ptr {{.*}}%0, i64 0, i64 %{{.*}}, i32 2048)
void not_notified(struct half *h) {
  while (atomic_load(&h->seen) == 0 && atomic_load(&h->unseen) == 0) {
  }
}
void see(struct half *h) { atomic_store(&h->seen, 1); }

// Why no key: a library's lock tells nobody that it was given up.
// CHECK-LABEL: define {{.*}}@not_a_word(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(ptr {{.*}}null, i64 0, i64 %{{.*}}, i32 1024)
void not_a_word(pthread_mutex_t *m) {
  while (atomic_load(&stop) == 0 && pthread_mutex_trylock(m) != 0) {
  }
}

// All words are looked at until one is found that has not passed: the loop over
// them ends when others have written them all.
// CHECK-LABEL: define {{.*}}@await_passed(
// CHECK: call {{(preserve_mostcc )?}}i64 @vf_spin_wait_or_fallback(
void await_passed(atomic_ulong *passed, unsigned n, unsigned long mine) {
  unsigned i;
again:
  for (i = 0; i < n; ++i)
    if (atomic_load_explicit(&passed[i], memory_order_acquire) < mine) {
      __asm__ volatile("pause");
      goto again;
    }
}
// What this thread has counted itself ends the other loop in the end.
// CHECK-LABEL: define {{.*}}@count_passed(
// CHECK-NOT: call {{.*}}@vf_spin_
// CHECK: ret void
void count_passed(unsigned long *counts, unsigned n, unsigned long mine) {
  unsigned i;
again:
  for (i = 0; i < n; ++i)
    if (++counts[i] < mine) {
      __asm__ volatile("pause");
      goto again;
    }
}
