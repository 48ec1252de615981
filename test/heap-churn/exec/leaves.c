// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a library function leaves a loop that holds nothing, nothing is lost: the comparison
// of qsort jumps, or a signal's handler once a flag lets it, a thread is cancelled while it
// reads or prints. Where a loop holds a small buffer, no larger one is lost.
//
// RUN: clang -O2 -c %S/Inputs/counted.c -o %t.o
// RUN: clang -O2 -pthread %s %t.o -o %t.before
// RUN: %vf_clang -O2 -g -mllvm -vf-spin=off -pthread %s %t.o -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

/* Of Inputs/counted.c. */
extern long allocations, frees;

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%d: not so: %s\n", __LINE__, #x), abort()))

enum { TIMES = 50, SIZE = 100000 };

static jmp_buf out;
static int jumps;
static int compare(const void *a, const void *b) {
  if (jumps)
    longjmp(out, 1);
  return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static long sorts(int *v, size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; i++) {
    char *text = malloc(SIZE);
    if (!text)
      return -1;
    snprintf(text, SIZE, "%d", i);
    sum += atoi(text);
    free(text);
    jumps = i == 2;
    qsort(v, n, sizeof *v, compare);
  }
  return sum;
}

static sigjmp_buf again;
static volatile sig_atomic_t may_jump;
static atomic_int allowed;
static void handle(int number) {
  if (may_jump || atomic_load(&allowed)) {
    may_jump = 0;
    atomic_store(&allowed, 0);
    siglongjmp(again, number);
  }
}
__attribute__((noinline)) static long signalled(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; i++) {
    char *text = malloc(SIZE);
    if (!text)
      return -1;
    snprintf(text, SIZE, "%d", i);
    sum += atoi(text);
    free(text);
    may_jump = i == 2;
    while (may_jump)
      ; /* The handler jumps. */
  }
  return sum;
}

__attribute__((noinline)) static long signalled_atomic(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; i++) {
    char *text = malloc(SIZE);
    if (!text)
      return -1;
    snprintf(text, SIZE, "%d", i);
    sum += atoi(text);
    free(text);
    atomic_store_explicit(&allowed, i == 2, memory_order_relaxed);
    while (atomic_load_explicit(&allowed, memory_order_relaxed))
      ; /* The handler jumps. */
  }
  return sum;
}

__attribute__((noinline)) static void jump_at(int i, int last) {
  if (i == last)
    longjmp(out, 1);
}
__attribute__((noinline)) static long shrinks(const int *sizes, int n) {
  long sum = 0;
  for (int i = 0; i < n; i++) {
    char *text = malloc((size_t)sizes[i]);
    if (!text)
      return -1;
    snprintf(text, (size_t)sizes[i], "%d", i);
    sum += atoi(text);
    jump_at(i, n - 1);
    free(text);
  }
  return sum;
}

static int ends[2];
static void *reads(void *unused) {
  long sum = 0;
  char c;
  do {
    char *text = malloc(SIZE);
    if (!text)
      return unused;
    snprintf(text, SIZE, "%ld", sum);
    sum += atoi(text);
    free(text);
  } while (read(ends[0], &c, 1) == 1);
  return (void *)sum;
}

static FILE *full;
static void *prints(void *unused) {
  for (long sum = 0;; sum++) {
    char *text = malloc(SIZE);
    if (!text)
      return unused;
    snprintf(text, SIZE, "%ld", sum);
    sum += atoi(text);
    free(text);
    fprintf(full, "%ld\n", sum);
  }
}

static void cancel(void *(*run)(void *)) {
  for (int i = -1; i < TIMES; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_cancel(thread);
    void *result;
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    /* What the library takes for threads once is not counted. */
    if (i < 0)
      allocations = frees = 0;
  }
  printf("%ld lost\n", (allocations - frees) / (TIMES / 2));
}

int main(int argc, char **argv) {
  setvbuf(stdout, (char[BUFSIZ]){0}, _IOFBF, BUFSIZ);
  int v[] = {3, 1, 2, 5, 4, 9, 8, 7};
  allocations = frees = 0;
  for (volatile int i = 0; i < TIMES; i++)
    if (!setjmp(out))
      printf("%ld\n", sorts(v, sizeof v / sizeof *v, 5 + argc - 1));
  CHECK(allocations > 0 && allocations == frees);

  signal(SIGALRM, handle);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
  allocations = frees = 0;
  for (volatile int i = 0; i < TIMES; i++)
    if (!sigsetjmp(again, 1))
      printf("%ld\n", signalled(5 + argc - 1));
  CHECK(allocations > 0 && allocations == frees);
  allocations = frees = 0;
  for (volatile int i = 0; i < TIMES; i++)
    if (!sigsetjmp(again, 1))
      printf("%ld\n", signalled_atomic(5 + argc - 1));
  CHECK(allocations > 0 && allocations == frees);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);

  static const int sizes[] = {SIZE, SIZE / 2, 100, 16};
  size_t before = mallinfo2().uordblks;
  for (volatile int i = 0; i < TIMES; i++)
    if (!setjmp(out))
      printf("%ld\n", shrinks(sizes, 4 + argc - 1));
  CHECK(mallinfo2().uordblks - before < SIZE);

  CHECK(pipe(ends) == 0);
  cancel(reads);
  /* Nobody reads: a write waits once the pipe is full, and is where a thread ends. */
  full = fdopen(ends[1], "w");
  setvbuf(full, NULL, _IONBF, 0);
  cancel(prints);
  return argv == NULL;
}
