// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file stands for /dev/vcpu_state. A waiter blocks at once if the vCPU on which the
// holder took the lock is preempted; if it runs, is halted or unknown, the waiter spins.
// Whatever the file says, and however it changes, the lock is a lock.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_lib/libvfrt.a -lpthread -o %t
// RUN: %t %t.states
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/blocking-sync/*.c %vf_src/runtime/platform/linux/*.c %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c -lpthread -o %t.tsan
// RUN: %t.tsan %t.states

#include "flickering.h"
#include "platform/linux/vcpu_state.h"
#include "validate.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPUS = 512, OFFSET = 4096, STRIDE = 4096, SIZE = OFFSET + CPUS * STRIDE };
enum { PREEMPTED = 1, HALTED = 4 };
#define PARKED 2u /* runtime/blocking-sync/mutex.c */
#define SPINNING 4u

static const char *path;
static unsigned char *file;

static uint32_t *header(void) { return (uint32_t *)file; }

static void set(int cpu, uint8_t state, uint32_t known) {
  unsigned char *record = file + OFFSET + (size_t)cpu * STRIDE;
  __atomic_store_n(record + 16, state, __ATOMIC_RELAXED);
  __atomic_store_n((uint32_t *)(record + 64), known, __ATOMIC_RELAXED);
}

static void set_all(uint8_t state, uint32_t known) {
  for (int cpu = 0; cpu < CPUS; ++cpu)
    set(cpu, state, known);
}

static void make_file(void) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0 && ftruncate(fd, SIZE) == 0);
  file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(file != MAP_FAILED);
  close(fd);
  memcpy(file, (uint32_t[]){1, CPUS, OFFSET, STRIDE, 0}, 20);
}

static void refuses_other_layouts(void) {
  static const struct {
    int at;
    uint32_t value;
  } bad[] = {{0, 0}, {0, 2},        {1, 0},    {1, 65535},  {1, CPUS + 1}, {2, 0},
             {2, 8}, {2, 16 + 1},   {2, 1u << 31}, {3, 0},   {3, 64},     {3, 4097},
             {3, 1u << 31}};
  errno = 5;
  CHECK(vf_vcpu_states_map("/nonexistent/vcpu_state") == ENOENT);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    uint32_t good = header()[bad[i].at];
    header()[bad[i].at] = bad[i].value;
    CHECK(vf_vcpu_states_map(path) == EINVAL);
    header()[bad[i].at] = good;
  }
  CHECK(vf_vcpu_states_map("/dev/null") == ENODEV);
  CHECK(truncate(path, 8) == 0 && vf_vcpu_states_map(path) == EINVAL);
  CHECK(errno == 5 && !vf_vcpu_states_are_there());
}

static void pin_to_this_cpu(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void reads_the_record(void) {
  cpu_set_t before;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  pin_to_this_cpu();
  vf_cpu cpu = vf_cpu_plus_1();
  CHECK(cpu == sched_getcpu() + 1);
  CHECK(!vf_vcpu_is_preempted(cpu));
  set(cpu - 1, PREEMPTED, 1);
  CHECK(vf_vcpu_is_preempted(cpu) && !vf_vcpu_is_preempted(cpu + 1));
  pid_t child = fork();
  if (child == 0)
    _exit(!vf_vcpu_is_preempted(vf_cpu_plus_1()));
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(!vf_vcpu_is_preempted(0) && !vf_vcpu_is_preempted(CPUS + 1));
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

static vf_mutex m = VF_MUTEX_INIT;

static void *wait_for_it(void *arg) {
  vf_mutex_lock(&m);
  vf_mutex_unlock(&m);
  return arg;
}

/* Returns true if a waiter spun before it parked: a spin that fails is counted. */
static bool spins_first(void) {
  pthread_t waiter;
  vf_mutex_lock(&m);
  m.failed_spins_ = 0;
  CHECK(pthread_create(&waiter, NULL, wait_for_it, NULL) == 0);
  uint32_t word;
  while (word = __atomic_load_n(&m.word_, __ATOMIC_RELAXED),
         !(word & PARKED) || (word & SPINNING))
    sleep_ms(1);
  uint32_t failed = __atomic_load_n(&m.failed_spins_, __ATOMIC_RELAXED);
  vf_mutex_unlock(&m);
  CHECK(pthread_join(waiter, NULL) == 0);
  return failed != 0;
}

static void ends_the_spin(void) {
  set_all(PREEMPTED, 1);
  CHECK(spins_first()); /* Nobody has waited yet, so the holder was not recorded. */
  CHECK(!spins_first());
  set_all(PREEMPTED | HALTED, 1);
  CHECK(!spins_first());
  set_all(0, 1);
  CHECK(spins_first());
  set_all(HALTED, 1); /* As the kernel's vcpu_is_preempted. */
  CHECK(spins_first());
  set_all(PREEMPTED, 0);
  CHECK(spins_first());
  /* Where nobody waits for long, the holder is no longer recorded. */
  set_all(PREEMPTED, 1);
  CHECK(!spins_first());
  for (int i = 0; i < 100; ++i) {
    vf_mutex_lock(&m);
    vf_mutex_unlock(&m);
  }
  CHECK(m.word_ == 0);
  CHECK(spins_first());
  CHECK(!spins_first());
}

static void *flicker(void *arg) {
  for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i = i * 5 + 1)
    set_all(i >> 7 & PREEMPTED, 1);
  return arg;
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  path = argv[1];
  alarm(120);
  CHECK(!vf_vcpu_states_are_there()); /* This test is for machines without it. */
  make_file();
  refuses_other_layouts();
  make_file();
  set_all(0, 1);
  CHECK(vf_vcpu_states_map(path) == 0 && vf_vcpu_states_are_there());
  reads_the_record();
  ends_the_spin();
  stays_a_lock(&m, flicker);
  return 0;
}
