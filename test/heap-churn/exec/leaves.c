// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a library function leaves a loop that holds nothing, nothing is lost: the comparison
// of qsort jumps, a thread is cancelled while it reads or prints.
//
// RUN: clang -O2 -c %S/Inputs/counted.c -o %t.o
// RUN: clang -O2 -pthread %s %t.o -o %t.before
// RUN: %vf_clang -O2 -pthread %s %t.o -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
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

  CHECK(pipe(ends) == 0);
  cancel(reads);
  /* Nobody reads: a write waits once the pipe is full, and is where a thread ends. */
  full = fdopen(ends[1], "w");
  setvbuf(full, NULL, _IONBF, 0);
  cancel(prints);
  return argv == NULL;
}
