// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory behind a pointer that nothing in sight writes, looked at with delays:
// may be a device, and is nobody's wait for a thread.
//
// RUN: %verify_c %s -o /dev/null

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct registers { volatile unsigned status; };
struct mailbox { volatile unsigned full; };
extern void (*delay_us)(unsigned);

int reset_device(struct registers *r) {
  // expected-remark-re@+1 {{(device register) {{.*}}it may poll a device}}
  for (int i = 0; i < 100; ++i) {
    if (r->status & 1)
      return 0;
    delay_us(10);
  }
  return -1;
}

int reset_slow_device(struct registers *r) {
  // expected-remark-re@+1 {{(device register) {{.*}}it may poll a device}}
  while (!(r->status & 1))
    usleep(10);
  return 0;
}

// The program writes it: no device.
void send(struct mailbox *m) { m->full = 1; }
void receive(struct mailbox *m) {
  // expected-remark-re@+1 {{(flag poll) on volatile memory {{.*}}it calls 'delay_us', whose effects are unknown}}
  while (!m->full)
    delay_us(10);
}

// An atomic is meant for threads.
void wait_atomic(atomic_int *flag) {
  // expected-remark@+1 {{(flag poll) on atomic memory behind a pointer left as it is: it sleeps between polls}}
  while (!atomic_load(flag))
    usleep(10);
}

// A lock is no device.
void wait_lock(pthread_mutex_t *m) {
  // expected-remark@+1 {{(trylock calls) on a lock left as it is: it sleeps between polls}}
  while (pthread_mutex_trylock(m))
    usleep(10);
}

// Nor is a local variable, which a callback writes.
void start(void (*done)(void *), void *);
void on_done(void *);
void wait_callback(void) {
  volatile int active = 1;
  start(on_done, (void *)&active);
  // expected-remark-re@+1 {{(flag poll) on volatile memory {{.*}}it sleeps between polls}}
  while (active)
    usleep(10);
}
