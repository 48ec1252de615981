// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stages STAGES SECONDS [MICROSECONDS]: items go round through stages, of which
// each works on an item for so long (10 without it). Prints items per second.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STAGES = 64 };

static struct stage {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  int items;
} stages[MOST_STAGES];
static int n_stages;
static double work_us = 10;
static atomic_long finished;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void put(struct stage *stage) {
  pthread_mutex_lock(&stage->lock);
  stage->items++;
  pthread_cond_signal(&stage->filled);
  pthread_mutex_unlock(&stage->lock);
}

static void take(struct stage *stage) {
  pthread_mutex_lock(&stage->lock);
  while (stage->items == 0)
    pthread_cond_wait(&stage->filled, &stage->lock);
  stage->items--;
  pthread_mutex_unlock(&stage->lock);
}

__attribute__((noinline)) void finish_item(void) {
  atomic_fetch_add(&finished, 1);
}

static void *run(void *data) {
  struct stage *stage = data;
  long next = (stage - stages + 1) % n_stages;
  for (;;) {
    take(stage);
    for (double end = now_us() + work_us; now_us() < end;)
      ;
    if (next == 0)
      finish_item();
    put(&stages[next]);
  }
  return NULL;
}

int main(int argc, char **argv) {
  n_stages = argc > 2 ? atoi(argv[1]) : 0;
  if (n_stages < 1 || n_stages > MOST_STAGES) {
    fprintf(stderr, "usage: stages STAGES SECONDS [MICROSECONDS]\n");
    return 2;
  }
  double seconds = atof(argv[2]);
  if (argc > 3)
    work_us = atof(argv[3]);
  for (int i = 0; i < n_stages; ++i) {
    pthread_mutex_init(&stages[i].lock, NULL);
    pthread_cond_init(&stages[i].filled, NULL);
  }
  for (int i = 0; i < n_stages; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &stages[i]) != 0)
      return 1;
  }
  put(&stages[0]);
  usleep((useconds_t)(seconds * 1e6));
  printf("%.0f items per second\n", (double)atomic_load(&finished) / seconds);
  return 0;
}
