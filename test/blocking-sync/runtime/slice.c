// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Longer time slices for holders, on a simulator: each thread has a struct rseq of this
// file's, and what the kernel does to it on an interrupt is done here.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_lib/libvfrt.a -lpthread -o %t
// RUN: env VF_SLICE=on %t
// RUN: env VF_SLICE=on %t one-cpu
// RUN: env VF_SLICE=on %t trapped
// RUN: env -u VF_SLICE %t default
// In a program with another user's rights the variable counts for nothing.
// RUN: %if root %{ cp %t %t.setuid && chown 65534 %t.setuid && chmod 4755 %t.setuid && env VF_SLICE=on %t.setuid setuid %}
// RUN: env GLIBC_TUNABLES=glibc.pthread.rseq=0 %t without

#include "common/slice.h"
#include "rseq_area.h"
#include "validate.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static __thread int asked;
static bool refuses;

// What the kernel's debug mode does: a system call with both bits set ends the process.
static void enter_kernel(void) { CHECK(!(area.request && area.granted)); }

static bool enable(void) {
  ++asked;
  if (refuses)
    return false;
  area.flags |= ENABLED;
  return true;
}

// The slice ends.
static void interrupt(void) {
  enter_kernel();
  if (area.flags & ENABLED && area.request) {
    area.request = 0;
    area.granted = 1;
  }
}

static void lose_cpu(void) { area.request = area.granted = 0; }

#define PARKED 2u /* runtime/blocking-sync/mutex.c */

static vf_mutex a = VF_MUTEX_INIT, b = VF_MUTEX_INIT, plain = VF_MUTEX_INIT;

static void *wait_for(void *arg) {
  vf_mutex_lock(arg);
  // Had to wait.
  CHECK(area.request == (vf_slice_at != 0 && !refuses));
  vf_mutex_unlock(arg);
  CHECK(area.request == 0 && asked == (vf_slice_at != 0 && !refuses));
  return NULL;
}

// Makes a thread wait, after which acquisitions are requests.
static void contend(vf_mutex *mutex) {
  pthread_t thread;
  vf_mutex_lock(mutex);
  CHECK(pthread_create(&thread, NULL, wait_for, mutex) == 0);
  while (!(__atomic_load_n(&mutex->word_, __ATOMIC_RELAXED) & PARKED))
    usleep(1000);
  vf_mutex_unlock(mutex);
  pthread_join(thread, NULL);
}

static void in_thread(void *(*work)(void *), void *arg) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, arg) == 0);
  pthread_join(thread, NULL);
}

static void only_contended_locks(void) {
  vf_mutex_lock(&plain);
  CHECK(area.request == 0);
  vf_mutex_unlock(&plain);
  CHECK(asked == 0);
  vf_mutex_lock(&a);
  CHECK(area.request == 1);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0 && asked == 1 && yielded == 0);
  CHECK(vf_mutex_trylock(&a) == 0);
  CHECK(area.request == 1 && vf_mutex_trylock(&a) == EBUSY && area.request == 1);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0 && asked == 1);
}

static void gives_back(void) {
  errno = 7;
  vf_mutex_lock(&a);
  interrupt();
  CHECK(area.granted == 1);
  interrupt();
  vf_mutex_unlock(&a);
  CHECK(area.request == 0 && area.granted == 0 && yielded == 1);
  vf_mutex_lock(&a);
  interrupt();
  lose_cpu();
  vf_mutex_unlock(&a);
  CHECK(area.request == 0 && yielded == 1 && errno == 7);
}

static void nested(void) {
  vf_mutex_lock(&a);
  vf_mutex_lock(&b);
  vf_mutex_unlock(&b);
  CHECK(area.request == 1);
  interrupt();
  vf_mutex_lock(&b); // Must not request beside the grant.
  enter_kernel();
  vf_mutex_unlock(&b);
  CHECK(area.granted == 1 && yielded == 1);
  vf_mutex_unlock(&a);
  CHECK(area.granted == 0 && yielded == 2);
  vf_mutex_lock(&a);
  vf_mutex_lock(&b);
  vf_mutex_unlock(&a);
  vf_mutex_unlock(&b);
  CHECK(area.request == 0 && area.granted == 0);
}

static vf_cond cond = VF_COND_INIT;
static int ready;
static void *make_ready(void *arg) {
  vf_mutex_lock(&a);
  ready = 1;
  vf_cond_signal(&cond);
  vf_mutex_unlock(&a);
  return arg;
}

static void with_conditions(void) {
  pthread_t thread;
  vf_mutex_lock(&a);
  CHECK(pthread_create(&thread, NULL, make_ready, NULL) == 0);
  while (!ready)
    vf_cond_wait(&cond, &a);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0 && area.granted == 0);
  pthread_join(thread, NULL);
}

static void *release(void *arg) {
  vf_mutex_unlock(&a);
  return arg;
}

// A thread whose lock another one releases goes on asking until its slice ends.
static void released_elsewhere(void) {
  vf_mutex_lock(&a);
  in_thread(release, NULL);
  vf_mutex_lock(&a);
  vf_mutex_unlock(&a);
  interrupt();
  lose_cpu();
  vf_mutex_lock(&a);
  CHECK(area.request == 1);
  interrupt();
  in_thread(release, NULL);
  vf_mutex_lock(&a); // Must not request beside the grant.
  enter_kernel();
  vf_mutex_unlock(&a);
  lose_cpu();
  vf_mutex_lock(&a);
  CHECK(area.request == 1);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0 && area.granted == 0);
}

static vf_mutex of_handler = VF_MUTEX_INIT;
static int handled;
static void on_signal(int number) {
  (void)number;
  enter_kernel();
  if (++handled & 1)
    interrupt();
  vf_mutex_lock(&of_handler);
  enter_kernel();
  vf_mutex_unlock(&of_handler);
  if (handled % 3 == 0)
    lose_cpu();
}

// A handler with a lock of its own comes between any two steps.
static void with_handlers(void) {
  struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
  signal(SIGPROF, on_signal);
  setitimer(ITIMER_PROF, &often, NULL);
  for (int i = 0; i < 3000000 || handled < 50; ++i) {
    vf_mutex_lock(&a);
    vf_mutex_unlock(&a);
  }
  setitimer(ITIMER_PROF, &never, NULL);
  CHECK(area.request == 0 && area.granted == 0);
  vf_mutex_lock(&a);
  CHECK(area.request == 1);
  vf_mutex_unlock(&a);
}

static void with_fork(void) {
  int status;
  vf_mutex_lock(&a);
  interrupt();
  lose_cpu(); // fork is a system call.
  pid_t child = fork();
  CHECK(child >= 0);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0);
  vf_mutex_lock(&a);
  CHECK(area.request == 1);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0);
  if (child == 0)
    _exit(0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void *lock_unregistered(void *arg) {
  area.flags = 0;
  vf_mutex_lock(&a);
  CHECK(area.request == 0 && asked == 0);
  vf_mutex_unlock(&a);
  return arg;
}

static void *lock_refused(void *arg) {
  for (int i = 0; i < 3; ++i) {
    vf_mutex_lock(&a);
    CHECK(area.request == 0);
    vf_mutex_unlock(&a);
  }
  CHECK(asked == (arg != NULL));
  return arg;
}

static void filter_prctl(uint32_t action) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {4, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

// A filter ends the process for an unknown prctl.
static void *lock_filtered(void *arg) {
  filter_prctl(SECCOMP_RET_KILL_PROCESS);
  vf_mutex_lock(&a);
  vf_mutex_unlock(&a);
  return arg;
}

static volatile int trapped;
static void on_trap(int signal) {
  (void)signal;
  ++trapped;
}

// A sandbox's filter, whose handler does not know the call: it is made once in the process, and nothing is requested.
static void *lock_trapped(void *arg) {
  signal(SIGSYS, on_trap);
  filter_prctl(SECCOMP_RET_TRAP);
  for (int i = 0; i < 3; ++i) {
    errno = 7;
    vf_mutex_lock(&a);
    CHECK(area.request == 0 && errno == 7);
    vf_mutex_unlock(&a);
  }
  return arg;
}

// Without VF_SLICE no thread is enabled by a system call, which this filter would end the
// process for; what libc has enabled is used.
static void by_default(void) {
  struct vf_slice_kernel own = vf_slice_kernel;
  vf_slice_kernel.enable = enable; // Counts.
  contend(&a);
  vf_slice_kernel = own;
  CHECK(area.request == 0);
  area.flags |= ENABLED;
  vf_mutex_lock(&a);
  CHECK(area.request == 1);
  vf_mutex_unlock(&a);
  CHECK(area.request == 0);
  in_thread(lock_filtered, NULL);
}

int main(int argc, char **argv) {
  ptrdiff_t at = area_at();
  if (argc > 1 && !strcmp(argv[1], "without")) {
    CHECK(vf_slice_at == 0); // libc has registered nothing.
    return 0;
  }
  const char *how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "one-cpu")) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    CHECK(sched_setaffinity(0, sizeof cpus, &cpus) == 0);
    how = "";
  }
  CHECK(getauxval(AT_SECURE) == !strcmp(how, "setuid"));
  refuses = *how != '\0';
  area.flags = 0;
  vf_slice_find(at);
  CHECK(vf_slice_at == 0); // An older kernel, or one without the feature.
  contend(&plain);
  CHECK(asked == 0);
  plain = (vf_mutex)VF_MUTEX_INIT;
  area.flags = AVAILABLE;
  vf_slice_find(at);
  CHECK(vf_slice_at == at);
  if (!strcmp(how, "trapped")) {
    struct vf_slice_kernel own = vf_slice_kernel;
    vf_slice_kernel = (struct vf_slice_kernel){enable, yield};
    refuses = false;
    contend(&a);
    vf_slice_kernel = own;
    in_thread(lock_trapped, NULL);
    in_thread(lock_trapped, NULL);
    CHECK(trapped == 1);
    return 0;
  }
  if (refuses) {
    by_default();
    return 0;
  }
  vf_slice_kernel = (struct vf_slice_kernel){enable, yield};
  contend(&a);
  contend(&b);
  contend(&of_handler);
  only_contended_locks();
  gives_back();
  nested();
  with_conditions();
  released_elsewhere();
  with_handlers();
  with_fork();
  in_thread(lock_unregistered, NULL);
  validate_mutex(4, 20000);
  CHECK(area.request == 0 && area.granted == 0);
  refuses = true;
  in_thread(lock_refused, &a);
  in_thread(lock_refused, NULL); // Asked once.
  contend(&a);
  return 0;
}
