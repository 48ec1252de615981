// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page reads N: reads N records of /dev/vcpu_state, between the marks, and says
// how many system calls that took.
// page plain N: the same of ordinary memory, for what other exits there are.
// page samples VCPUS SECONDS: while a thread computes on each vCPU, each looks
// now and then at all records. Prints what it saw, a line each: the vCPU that
// looked, the time stamp counter before and how far it went meanwhile, and the
// vCPUs that were preempted, all in hexadecimal.
//
// Each prints one line of JSON at the end.

#include "../../paratick/Inputs/guest.h"
#include "mark.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// asm/vcpu_state.h of the series.
enum { VERSION, CPUS, OFFSET, STRIDE, WORDS };
enum { PREEMPTED_AT = 16, PREEMPTED = 1 };

static const volatile unsigned char *records;
static uint32_t cpus, stride;

static void open_device(void) {
  int file = open("/dev/vcpu_state", O_RDONLY);
  if (file < 0)
    err(1, "/dev/vcpu_state");
  uint32_t *head = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (head == MAP_FAILED)
    err(1, "/dev/vcpu_state");
  cpus = head[CPUS], stride = head[STRIDE];
  unsigned char *all = mmap(0, head[OFFSET] + (size_t)cpus * stride, PROT_READ,
                            MAP_SHARED, file, 0);
  if (head[VERSION] != 1 || all == MAP_FAILED)
    errx(1, "/dev/vcpu_state is another one");
  records = all + head[OFFSET];
}

static void use_memory(void) {
  cpus = MAX_CPUS, stride = 4096;
  unsigned char *all = mmap(0, (size_t)cpus * stride, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (all == MAP_FAILED)
    err(1, "memory");
  records = all;
}

static bool preempted(unsigned cpu) {
  return records[(size_t)cpu * stride + PREEMPTED_AT] & PREEMPTED;
}

static uint64_t tsc(void) {
  uint32_t low, high;
  __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high)::"memory");
  return (uint64_t)high << 32 | low;
}

static unsigned read_them(unsigned n) {
  unsigned found = 0;
  for (unsigned i = 0; i < n; ++i)
    found += preempted(i % cpus);
  return found;
}

// The system calls of a child that reads, by its parent; the child's own calls
// of getppid are where counting begins and ends.
static int system_calls(unsigned n) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    syscall(SYS_getppid);
    read_them(n);
    syscall(SYS_getppid);
    _exit(0);
  }
  int status, stops = 0;
  // Each call stops it twice; the two that mark come to four, and the exit to
  // one.
  waitpid(child, &status, 0);
  do {
    if (ptrace(PTRACE_SYSCALL, child, 0, 0))
      err(1, "ptrace");
    waitpid(child, &status, 0);
    stops += WIFSTOPPED(status);
  } while (!WIFEXITED(status));
  return (stops - 5) / 2;
}

static void reads(const char *what, unsigned n) {
  int calls = system_calls(n);
  read_them(cpus); // the pages are mapped
  mark(1);
  double begin = now(CLOCK_MONOTONIC);
  read_them(n);
  double seconds = now(CLOCK_MONOTONIC) - begin;
  mark(2);
  printf("{\"check\": \"%s\", \"reads\": %u, \"system_calls\": %d, "
         "\"seconds\": %f}\n",
         what, n, calls, seconds);
}

enum { ROOM = 8192 };

struct watcher {
  _Alignas(128) pthread_t thread;
  unsigned cpu, seed, n;
  struct {
    uint64_t at;
    uint32_t took, seen;
  } samples[ROOM];
};

static struct watcher *watchers;
static atomic_bool stop;
static uint64_t tsc_per_ms;

static void look(struct watcher *me) {
  uint64_t at = tsc();
  uint32_t seen = 0;
  for (unsigned i = 0; i < cpus && i < 32; ++i)
    seen |= (uint32_t)preempted(i) << i;
  uint64_t took = tsc() - at;
  if (me->n == ROOM)
    return;
  me->samples[me->n].at = at;
  me->samples[me->n].took = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
  me->samples[me->n++].seen = seen;
}

// A thread that was preempted when it was to look would look right after it is
// back, whenever that is a switch of two vCPUs: it waits for its next turn.
static void *watch(void *argument) {
  struct watcher *me = argument;
  uint64_t due = tsc();
  while (!stop) {
    uint64_t at = tsc();
    if (at < due)
      continue;
    if (at - due < tsc_per_ms / 20)
      look(me);
    me->seed = me->seed * 1103515245u + 12345u;
    due = at + tsc_per_ms * (10 + (me->seed >> 16) % 21);
  }
  return 0;
}

static void samples(unsigned vcpus, double seconds) {
  watchers = calloc(vcpus, sizeof *watchers);
  if (!watchers)
    err(1, "memory");
  double begin = now(CLOCK_MONOTONIC);
  uint64_t first = tsc();
  while (now(CLOCK_MONOTONIC) - begin < 0.1)
    ;
  tsc_per_ms = (uint64_t)((double)(tsc() - first) /
                          (now(CLOCK_MONOTONIC) - begin) / 1000);
  for (unsigned i = 0; i < vcpus; ++i) {
    watchers[i].cpu = i, watchers[i].seed = i + 1;
    memset(watchers[i].samples, 0, sizeof watchers[i].samples);
    watchers[i].thread = start(watch, &watchers[i], (int)i);
  }
  mark(1);
  sleep_for(seconds);
  mark(2);
  stop = true;
  unsigned n = 0;
  for (unsigned i = 0; i < vcpus; ++i)
    pthread_join(watchers[i].thread, 0);
  for (unsigned i = 0; i < vcpus; ++i) {
    struct watcher *w = &watchers[i];
    for (unsigned k = 0; k < w->n; ++k, ++n)
      printf("saw %x %llx %x %x\n", w->cpu,
             (unsigned long long)w->samples[k].at, w->samples[k].took,
             w->samples[k].seen);
  }
  printf("{\"check\": \"samples\", \"vcpus\": %u, \"looks\": %u, "
         "\"tsc_per_ms\": %llu, \"seconds\": %f}\n",
         vcpus, n, (unsigned long long)tsc_per_ms,
         now(CLOCK_MONOTONIC) - begin);
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "reads")) {
    open_device();
    reads(argv[1], (unsigned)strtoul(argv[2], 0, 10));
  } else if (argc == 3 && !strcmp(argv[1], "plain")) {
    use_memory();
    reads(argv[1], (unsigned)strtoul(argv[2], 0, 10));
  } else if (argc == 4 && !strcmp(argv[1], "samples")) {
    open_device();
    samples((unsigned)atoi(argv[2]), atof(argv[3]));
  } else {
    errx(2, "usage: page reads|plain N, or page samples VCPUS SECONDS");
  }
}
