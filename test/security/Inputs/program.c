/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Gives each library a reason to act: a second thread waits for a lock and frees memory, with
 * OpenMP if it is compiled so. Prints what the process opened besides, by whatever function,
 * and how many threads it has more than it started. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char opened[4096];
static int is_own;
/* jemalloc reads two settings of the kernel when it starts, wherever it is used. */
static int is_jemallocs(const char *path) {
  return strcmp(path, "/proc/sys/vm/overcommit_memory") == 0 ||
         strcmp(path, "/sys/kernel/mm/transparent_hugepage/enabled") == 0;
}
static void note(const char *path) {
  if (is_own || !path || is_jemallocs(path) || strlen(opened) + strlen(path) + 2 > sizeof opened)
    return;
  strcat(opened, " ");
  strcat(opened, path);
}

static long call(long number, long a, long b, long c, long d, long e, long f) {
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a, b, c, d, e, f);
}

long syscall(long number, ...) {
  va_list list;
  long a[6];
  va_start(list, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat)
    note((const char *)a[1]);
  return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define OPEN(name)                                                                                 \
  int name(const char *path, int flags, ...) {                                                     \
    va_list list;                                                                                  \
    va_start(list, flags);                                                                         \
    int mode = (flags & O_CREAT) ? va_arg(list, int) : 0;                                          \
    va_end(list);                                                                                  \
    note(path);                                                                                    \
    return (int)call(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);                         \
  }
OPEN(open)
OPEN(open64)
int openat(int folder, const char *path, int flags, ...) {
  note(path);
  return (int)call(SYS_openat, folder, (long)path, flags, 0600, 0, 0);
}
FILE *fopen(const char *path, const char *how) {
  FILE *(*next)(const char *, const char *) =
      (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
  note(path);
  return next(path, how);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define BLOCKS 128
static int freed;

static void *work(void *unused) {
  static void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i)
    if ((blocks[i] = malloc(1 << 20)))
      memset(blocks[i], 1, 1 << 20);
  for (int i = 0; i < BLOCKS; ++i)
    free(blocks[i]);
  __atomic_store_n(&freed, 1, __ATOMIC_RELEASE);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_mutex_lock(&lock);
  if (pthread_create(&thread, NULL, work, NULL) != 0)
    return 2;
  while (!__atomic_load_n(&freed, __ATOMIC_ACQUIRE))
    usleep(1000);
#ifdef _OPENMP
  volatile long sum = 0;
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 1000; ++i)
    __atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
  usleep(20000);
#endif
  struct stat tasks;
  is_own = 1;
  int started = 2;
#ifdef _OPENMP
  started = 3;
#endif
  if (stat("/proc/self/task", &tasks) != 0)
    return 2;
  int more = (int)tasks.st_nlink - 2 - started;
  is_own = 0;
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  printf("secure %lu, opened:%s, threads: %d\n", getauxval(AT_SECURE), *opened ? opened : " none",
         more > 0 ? more : 0);
}
