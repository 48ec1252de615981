// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// paging TIMES: a thread uses a page that the host takes a while to bring, and
// another waits for the CPU. Prints one line of JSON: for how long the page was
// away, at least, and how long the other thread waited, each time. The guest is
// to be one that the host halts meanwhile: no-kvmapf.

#include "guest.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <sys/io.h>
#include <sys/mman.h>

enum { HOLE = 0xf5, PAGE = 4096, MOST = 1000 };

// When the page was used last, and when the other thread ran first after that.
static _Atomic double used, ran;

static void *other(void *argument) {
  double last = 0;
  for (;;)
    if (used != last) {
      ran = now(CLOCK_MONOTONIC);
      last = used;
    }
  return argument;
}

// The number of the guest's page frame; see admin-guide/mm/pagemap.rst.
static uint64_t frame(const void *page) {
  uint64_t entry;
  int file = open("/proc/self/pagemap", O_RDONLY);
  if (file < 0 ||
      pread(file, &entry, sizeof entry,
            (off_t)((uintptr_t)page / PAGE * sizeof entry)) != sizeof entry)
    err(1, "/proc/self/pagemap");
  close(file);
  return entry & ((UINT64_C(1) << 55) - 1);
}

int main(int argc, char **argv) {
  int times = argc == 2 ? atoi(argv[1]) : 0;
  if (times < 1 || times > MOST)
    errx(2, "usage: paging TIMES, %d at most", MOST);
  struct timespec resolution;
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  volatile uint8_t *page =
      mmap(0, PAGE, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (page == MAP_FAILED || mlock((void *)page, PAGE) || ioperm(HOLE, 4, 1))
    err(1, "a page and a port");
  uint32_t number = (uint32_t)frame((void *)page);
  if (!number)
    errx(1, "no page frame");

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  start(other, 0, 0);
  double least = INFINITY;
  printf("{\"check\": \"paging\", \"period_s\": %g, \"waits\": [",
         (double)resolution.tv_nsec / 1e9);
  for (int i = 0; i < times; ++i) {
    outl(number, HOLE);
    // Not at the end of this thread's time.
    sleep_for(0.05);
    double begin = now(CLOCK_MONOTONIC);
    used = begin;
    page[0]++;
    double away = now(CLOCK_MONOTONIC) - begin;
    least = away < least ? away : least;
    printf("%s%.6f", i ? ", " : "", ran - begin);
  }
  printf("], \"away_s\": %.6f}\n", least);
  return 0; // which ends the other thread
}
