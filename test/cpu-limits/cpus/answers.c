// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libvfcpus.so answers questions for the number of CPUs with the mask that the process started with,
// the limit of its group, or VF_CPUS. Without it, get_nprocs counts CPUs that a mask does not have.
//
// REQUIRES: preload, two-cpus
// RUN: clang -O2 -Wall -Wextra -D_GNU_SOURCE %s -o %t -pthread
// RUN: %t all | FileCheck --check-prefix=PLAIN %s
// RUN: %t one | FileCheck --check-prefix=MASKED %s
// RUN: env LD_PRELOAD=%vf_lib/libvfcpus.so %t all | FileCheck --check-prefix=PLAIN %s
// PLAIN: online: all, get_nprocs: all, mask: all, of the thread: all, configured: all
// MASKED: online: all, get_nprocs: all, mask: 1, of the thread: 1, configured: all
// RUN: env LD_PRELOAD=%vf_lib/libvfcpus.so %t one | FileCheck --check-prefix=ONE %s
// RUN: env LD_PRELOAD=%vf_lib/libvfcpus.so VF_CPUS=1 VF_STATS=1 %t all 2>&1 | FileCheck --check-prefixes=ONE,STATS %s
// ONE-DAG: online: 1, get_nprocs: 1, mask: 1, of the thread: 1, configured: all
// STATS-DAG: {"vfcpus": {"counts": 2, "masks": 2, "pins": 0, "cpus": 1,
// STATS-DAG: the program was told of 1 of
//
// A mask within the CPUs that the program was told of stands for all CPUs; another one stays, and so do
// those of other processes.
// RUN: env LD_PRELOAD=%vf_lib/libvfcpus.so VF_CPUS=1 %t pin | FileCheck --check-prefix=PINS %s
// RUN: %t pin | FileCheck --check-prefix=PLAIN-PINS %s
// PINS: first: all, last: 1, of the thread: all, of another process: 1
// PLAIN-PINS: first: 1, last: 1, of the thread: 1, of another process: 1
// RUN: env LD_PRELOAD=%vf_lib/libvfcpus.so VF_CPUS=none %t all 2>&1 | FileCheck --check-prefixes=BAD,ALL %s
// BAD-DAG: VF_CPUS='none' is not a number in 1..8192; using the default
// ALL-DAG: online: all, get_nprocs: all, mask: all

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

static cpu_set_t all;
static int first, last;

static void real(pid_t of, cpu_set_t *mask) {
  CPU_ZERO(mask);
  syscall(SYS_sched_getaffinity, of, sizeof *mask, mask);
}

static void say(const char *what, long n) {
  // The mask that the test was started with may itself lack CPUs.
  if (n > 1)
    printf("%s: all", what);
  else
    printf("%s: %ld", what, n);
}

static long count(const cpu_set_t *mask) { return CPU_COUNT(mask); }

static void ask(void) {
  cpu_set_t mask;
  say("online", sysconf(_SC_NPROCESSORS_ONLN));
  say(", get_nprocs", get_nprocs());
  memset(&mask, 255, sizeof mask); // libc clears the rest.
  sched_getaffinity(0, sizeof mask, &mask);
  say(", mask", count(&mask));
  memset(&mask, 255, sizeof mask);
  pthread_getaffinity_np(pthread_self(), sizeof mask, &mask);
  say(", of the thread", count(&mask));
  say(", configured", sysconf(_SC_NPROCESSORS_CONF));
  puts("");
}

static void set(int cpu, cpu_set_t *mask) {
  CPU_ZERO(mask);
  CPU_SET(cpu, mask);
}

static void pin(void) {
  cpu_set_t mask;
  set(first, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
  real(0, &mask);
  say("first", count(&mask));
  set(last, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
  real(0, &mask);
  say(", last", count(&mask));
  set(first, &mask);
  pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);
  real(0, &mask);
  say(", of the thread", count(&mask));
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  set(first, &mask);
  sched_setaffinity(child, sizeof mask, &mask);
  real(child, &mask);
  say(", of another process", count(&mask));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  puts("");
}

int main(int argc, char **argv) {
  real(0, &all);
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
    if (CPU_ISSET(cpu, &all))
      first = cpu;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &all))
      last = cpu;
  if (argc == 2 && strcmp(argv[1], "one") == 0) {
    cpu_set_t mask;
    set(last, &mask);
    syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask);
    return execl(argv[0], argv[0], "all", NULL);
  }
  if (argc == 2 && strcmp(argv[1], "pin") == 0)
    pin();
  else
    ask();
}
