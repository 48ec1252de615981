/*===- platform/linux/vcpu_state.h - Which vCPUs the host runs ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   holder:  if (vf_vcpu_states_are_there())
 *              vf_set_cpu(&lock->cpu, vf_cpu_plus_1());
 *   waiter:  if (vf_vcpu_is_preempted(vf_get_cpu(&lock->cpu)))
 *              ... blocks instead of spinning ...
 *
 * /dev/vcpu_state of the kernel patches in runtime/kernel/pv-shootdown maps
 * what the hypervisor writes of each vCPU. Reading it takes no system call and
 * no exit. The answer is a hint: it may be outdated, and the thread may have
 * moved to another CPU meanwhile. Nothing may depend on its being right.
 *
 * Without the device, in particular if the process may not open it, no CPU is
 * preempted, and nothing is reported. It is opened and closed in a constructor,
 * not by the first wait: a program that only locked must not begin to open
 * files then (spin-wait/crowd.h). The mapping stays valid after fork and
 * chroot.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_VCPU_STATE_H
#define VFRIENDLY_PLATFORM_VCPU_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CPU of CPU number n is stored as n + 1; 0 is unknown. The kernel numbers
 * at most 8192 CPUs. */
typedef uint16_t vf_cpu;

/* The records as mapped; written once. */
struct vf_vcpu_states {
  const unsigned char *records; /* of CPU 0; null without the device */
  uint32_t stride, cpus;
  uint32_t offset;  /* of the records, from the beginning of the mapping */
  ptrdiff_t cpu_at; /* of rseq's cpu_id, from the thread pointer; 0: no rseq */
};
extern struct vf_vcpu_states vf_vcpu_states;

/* Maps records of that layout, each of which has record_size bytes at least,
 * and sets vf_vcpu_states.cpu_at. Returns 0 or an errno value. */
int vf_vcpu_records_map(int file, size_t record_size,
                        struct vf_vcpu_states *to);

/* Maps the device at path. pre: no other thread reads the states yet. Returns 0
 * or an errno value: that of open or mmap, or EINVAL if the file has another
 * layout. */
int vf_vcpu_states_map(const char *path);

static inline const unsigned char *vf_vcpu_records(void) {
  return __atomic_load_n(&vf_vcpu_states.records, __ATOMIC_ACQUIRE);
}

static inline bool vf_vcpu_states_are_there(void) {
  return __builtin_expect(vf_vcpu_records() != NULL, 0);
}

/* vf_cpu_plus_1 where glibc has registered no struct rseq. */
vf_cpu vf_cpu_plus_1_without_rseq(void);

/* Returns the CPU on which the caller runs. Inline, as the holder of a
 * contended lock calls it each time. pre: records are mapped. */
static inline vf_cpu vf_cpu_plus_1(void) {
  if (__builtin_expect(vf_vcpu_states.cpu_at == 0, 0))
    return vf_cpu_plus_1_without_rseq();
  const char *cpu_id =
      (const char *)__builtin_thread_pointer() + vf_vcpu_states.cpu_at;
  /* In a thread that is not registered cpu_id is -1 or -2, and the result 0 or
   * more than there are CPUs: unknown. */
  return (vf_cpu)(__atomic_load_n((const int *)cpu_id, __ATOMIC_RELAXED) + 1);
}

/* Returns true if the host has taken the CPU away from a vCPU that would run;
 * false if it is unknown. pre: the device is there. Not inline, so that tests
 * and measurements can replace it. */
bool vf_vcpu_is_preempted(vf_cpu cpu);

#endif /* VFRIENDLY_PLATFORM_VCPU_STATE_H */
