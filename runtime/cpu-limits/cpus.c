/*===- cpu-limits/cpus.c - Tells programs how many CPUs they may use -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libvfcpus.so: a pool that makes a thread for each CPU asks sysconf,
 * get_nprocs or the mask of the thread. None of them knows the CPU limit of a
 * container, and the first two do not know the mask. Here all of them answer
 * the smallest number of CPUs: of the limit, rounded up, and of the mask that
 * the process started with. VF_CPUS=N names another number.
 *
 * A mask with more CPUs is answered with its first ones, so that a program that
 * counts CPUs from 0 up to get_nprocs() finds them in it. A mask that the
 * program then sets within these stands for all CPUs that the process may use:
 * a limit is of time and gives no CPU, so each container would bind its threads
 * to the same few ones.
 *
 * _SC_NPROCESSORS_CONF and get_nprocs_conf stay: they size tables by the number
 * of a CPU, which sched_getcpu() still returns. Out of reach are programs that
 * make the system call themselves (Go, LLVM's OpenMP runtime) or read /sys.
 *===----------------------------------------------------------------------===*/

#include "common/environment.h"
#include "common/process_wide.h"
#include "common/report.h"
#include "platform/linux/cpu_groups.h"
#include "platform/linux/kernel.h"
#include "platform/linux/privilege.h"
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define MOST_CPUS 8192 /* Linux's limit on x86-64 */

/* The function that this library's sysconf replaces, under another name: dlsym
 * may allocate, and an allocator may ask for the number of CPUs. */
long __sysconf(int name);

/* The functions with masks have two versions on x86-64. Those of GLIBC_2.3.3
 * take no size of the mask and are left to libc. */
#ifdef __x86_64__
#define OWN(function) own_##function
#else
#define OWN(function) function
#endif

enum { COUNTS, MASKS, PINS, COUNTERS };
static uint64_t counters[COUNTERS];

struct mask {
  unsigned char bytes[MOST_CPUS / CHAR_BIT];
};

/* Others' constructors may ask before this library's. Threads that ask first at
 * once write the same. */
static struct {
  uint32_t answer;  /* the number of CPUs to tell of; 0 while unknown */
  uint32_t allowed; /* how many there are in */
  struct mask all;  /* the mask that the process started with */
  size_t size;      /* in bytes; 0 if it is unknown */
} known;

static void count(int which) {
  __atomic_fetch_add(&counters[which], 1, __ATOMIC_RELAXED);
}

static bool has(const unsigned char *mask, size_t cpu) {
  return mask[cpu / CHAR_BIT] >> cpu % CHAR_BIT & 1;
}

static uint32_t count_in(const unsigned char *mask, size_t size) {
  uint32_t n = 0;
  for (size_t i = 0; i != size; ++i)
    n += (uint32_t)__builtin_popcount(mask[i]);
  return n;
}

/* Returns the number of bytes that the kernel wrote, or -1. */
static long read_mask(pid_t thread, size_t size, void *mask) {
  return syscall(SYS_sched_getaffinity, thread, size, mask);
}

/* Returns the CPUs of the limit, rounded up; UINT32_MAX without one, and where
 * no file may be opened. */
static uint32_t limit(void) {
  /* Not static: two threads may ask first at once. */
  struct vf_cpu_groups groups;
  struct vf_cpu_reading reading;
  memset(&groups, 0, sizeof groups);
  uint32_t cpus = UINT32_MAX;
  if (vf_is_privileged())
    return cpus;
  if (vf_cpu_groups_find(&groups, &vf_cpu_groups_of_self) == 0 &&
      vf_cpu_groups_read(&groups, vf_now_ns(), &reading) == 0 &&
      reading.millicpus != VF_NO_LIMIT)
    cpus = (reading.millicpus + 999) / 1000;
  vf_cpu_groups_close(&groups);
  return cpus != 0 ? cpus : 1;
}

static uint32_t answer(void) {
  uint32_t n = __atomic_load_n(&known.answer, __ATOMIC_ACQUIRE);
  if (n != 0)
    return n;
  int saved = errno;
  long size = read_mask(0, sizeof known.all, &known.all);
  known.size = size > 0 ? (size_t)size : 0;
  known.allowed = size > 0 ? count_in(known.all.bytes, known.size)
                           : (uint32_t)__sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t given;
  bool is_given = vf_env_number("VF_CPUS", 1, MOST_CPUS, known.allowed, &given);
  n = is_given ? (uint32_t)given : limit();
  if (n > known.allowed)
    n = known.allowed;
  __atomic_store_n(&known.answer, n, __ATOMIC_RELEASE);
  errno = saved;
  return n;
}

static long fewer(long real) {
  long n = (long)answer();
  if (real <= n)
    return real;
  count(COUNTS);
  return n;
}

/* Leaves the first CPUs in a mask. */
static void narrow(unsigned char *mask, size_t size) {
  uint32_t n = answer(), seen = 0;
  if (count_in(mask, size) <= n)
    return;
  count(MASKS);
  for (size_t cpu = 0; cpu != size * CHAR_BIT; ++cpu)
    if (has(mask, cpu) && ++seen > n)
      mask[cpu / CHAR_BIT] &= (unsigned char)~(1u << cpu % CHAR_BIT);
}

/* Returns true if the mask names only CPUs that the program was told of, and
 * was not told of all. */
static bool stands_for_all(const cpu_set_t *mask, size_t size) {
  const unsigned char *given = (const unsigned char *)mask;
  uint32_t n = answer(), seen = 0, named = 0;
  if (!mask || n >= known.allowed)
    return false;
  for (size_t cpu = 0; cpu != size * CHAR_BIT; ++cpu) {
    bool told =
        cpu < known.size * CHAR_BIT && has(known.all.bytes, cpu) && ++seen <= n;
    if (has(given, cpu) && !told)
      return false;
    named += has(given, cpu);
  }
  if (named != 0)
    count(PINS);
  return named != 0;
}

/* The CPUs of other processes are not the program's number of them. */
static bool is_own(pid_t thread) {
  int saved = errno;
  bool own = thread == 0 || syscall(SYS_tgkill, getpid(), thread, 0) == 0;
  errno = saved;
  return own;
}

VF_API long sysconf(int name) {
  long real = __sysconf(name);
  return name == _SC_NPROCESSORS_ONLN ? fewer(real) : real;
}

VF_API int get_nprocs(void) {
  return (int)fewer(__sysconf(_SC_NPROCESSORS_ONLN));
}

/* As libc's: clears what the kernel does not write. */
VF_API int OWN(sched_getaffinity)(pid_t thread, size_t size, cpu_set_t *mask) {
  long got = read_mask(thread, size < INT_MAX ? size : INT_MAX, mask);
  if (got < 0)
    return -1;
  memset((char *)mask + got, 0, size - (size_t)got);
  if (is_own(thread))
    narrow((unsigned char *)mask, (size_t)got);
  return 0;
}

/* Two calls at once store the same. */
#define NEXT(function)                                                         \
  ({                                                                           \
    static __typeof__(function) *next;                                         \
    __typeof__(function) *found = __atomic_load_n(&next, __ATOMIC_RELAXED);    \
    if (!found) {                                                              \
      found = (__typeof__(function) *)dlsym(RTLD_NEXT, #function);             \
      __atomic_store_n(&next, found, __ATOMIC_RELAXED);                        \
    }                                                                          \
    found;                                                                     \
  })

VF_API int OWN(pthread_getaffinity_np)(pthread_t thread, size_t size,
                                       cpu_set_t *mask) {
  int error = NEXT(pthread_getaffinity_np)(thread, size, mask);
  if (error == 0)
    narrow((unsigned char *)mask, size);
  return error;
}

VF_API int OWN(sched_setaffinity)(pid_t thread, size_t size,
                                  const cpu_set_t *mask) {
  bool all = is_own(thread) && stands_for_all(mask, size);
  return NEXT(sched_setaffinity)(thread, all ? known.size : size,
                                 all ? (const cpu_set_t *)&known.all : mask);
}

VF_API int OWN(pthread_setaffinity_np)(pthread_t thread, size_t size,
                                       const cpu_set_t *mask) {
  bool all = stands_for_all(mask, size);
  return NEXT(pthread_setaffinity_np)(thread, all ? known.size : size,
                                      all ? (const cpu_set_t *)&known.all
                                          : mask);
}

#ifdef __x86_64__
__asm__(".symver own_sched_getaffinity, sched_getaffinity@@GLIBC_2.3.4\n"
        ".symver own_sched_setaffinity, sched_setaffinity@@GLIBC_2.3.4\n"
        ".symver own_pthread_getaffinity_np, "
        "pthread_getaffinity_np@GLIBC_2.3.4\n"
        ".symver own_pthread_getaffinity_np, "
        "pthread_getaffinity_np@@GLIBC_2.32\n"
        ".symver own_pthread_setaffinity_np, "
        "pthread_setaffinity_np@GLIBC_2.3.4\n"
        ".symver own_pthread_setaffinity_np, "
        "pthread_setaffinity_np@@GLIBC_2.34");
#endif

static void print(void) {
  static const char *const names[COUNTERS] = {"counts", "masks", "pins"};
  static struct vf_report report;
  if (vf_report_is_idle(counters, COUNTERS))
    return;
  vf_report_verdict(&report,
                    "the program was told of %" PRIu32 " of %" PRIu32 " CPUs",
                    answer(), known.allowed);
  vf_report_counters(&report, "vfcpus", names, counters, COUNTERS);
  vf_report_add(&report, ", \"cpus\": %" PRIu32 ", \"allowed\": %" PRIu32,
                answer(), known.allowed);
  vf_report_end(&report);
}

__attribute__((constructor)) static void configure(void) {
  int saved = errno;
  vf_env_check_names();
  answer();
  if (vf_report_is_wanted())
    vf_report_register("vfcpus", print);
  errno = saved;
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
