// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A filter of system calls that suffices for glibc, installed by a threaded program.

#include "attack.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
static void *w(void *x) {
  (void)x;
  for (int k = 0; k < 40; k++) {
    void *p[40];
    for (int i = 0; i < 40; i++) {
      p[i] = malloc(150000);
      memset(p[i], 1, 150000);
    }
    for (int i = 0; i < 40; i++)
      free(p[i]);
  }
  return 0;
}
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *l(void *x) {
  (void)x;
  for (int i = 0; i < 100000; i++) {
    pthread_mutex_lock(&m);
    n++;
    pthread_mutex_unlock(&m);
  }
  return 0;
}
int main(void) {
  static const int ok[] = {SYS_read,
                           SYS_write,
                           SYS_openat,
                           SYS_close,
                           SYS_getrandom,
                           SYS_sched_getaffinity,
                           SYS_exit,
                           SYS_exit_group,
                           SYS_futex,
                           SYS_mmap,
                           SYS_munmap,
                           SYS_mremap,
                           SYS_mprotect,
                           SYS_madvise,
                           SYS_brk,
                           SYS_clone,
                           SYS_clone3,
                           SYS_set_robust_list,
                           SYS_rseq,
                           SYS_rt_sigprocmask,
                           SYS_rt_sigreturn,
                           SYS_sched_yield,
                           SYS_clock_gettime,
                           SYS_nanosleep,
                           SYS_clock_nanosleep,
                           SYS_fstat,
                           SYS_newfstatat,
                           SYS_getpid,
                           SYS_gettid};
  struct sock_filter f[64];
  int k = 0;
  f[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        offsetof(struct seccomp_data, nr));
  int N = sizeof ok / sizeof *ok;
  for (int i = 0; i < N; i++)
    f[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ok[i],
                                          N - i, 0);
  f[k++] =
      (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  pthread_t t[3];
  pthread_create(t, 0, w, 0);
  struct sock_fprog p = {k, f};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
              &p)) {
    perror("seccomp");
    return 1;
  }
  for (int i = 1; i < 3; i++)
    pthread_create(t + i, 0, i == 1 ? w : l, 0);
  l(0);
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], 0);
  char b[40];
  int z = snprintf(b, 40, "%ld\n", n);
  if (write(1, b, z) < 0)
    return 1;
  _exit(0);
}
