// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a cpuset that lacks CPU 0, CPU_SET(0) is the first allowed CPU, by all
// three functions. Masks of a program that asked which CPUs it has are passed
// on, as are numbers that no CPU has, and masks for other processes.
//
//
// RUN: %numa_clang %s -o %t
// RUN: %numa_clang -DKNOWS %s -o %t-knows
// RUN: %numa_clang -DOLD %s -o %t-old
// RUN: %vf_numa %t
//
// RUN: %vf_numa %t-old
//
// RUN: %t-knows
//
// RUN: env VF_STATS=1 %vf_numa %t-knows 2>&1 | FileCheck %s --check-prefix=KNOWS --allow-empty
// KNOWS-NOT: "remapped": {{[1-9]}}
// RUN: env LD_DEBUG=bindings %vf_numa %t-old 2>&1 | FileCheck %s --check-prefix=BOUND
//
// BOUND-DAG: affinity.c.tmp-old [0] to {{.*}}libvfnuma.so [0]: normal symbol `sched_setaffinity' [GLIBC_2.3.4]
// BOUND-DAG: affinity.c.tmp-old [0] to {{.*}}libvfnuma.so [0]: normal symbol `pthread_setaffinity_np' [GLIBC_2.3.4]
//
// BOUND-DAG: affinity.c.tmp-old [0] to {{.*}}libvfnuma.so [0]: normal symbol `pthread_attr_setaffinity_np' [GLIBC_2.3.4]
// Of a version without the mask's size libc's own is called: its arguments are others.
// BOUND-DAG: affinity.c.tmp-old [0] to {{.*}}libc.so.6 [0]: normal symbol `sched_setaffinity' [GLIBC_2.3.3]

#include "cpus.h"
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#ifdef OLD /* as linked to an older libc */
int oldest(pid_t id, const cpu_set_t *mask);
__asm__(".symver oldest, sched_setaffinity@GLIBC_2.3.3\n"
        ".symver pthread_setaffinity_np, pthread_setaffinity_np@GLIBC_2.3.4\n"
        ".symver pthread_attr_setaffinity_np, "
        "pthread_attr_setaffinity_np@GLIBC_2.3.4");
#endif

static int last;

static void *is_on_last(void *unused) {
  CHECK(is_only(last));
  return unused;
}

static void thread_with(pthread_attr_t *attributes) {
  pthread_t thread;
  CHECK(pthread_create(&thread, attributes, is_on_last, NULL) == 0);
  pthread_join(thread, NULL);
}

#ifdef KNOWS
static void asked(void) {
  cpu_set_t mask, read;
  CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0);
  CHECK(CPU_ISSET(last, &mask));
  CHECK(sched_setaffinity(0, sizeof mask, &mask) == 0);
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof mask, &mask) == 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setaffinity_np(&attributes, sizeof mask, &mask) == 0);
  CHECK(pthread_attr_getaffinity_np(&attributes, sizeof read, &read) == 0);
  CHECK(CPU_EQUAL(&mask, &read));
  thread_with(&attributes);
  const cpu_set_t *volatile none = NULL; /* libc takes it; headers do not */
  CHECK(pthread_attr_setaffinity_np(&attributes, 0, none) == 0);
  pthread_attr_destroy(&attributes);
}
#else
static void counts(void) {
  cpu_set_t first = only(0), own = only(last), none;
  CPU_ZERO(&none);
  errno = 77;
  CHECK(sched_setaffinity(0, sizeof first, &first) == 0 && is_only(last));
  CHECK(sched_setaffinity(getpid(), 1, &first) == 0 && is_only(last));
  /* CPU `last` is its last-th, which, of one, is the same. */
  CHECK(sched_setaffinity(0, sizeof own, &own) == 0 && is_only(last));
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof first, &first) == 0);
  CHECK(is_only(last) && errno == 77);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setaffinity_np(&attributes, sizeof first, &first) == 0);
  thread_with(&attributes);
  pthread_attr_destroy(&attributes);
#ifdef OLD
  (void)oldest(0, &own);
#endif
}

static void errors_stay(void) {
  cpu_set_t none, beyond = only(CPU_SETSIZE - 1);
  CPU_ZERO(&none);
  CHECK(sched_setaffinity(0, sizeof none, &none) == -1 && errno == EINVAL);
  CHECK(sched_setaffinity(0, sizeof beyond, &beyond) == -1 && errno == EINVAL);
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof none, &none) == EINVAL);
}

/* Another process may have other CPUs: CPU 0 stays CPU 0. */
static void others(void) {
  cpu_set_t first = only(0);
  int ends[2];
  char byte;
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    CHECK(read(ends[0], &byte, 1) == 1);
    _exit(!is_only(0));
  }
  CHECK(sched_setaffinity(child, sizeof first, &first) == 0);
  CHECK(write(ends[1], "", 1) == 1);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}
#endif

int main(int argc, char **argv) {
  (void)argc;
  last = confined(argv);
#ifdef KNOWS
  asked();
#else
  counts();
  errors_stay();
  others();
#endif
}
