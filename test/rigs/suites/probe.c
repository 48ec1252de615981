// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for a mutex that another thread holds, and allocates a block: what libvfpthread and
// libvfmalloc count if they are in use here. With -fopenmp, a parallel region for
// libvfomp, too. Run with VF_STATS=1.

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

// libvfmalloc begins to count after the first 32 KB.
enum { BLOCK = 1 << 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_it(void *arg) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  pthread_t id;
  void *volatile block = malloc(BLOCK);
  if (!block)
    return 1;
#ifdef _OPENMP
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads++;
  if (threads != 2)
    return 1;
#endif
  pthread_mutex_lock(&mutex);
  if (pthread_create(&id, NULL, wait_for_it, NULL) != 0)
    return 1;
  // As libc leaves it, and libvfpthread, once somebody sleeps.
  while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2)
    usleep(1000);
  pthread_mutex_unlock(&mutex);
  return pthread_join(id, NULL);
}
