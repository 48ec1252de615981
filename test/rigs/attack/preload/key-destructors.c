// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Destructors of keys that free, lock, allocate and set their key again.

#include "attack.h"
#include <limits.h>

static pthread_key_t key;
static int calls;

static void destroy(void *block) {
  free(block);
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&beside_lock);
  for (size_t i = 1; i < 20; i++)
    free(malloc(i * 300));
  pthread_mutex_unlock(&beside_lock);
  pthread_setspecific(key, malloc(50));
}

static void *use(void *unused) {
  pthread_setspecific(key, malloc(10));
  return unused;
}

int main(void) {
  begin_beside(2);
  printf("%d\n", pthread_key_create(&key, destroy));
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, use, NULL);
    pthread_join(thread, NULL);
  }
  end_beside();
  printf("%d\n", calls == 200 * PTHREAD_DESTRUCTOR_ITERATIONS);
}
