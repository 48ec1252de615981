// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// odd jit: computes in code that no file has. odd threads: 500 threads that
// compute for 1 ms each, at the same time.
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define THREADS 500

static void *compute(void *unused) {
  struct timespec t;
  do
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (t.tv_nsec < 1000000);
  return unused;
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "threads")) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
      if (pthread_create(&threads[i], NULL, compute, NULL))
        return 1;
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
    return 0;
  }
  // mov edi, eax; loop: dec eax; jnz loop; ret
  static const unsigned char code[] = {0x89, 0xf8, 0xff, 0xc8,
                                       0x75, 0xfc, 0xc3};
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 1;
  memcpy(memory, code, sizeof code);
  ((void (*)(int))memory)(300000000);
  return 0;
}
