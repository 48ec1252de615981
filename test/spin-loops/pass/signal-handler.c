// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A signal handler must not give its CPU to the thread it interrupts, which is
// perhaps the one it waits for.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %verify_cxx -x c++ %s -o /dev/null

#include <signal.h>
#include <string.h>

volatile sig_atomic_t word;
void set(void) { word = 1; }

static void by_signal(int n) {
  (void)n;
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: its function is a signal handler}}
  while (!word) {}
}

static void by_sigaction(int n) {
  (void)n;
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: its function is a signal handler}}
  while (!word) {}
}

static void by_static_sigaction(int n) {
  (void)n;
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: its function is a signal handler}}
  while (!word) {}
}

static void with_info(int n, siginfo_t *info, void *context) {
  (void)n, (void)info, (void)context;
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: its function is a signal handler}}
  while (!word) {}
}

void install(void) {
  signal(SIGUSR1, by_signal);
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = by_sigaction;
  sigaction(SIGUSR2, &a, NULL);
  static struct sigaction s;
  s.sa_handler = by_static_sigaction;
  sigaction(SIGALRM, &s, NULL);
  struct sigaction i;
  sigemptyset(&i.sa_mask);
  i.sa_flags = SA_SIGINFO;
  i.sa_sigaction = with_info;
  sigaction(SIGTERM, &i, NULL);
}

// The program waits for its handler: that is an ordinary wait, the writer runs
// on the same thread at worst, and every wait is timed.
void wait_for_signal(void) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  while (!word) {}
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
