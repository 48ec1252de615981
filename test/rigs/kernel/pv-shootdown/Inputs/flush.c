// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// flush NAME VCPUS OPS: flushes TLBs while a thread on each of the other vCPUs
// sleeps or computes, and prints one line of JSON: how often, how long, and
// how many interrupts the others got for it. Exits are counted between the
// marks.
//
// Before each flush all threads have used the memory, as only then have their
// vCPUs to take part. Threads that sleep are woken up for that, so each
// operation has a wake-up a thread that is no flush's fault.

#include "../../paratick/Inputs/guest.h"
#include "mark.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// A page table has as many, and goes away with them.
enum { TABLE = 2 << 20, PAGE = 4096, TABLES = 4 };

enum what { FREE_TABLES, DROP, PROTECT, NOTHING };

static const struct kind {
  const char *name;
  enum what what;
  bool sleeping;
} kinds[] = {
    {"tables-asleep", FREE_TABLES, true}, {"tables-busy", FREE_TABLES, false},
    {"madvise-asleep", DROP, true},       {"madvise-busy", DROP, false},
    {"mprotect-asleep", PROTECT, true},   {"mprotect-busy", PROTECT, false},
    {"nothing-asleep", NOTHING, true},
};

struct other {
  _Alignas(128) atomic_uint seen;
  atomic_int tid;
  pthread_t thread;
};

static const struct kind *kind;
static struct other others[MAX_CPUS];
static int vcpus;
static atomic_uint turn;
static atomic_bool stop;
static char *volatile memory;

// A vCPU halts some microseconds after its thread has gone to sleep; emulated,
// and if another has its CPU, that takes longer. The interrupts that it is sent
// show if it has not halted. Much shorter than a tick: a vCPU that is woken
// before it has stopped its tick exits less often, so that flushes are a
// greater part of all exits.
static const double halt_s = 3e-4;

static void futex(atomic_uint *word, int what, unsigned value) {
  syscall(SYS_futex, word, what, value, 0, 0, 0);
}

static void touch(void) {
  for (int i = 0; i < TABLES; ++i)
    (void)*(volatile char *)(memory + (size_t)i * TABLE);
}

static void *other(void *argument) {
  struct other *me = argument;
  me->tid = (int)syscall(SYS_gettid);
  unsigned last = 0;
  while (!stop) {
    unsigned now_at = turn;
    if (now_at != last) {
      touch();
      me->seen = last = now_at;
    } else if (kind->sleeping) {
      futex(&turn, FUTEX_WAIT_PRIVATE, last);
    }
  }
  return 0;
}

static bool sleeps(int tid) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  int file = open(path, O_RDONLY);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0)
    err(1, "%s", path);
  close(file);
  const char *name_end = strrchr(text, ')');
  return name_end && name_end[1] && name_end[2] == 'S';
}

static void spin(double seconds) {
  double end = now(CLOCK_MONOTONIC) + seconds;
  while (now(CLOCK_MONOTONIC) < end)
    ;
}

static void all_use_it(void) {
  unsigned next = ++turn;
  if (kind->sleeping)
    futex(&turn, FUTEX_WAKE_PRIVATE, INT_MAX);
  for (int i = 1; i < vcpus; ++i)
    while (others[i].seen != next)
      sched_yield();
  if (!kind->sleeping)
    return;
  for (int i = 1; i < vcpus; ++i)
    while (!sleeps(others[i].tid))
      sched_yield();
  spin(halt_s);
}

static void map(void) {
  size_t size = (size_t)TABLES * TABLE;
  if (mmap(memory, size, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED)
    err(1, "memory");
  // A huge page has no table. Kernels that know none refuse, which is as well.
  madvise(memory, size, MADV_NOHUGEPAGE);
}

static void populate(void) {
  for (int i = 0; i < TABLES; ++i)
    memory[(size_t)i * TABLE] = 1;
}

static void flush(void) {
  size_t size = (size_t)TABLES * TABLE;
  switch (kind->what) {
  case FREE_TABLES:
    if (munmap(memory, size))
      err(1, "munmap");
    map();
    break;
  case DROP:
    if (madvise(memory, size, MADV_DONTNEED))
      err(1, "madvise");
    break;
  case PROTECT:
    if (mprotect(memory, size, PROT_READ) ||
        mprotect(memory, size, PROT_READ | PROT_WRITE))
      err(1, "mprotect");
    break;
  case NOTHING:
    break;
  }
}

// Interrupts of other vCPUs for flushes.
static uint64_t flushed(void) {
  uint64_t of[MAX_CPUS], sum = 0;
  for (int i = interrupts("TLB", of); i-- > 1;)
    sum += of[i];
  return sum;
}

static void *work(void *argument) {
  unsigned ops = *(unsigned *)argument;
  uint64_t interrupted = 0;
  double in_flush = 0, begin = 0;
  for (unsigned i = 0; i <= ops; ++i) {
    if (i == 1) { // the first was to warm up
      mark(1);
      interrupted = flushed();
      in_flush = 0;
      begin = now(CLOCK_MONOTONIC);
    }
    populate();
    all_use_it();
    double before = now(CLOCK_MONOTONIC);
    flush();
    in_flush += now(CLOCK_MONOTONIC) - before;
  }
  double seconds = now(CLOCK_MONOTONIC) - begin;
  interrupted = flushed() - interrupted;
  mark(2);
  printf("{\"workload\": \"%s\", \"vcpus\": %d, \"ops\": %u, \"seconds\": %f, "
         "\"interrupts\": %llu, \"in_flush_s\": %f}\n",
         kind->name, vcpus, ops, seconds, (unsigned long long)interrupted,
         in_flush);
  fflush(stdout);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4)
    errx(2, "usage: flush NAME VCPUS OPS");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (!strcmp(argv[1], kinds[i].name))
      kind = &kinds[i];
  if (!kind)
    errx(2, "no workload '%s'", argv[1]);
  vcpus = atoi(argv[2]);
  unsigned ops = (unsigned)strtoul(argv[3], 0, 10);
  if (vcpus < 1 || vcpus > MAX_CPUS || !ops)
    errx(2, "1 to %d vCPUs, and 1 operation at least", MAX_CPUS);
  size_t size = (size_t)TABLES * TABLE;
  // Where no table has anything else.
  char *room = mmap(0, size + 2 * TABLE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    err(1, "memory");
  memory = (char *)(((uintptr_t)room + TABLE - 1) & -(uintptr_t)TABLE);
  map();
  for (int i = 1; i < vcpus; ++i)
    others[i].thread = start(other, &others[i], i);
  for (int i = 1; i < vcpus; ++i)
    while (!others[i].tid)
      sched_yield();
  pthread_join(start(work, &ops, 0), 0);
  stop = true;
  ++turn;
  futex(&turn, FUTEX_WAKE_PRIVATE, INT_MAX);
  for (int i = 1; i < vcpus; ++i)
    pthread_join(others[i].thread, 0);
}
