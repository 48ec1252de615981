// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is not marked is rewritten, also next to what is, and other annotations
// mean nothing here.
//
// RUN: %verify_c %s -o /dev/null

volatile int word;
void set(void) { word = 1; }

__attribute__((annotate("vfriendly:keep"))) void kept(void) {
  // expected-remark@+1 {{left as it is: its function is marked vfriendly:keep}}
  while (!word) {}
}

void not_marked(void) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime [}}
  while (!word) {}
}

__attribute__((annotate("keep"))) void marked_otherwise(void) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime [}}
  while (!word) {}
}

// A marked function that inlines an unmarked one: both stand in it by then.
static inline void helper(void) {
  // expected-remark-re@+1 1+ {{(flag poll) {{.*}}wait in the runtime [}}
  while (word != 2) {}
}
void other(void) { helper(); }

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
