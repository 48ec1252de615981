// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spinning spin|compute: threads, twice as many as CPUs and one more, that pass a turn around by
// spinning, or that compute, until the process is ended.

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static volatile long turn;
static volatile uint64_t sink;
static long threads;

static void *spin(void *data) {
  for (long me = (long)data;; turn = (me + 1) % threads)
    while (turn != me)
      ;
  return NULL;
}

static void *compute(void *data) {
  for (uint64_t x = (uint64_t)data + 1;;)
    sink = x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return NULL;
}

int main(int argc, char **argv) {
  threads = 2 * sysconf(_SC_NPROCESSORS_ONLN) + 1;
  void *(*run)(void *) = argc > 1 && strcmp(argv[1], "spin") == 0 ? spin : compute;
  for (long i = 0; i != threads; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, (void *)i);
  }
  pause();
}
