// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exceptions out of the loop lose nothing: those of what is called, and new's own. Those
// that a longjmp would lose are left.
//
// RUN: clang -O2 -fno-builtin -c %S/Inputs/counted.c -o %t.o
// RUN: clang++ -std=c++17 -O2 %s %t.o -o %t.before -DVF_BEFORE
// RUN: %vf_clangxx -std=c++17 -O2 -g %s %t.o -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

extern "C" long allocations, frees, fails_from, fails_above;

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%d: not so: %s\n", __LINE__, #x), abort()))

static int calls;
__attribute__((noinline)) static void maybe_throw(int at) {
  if (++calls == at)
    throw at;
}

__attribute__((noinline)) static unsigned look(const unsigned *v, size_t n) {
  unsigned sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum = sum * 5 + v[i];
  return sum;
}

__attribute__((noinline)) static unsigned vectors(size_t n, int rounds, int at) {
  unsigned sum = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<unsigned> v(n, i);
    sum += look(v.data(), n);
    maybe_throw(at);
    sum += look(v.data(), n);
  }
  return sum;
}

__attribute__((noinline)) static unsigned caught(const size_t *n, int rounds) {
  unsigned sum = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      std::vector<unsigned> v(n[i], i);
      sum += look(v.data(), n[i]);
    } catch (std::bad_alloc &) {
      sum = sum * 11 + 3;
    }
  }
  return sum;
}

static jmp_buf out;
__attribute__((noinline)) static void maybe_jump(int at) {
  if (++calls == at)
    longjmp(out, 1);
}

__attribute__((noinline)) static unsigned jumps(size_t n, int rounds, int at) {
  unsigned sum = 0;
  for (int i = 0; i < rounds; ++i) {
    maybe_jump(at);
    unsigned *v = static_cast<unsigned *>(malloc(n * sizeof *v));
    memset(v, i, n * sizeof *v);
    sum += look(v, n);
    free(v);
  }
  return sum;
}

int main(int argc, char **) {
  // Not a constant, or the loops would be unrolled.
  int few = argc - 1;
  static char room[BUFSIZ];
  setvbuf(stdout, room, _IOFBF, sizeof room);
  allocations = frees = 0;
  printf("%u\n", vectors(100, 20 + few, -1));
#ifdef VF_BEFORE
  CHECK(allocations == 20);
#else
  CHECK(allocations == 1);
#endif
  CHECK(allocations == frees);
  for (int at : {1, 2, 5}) {
    calls = 0;
    allocations = frees = 0;
    try {
      printf("%u\n", vectors(100, 20 + few, at));
    } catch (int where) {
      printf("thrown at %d\n", where);
    }
    CHECK(allocations == frees);
  }
  fails_above = 1000;
  allocations = frees = 0;
  static const size_t sizes[] = {100, 10, 300, 0, 20, 300, 200};
  printf("%u\n", caught(sizes, 7 + few));
  CHECK(allocations == frees);
  for (int at : {1, 3}) {
    calls = 0;
    allocations = frees = 0;
    if (!setjmp(out))
      printf("%u\n", jumps(100, 6 + few, at));
    CHECK(allocations == frees);
  }
  return 0;
}
