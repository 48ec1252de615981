// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime that takes VF_SPIN_NOTIFIED at its word: such a wait goes on only when it
// is notified. If its value changes, and no notify follows in two seconds, the pass
// promised what it did not do, and the program aborts. Linked in place of libvfrt.

#include "vfriendly/spin_wait.h"
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Enabled from the start, so that every setter notifies.
uint32_t vf_spin_armed = 1;

enum { BUCKETS = 1 << 12 };
// Forked processes wait for each other too, so the counts are shared.
static uint32_t *notifies;

__attribute__((constructor(101))) static void begin(void) {
  notifies = mmap(NULL, BUCKETS * sizeof *notifies, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (notifies == MAP_FAILED)
    _exit(99);
}

static uint32_t *bucket(const volatile void *addr) {
  return &notifies[((uintptr_t)addr >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

static uint64_t read_at(const volatile void *addr, uint32_t size) {
  switch (size) {
  case 1: return __atomic_load_n((const volatile uint8_t *)addr, __ATOMIC_RELAXED);
  case 2: return __atomic_load_n((const volatile uint16_t *)addr, __ATOMIC_RELAXED);
  case 4: return __atomic_load_n((const volatile uint32_t *)addr, __ATOMIC_RELAXED);
  default: return __atomic_load_n((const volatile uint64_t *)addr, __ATOMIC_RELAXED);
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

uint64_t vf_spin_wait(const volatile void *addr, uint64_t observed,
                      uint64_t state, uint32_t how) {
  (void)state;
  uint32_t size = how & VF_SPIN_SIZE_MASK;
  sched_yield();
  if (!(how & VF_SPIN_NOTIFIED) || !size || !addr)
    return VF_SPIN_POLLS_UNCALLED + 1;
  uint32_t before = __atomic_load_n(bucket(addr), __ATOMIC_SEQ_CST);
  // The value had changed before this call, so it is unknown whether it was
  // notified.
  if (read_at(addr, size) != observed)
    return VF_SPIN_POLLS_UNCALLED + 1;
  uint64_t last = observed;
  double changed = 0;
  while (__atomic_load_n(bucket(addr), __ATOMIC_SEQ_CST) == before) {
    uint64_t value = read_at(addr, size);
    if (value != last)
      changed = now();
    last = value;
    if (value != observed && now() - changed > 2) {
      static const char text[] = "strict: a promised notify never came\n";
      (void)!write(2, text, sizeof text - 1);
      abort();
    }
    // Not usleep, which is a cancellation point.
    syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 20000}, NULL);
  }
  return VF_SPIN_POLLS_UNCALLED + 1;
}

uint64_t vf_spin_backoff(uint64_t state, uint32_t how) {
  return vf_spin_wait(NULL, 0, state, how & ~VF_SPIN_SIZE_MASK);
}

void vf_spin_notify(const volatile void *addr) {
  __atomic_fetch_add(bucket(addr), 1, __ATOMIC_SEQ_CST);
}
