// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// slices PAGES: two threads wake each other so often that switches are looked
// at in few slices of time; then the process writes each of PAGES pages once,
// prints how often it has blocked, and ends at once, most likely in a slice in
// which they are not.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int turn;

static void *player(void *which) {
  int mine = (int)(long)which;
  for (long i = 0; i < 150000; i++) {
    int seen;
    while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != mine)
      syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    __atomic_store_n(&turn, !mine, __ATOMIC_RELEASE);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return NULL;
}

int main(int argc, char **argv) {
  long pages = argc > 1 ? atol(argv[1]) : 0;
  pthread_t other;
  pthread_create(&other, NULL, player, (void *)1L);
  player(NULL);
  pthread_join(other, NULL);
  char *memory = mmap(NULL, pages << 12, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, pages << 12, MADV_NOHUGEPAGE);
  for (long i = 0; i < pages; i++)
    memory[i << 12] = 1;
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("{\"blocks\": %ld}\n", used.ru_nvcsw);
  fflush(stdout);
  _exit(0);
}
