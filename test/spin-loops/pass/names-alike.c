// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock that pauses 32 times and then calls a function: what the function is named does not decide about the polls between.
// What "pause" says depends on whose function it is.
//
// RUN: %verify_c %s -o /dev/null
// REQUIRES: host-x86_64

#include <errno.h>
#include <time.h>

static int grab(int *lock) { return __sync_lock_test_and_set(lock, 1) == 0; }
__attribute__((noinline)) void Delay(unsigned ms) {
  struct timespec a = {ms / 1000, (ms % 1000) * 1000000}, b;
  int r;
  do {
    errno = 0;
    b = a;
    r = nanosleep(&b, &a);
  } while (r && errno == EINTR);
}
__attribute__((noinline)) void Other(unsigned ms) { Delay(ms); }

void lock_delaying(int *lock) {
  int tries = 0;
  while (!grab(lock)) { // expected-remark 1+ {{spin loop}}
    if (tries < 32) {
      tries++;
      __asm__ __volatile__("pause\n");
    } else
      Delay(0);
  }
}
void lock_otherwise(int *lock) {
  int tries = 0;
  while (!grab(lock)) { // expected-remark 1+ {{spin loop}}
    if (tries < 32) {
      tries++;
      __asm__ __volatile__("pause\n");
    } else
      Other(0);
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}

// POSIX's pause blocks until a signal arrives; a program's own is a hint.
static volatile int signals;
int pause(void);
void wait_for_signal(void) {
  while (!signals)
    pause();
}
void spin_pause(void);
void spin_for_signal(void) {
  while (!signals) // expected-remark {{spin loop}}
    spin_pause();
}
void on_signal(int n) { signals = n; }

// A generator yields what it has found to its caller; a thread yields the CPU.
long read_line(void *);
long yield(long);
void each_line(void *file) {
  long line;
  while ((line = read_line(file)) != 8)
    yield(line);
}
long poll_line(void *file) {
  long line;
  while ((line = read_line(file)) == 8) // expected-remark {{it calls 'read_line', whose effects are unknown}}
    yield(0);
  return line;
}
