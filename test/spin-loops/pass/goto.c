// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops written with goto.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %verify_cxx -x c++ %s -o /dev/null

volatile int word;
int plain;
void set(void) {
  word = 1;
  plain = 1;
  __atomic_store_n(&plain, 2, __ATOMIC_RELEASE);
}

void flag(void) {
again: // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  if (!word)
    goto again;
}

void flag_plain(void) {
again: // expected-remark-re@+1 {{(flag poll) on plain 'plain' {{.*}}wait in the runtime;}}
  if (plain == 0)
    goto again;
}

void lock(void) {
try_it: // expected-remark-re@+1 {{(try-lock) on atomic 'plain' {{.*}}wait in the runtime [}}
  if (__sync_lock_test_and_set(&plain, 1) == 0)
    goto taken;
  goto try_it;
taken:;
}

int states(void) {
start: // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  switch (word) {
  case 1:
    return 10;
  case 2:
    goto end;
  default:
    goto start;
  }
end:
  return 20;
}

// Why not: it writes where others read, in each iteration.
void not_storing(int *out) {
again:
  *out = word;
  if (!word)
    goto again;
}

// Why not: a counter ends it.
int not_counting(int n) {
again:
  if (n-- > 0)
    goto again;
  return n;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
