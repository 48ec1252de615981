// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that work and only use what they read of volatile memory are not lowered: with a volatile clock, that
// took a third of the instructions on a file of nginx. Whether a loop would be lowered shows in a file with
// an error: then the check says that it judges by the text alone.
//
// RUN: not %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | FileCheck %s --implicit-check-not='by their text alone'
// RUN: not %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 -DWAIT 2>&1 | FileCheck %s --check-prefix=WAIT
// CHECK: error: use of undeclared identifier 'undeclared'
// WAIT: loops that may wait were judged by their text alone

extern volatile long now;
struct node {
  struct node *next;
  long valid, expire;
  int state;
};
void retry(struct node *n);
int broken = undeclared;

// Stores the time.
void expire(struct node *n) {
  do {
    n->state = 2;
    n->valid = now + (n->expire ? n->expire : 10);
    n = n->next;
  } while (n);
}

// Calls a function that does more than poll, in which a branch reads the time.
static int start(struct node *n) {
  if (n->valid >= now) {
    n->state = 1;
    n->expire = now + 30;
    return 0;
  }
  n->state = n->state ? n->state + 1 : 4;
  n->valid = n->expire = 0;
  if (n->next && n->next->state == 1 && n->next->valid > n->valid && n->next->expire > n->expire) {
    n->next->state = 2;
    n->next->valid = n->valid + n->next->expire * 2 + n->expire * 3 + n->state * 4;
    n->next->expire = n->next->valid - n->valid + n->state * 5 - n->expire;
  }
  if (n->state == 7 || n->state == 9 || n->state == 11)
    n->state = n->next ? n->next->state + 1 : 0;
  retry(n);
  return 1;
}
void start_all(struct node *n) {
  for (; n; n = n->next)
    if (start(n) == 0)
      return;
}

#ifdef WAIT
// Twin: waits in some iterations.
void wait(struct node *n) {
  for (;;) {
    if (now == 0)
      continue;
    retry(n);
  }
}
#endif
