// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short threads, one after the other, that allocate while signals come, libraries are
// loaded and unloaded, and others are cancelled: no hang, and what is mapped does not grow
// with their number. With an argument more of them than the test's.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t 2000

#include "check.h"
#include "vfriendly/malloc.h"
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 30 };
static int stop, signals;

static void on_signal(int number) {
  (void)number;
  __atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
}

static void churn(unsigned seed) {
  char *b[BLOCKS];
  for (int i = 0; i != BLOCKS; ++i) {
    seed = seed * 1103515245u + 12345u;
    size_t size = 1 + (seed >> 8) % (i % 8 ? 3000 : 200000);
    b[i] = malloc(size);
    CHECK(b[i]);
    memset(b[i], i, size);
  }
  for (int i = 0; i != BLOCKS; ++i) {
    CHECK(*b[i] == i);
    free(b[i]);
  }
}

static void *lives_shortly(void *seed) {
  churn((unsigned)(size_t)seed);
  return NULL;
}

static void *is_cancelled(void *seed) {
  for (;;) {
    churn((unsigned)(size_t)seed);
    malloc_trim(0);
    pthread_testcancel();
  }
}

static void *loads(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    CHECK(library);
    dlclose(library);
  }
  return unused;
}

static void *signals_all(void *to) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_kill(*(pthread_t *)to, SIGUSR1);
    sleep_ms(1);
  }
  return NULL;
}

static size_t mapped(void) {
  struct vf_malloc_stats s;
  vf_malloc_stats(&s, sizeof s);
  return s.mapped;
}

static void run(long from, long to) {
  for (long i = from; i != to; ++i) {
    pthread_t id[2];
    CHECK(pthread_create(&id[0], NULL, lives_shortly, (void *)i) == 0);
    CHECK(pthread_create(&id[1], NULL, i % 16 ? lives_shortly : is_cancelled, (void *)~i) == 0);
    churn((unsigned)i);
    if (i % 16 == 0)
      CHECK(pthread_cancel(id[1]) == 0);
    for (int j = 0; j != 2; ++j)
      CHECK(pthread_join(id[j], NULL) == 0);
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  long count = atol(argv[1]);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t loader, signaller, me = pthread_self();
  CHECK(pthread_create(&loader, NULL, loads, NULL) == 0);
  CHECK(pthread_create(&signaller, NULL, signals_all, &me) == 0);
  run(0, count / 2);
  size_t before = mapped();
  run(count / 2, count);
  CHECK(mapped() <= before + before / 4);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  CHECK(pthread_join(loader, NULL) == 0 && pthread_join(signaller, NULL) == 0);
  CHECK(signals != 0);
  return 0;
}
