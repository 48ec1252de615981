// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must not come from a pool, as the pool would be asked to free another's block, or
// somebody would be left with a block of a pool that is gone.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR
// RUN: %vf_clang -O2 -fsanitize=address -S -emit-llvm %s -o - -DSANITIZED | FileCheck %s --check-prefix=IR
// IR-NOT: vf_pool

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }
void keeps(char *);
void takes(char **);
char *make(void);

enum { N = 100 };
static char *global[N];

// Its blocks are the caller's from now on.
struct node {
  struct node *next;
  int key;
};
struct node *returned(int n) {
  struct node *head = NULL;
  for (int i = 0; i < n; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: it is returned
    struct node *one = malloc(sizeof *one);
    if (!one) {
      while (head) {
        struct node *next = head->next;
        free(head);
        head = next;
      }
      return NULL;
    }
    one->key = i;
    one->next = head;
    head = one;
  }
  return head;
}

// free is given blocks of make's as well.
int mixed(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: the call that frees it may also free a block from elsewhere
    blocks[i] = i % n ? malloc(20) : make();
    memset(blocks[i], i, 20);
  }
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

// Of two that are freed in one place one is known elsewhere: that free is not the pool's,
// so the other cannot be either.
int joined(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    if (i % n) {
      // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: the call that frees it also frees blocks that cannot come from a pool
      blocks[i] = malloc(20);
    } else {
      // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: a function that it is passed to may keep its address
      blocks[i] = malloc(30);
      keeps(blocks[i]);
    }
    memset(blocks[i], i, 20);
  }
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

// Not the array, but what is in it may be kept, freed or made anew.
int given(void) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: its address is in memory that other code may read
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  takes(blocks);
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

// The array is not kept, nor freed; which of its blocks is, is not in what LLVM says.
__attribute__((noinline)) static void frees_one(char **p, int n) {
  free(p[n]);
  p[n] = NULL;
}
int lent(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: its address is in memory that other code may read
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  frees_one(blocks, n);
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    if (blocks[i])
      sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

// Neither frees nor keeps the array, but a block of it.
__attribute__((noinline)) static void keeps_one(char **p, int n) { global[n] = p[n]; }
int lent_and_kept(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: a function is passed memory that holds its address
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  keeps_one(blocks, n);
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    if (i != n)
      free(blocks[i]);
  }
  return sum;
}

// Nor this one, but from what it returns a block can be found again.
__attribute__((noinline)) static uintptr_t tells_one(char **p, int n) {
  return (uintptr_t)p[n];
}
int lent_and_told(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: a function is passed memory that holds its address
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  keeps((char *)tells_one(blocks, n));
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    if (i != n)
      free(blocks[i]);
  }
  return sum;
}

// Each of these tells a part of it.
__attribute__((noinline)) static unsigned lower(char **p) { return (unsigned)(uintptr_t)*p; }
__attribute__((noinline)) static unsigned upper(char **p) {
  return (unsigned)((uint64_t)(uintptr_t)*p >> 32);
}
int lent_and_told_in_parts(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: a function is passed memory that holds its address
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  keeps((char *)((uintptr_t)lower(blocks + n) | (uint64_t)upper(blocks + n) << 32));
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    if (i != n)
      free(blocks[i]);
  }
  return sum;
}

// A debugger, or a handler of a signal, may look there.
int watched(void) {
  char *volatile blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: it is accessed as volatile
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

// Another thread, or a later call, may find them.
int stored(void) {
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: its address is stored
    global[i] = malloc(20);
    memset(global[i], i, 20);
  }
  int sum = 0;
  for (int i = 0; i < N; ++i)
    sum += look(global[i]);
  return sum;
}
void drop(void) {
  for (int i = 0; i < N; ++i)
    free(global[i]);
}

// realloc knows nothing of pools.
int resized(int n) {
  char *blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: its size is changed
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    char *larger = realloc(blocks[i], (size_t)n);
    sum += look(larger ? larger : blocks[i]);
    free(larger ? larger : blocks[i]);
  }
  return sum;
}

// A number may become an address again, of whatever.
int numbers(uintptr_t key) {
  uintptr_t blocks[N];
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: an integer is computed from its address
    char *one = malloc(20);
    memset(one, i, 20);
    blocks[i] = (uintptr_t)one ^ key;
  }
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    char *one = (char *)(blocks[i] ^ key);
    sum += look(one);
    free(one);
  }
  return sum;
}

// Bytes that come from elsewhere may be an address of another's block.
struct message {
  char *text;
  long number;
};
int copied(const struct message *from) {
  struct message all[N];
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    all[i] = from[i];
    if (i % 3 == 0) {
      // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: the call that frees it may also free a block from elsewhere
      all[i].text = malloc(20);
      memset(all[i].text, i, 20);
    }
  }
  for (int i = 0; i < N; ++i) {
    sum += look(all[i].text);
    free(all[i].text);
  }
  return sum;
}

// Each call on the stack would have a page of its own.
int recursive(int n) {
  char *blocks[N];
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    // CHECK: pool-none.c:[[#@LINE+1]]:{{.*}} kept: its function is recursive
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  if (n > 0)
    sum += recursive(n - 1) + recursive(n - 2);
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

// Where it jumps to, the pool's variable may have any value.
int jumps(jmp_buf *there) {
  char *blocks[N];
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  if (setjmp(*there))
    return -1;
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}

__attribute__((annotate("vfriendly:keep"))) int kept(void) {
  char *blocks[N];
  int sum = 0;
  for (int i = 0; i < N; ++i) {
    blocks[i] = malloc(20);
    memset(blocks[i], i, 20);
  }
  for (int i = 0; i < N; ++i) {
    sum += look(blocks[i]);
    free(blocks[i]);
  }
  return sum;
}
