/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * pingpong N: two threads on one CPU wake each other N times; each event is a
 * futex call and a switch. churn N:    N times 1 MiB that is mapped, written
 * and unmapped, beside a thread that computes: faults and shootdowns. compute
 * N:  N million additions: only the samples of a clock.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int turn;
static long count;
static volatile int over;

static void *player(void *which) {
  int mine = (int)(long)which;
  for (long i = 0; i < count; i++) {
    int seen;
    while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != mine)
      syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    __atomic_store_n(&turn, !mine, __ATOMIC_RELEASE);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return NULL;
}

static void *computing(void *unused) {
  for (volatile long i = 0; !over; i++)
    ;
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  count = atol(argv[2]);
  pthread_t other;
  if (!strcmp(argv[1], "pingpong")) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_create(&other, NULL, player, (void *)1L);
    player(NULL);
  } else if (!strcmp(argv[1], "churn")) {
    pthread_create(&other, NULL, computing, NULL);
    for (long i = 0; i < count; i++) {
      char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED)
        return 1;
      memset(memory, 1, 1 << 20);
      munmap(memory, 1 << 20);
    }
    over = 1;
  } else if (!strcmp(argv[1], "compute")) {
    for (volatile long i = 0; i < count * 1000000; i++)
      ;
    return 0;
  } else {
    return 2;
  }
  pthread_join(other, NULL);
  return 0;
}
