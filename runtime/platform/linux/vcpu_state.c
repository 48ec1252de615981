/*===- platform/linux/vcpu_state.c - Which vCPUs the host runs ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getcpu */
#endif
#include "platform/linux/vcpu_state.h"
#include "platform/linux/privilege.h"
#include "platform/linux/rseq.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* asm/vcpu_state.h of the patches; the kernel's headers do not have it yet. */
#define VERSION 1u
struct header {
  uint32_t version;
  uint32_t cpus;   /* numbers of CPUs are below that */
  uint32_t offset; /* of the record of CPU 0, in bytes */
  uint32_t stride; /* from one record to the next */
};
/* In a record: struct kvm_steal_time, and whether the CPU is online. */
#define PREEMPTED_AT 16u
#define KNOWN_AT 64u
#define RECORD_SIZE 68u
#define KVM_VCPU_PREEMPTED 1u

/* More than any kernel numbers, so that sizes cannot overflow. */
#define CPUS_MAX 65534u
#define STRIDE_MAX 65536u

struct vf_vcpu_states vf_vcpu_states; /* Zero: there is no device. */

/* Returns the number of bytes that can be read, as reading beyond the end of a
 * file raises SIGBUS. mmap checks it for a device, and for what is no file. */
static size_t size_of(int file) {
  struct stat status;
  if (fstat(file, &status) != 0)
    return 0;
  return S_ISREG(status.st_mode) ? (size_t)status.st_size : SIZE_MAX;
}

/* In struct rseq, where the kernel keeps the CPU's number. */
#define CPU_ID_AT 4

static ptrdiff_t cpu_at(void) {
  ptrdiff_t rseq_at = vf_rseq_at();
  return rseq_at ? rseq_at + CPU_ID_AT : 0;
}

int vf_vcpu_records_map(int file, size_t record_size,
                        struct vf_vcpu_states *to) {
  struct header header;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), there = size_of(file);
  if (there < sizeof header)
    return EINVAL;
  struct header *head = mmap(NULL, page, PROT_READ, MAP_SHARED, file, 0);
  if (head == MAP_FAILED)
    return errno;
  header = *head;
  munmap(head, page);
  if (header.version != VERSION || header.cpus == 0 || header.cpus > CPUS_MAX ||
      header.stride < record_size || header.stride > STRIDE_MAX ||
      header.stride % sizeof(uint32_t) != 0 || header.offset < sizeof header ||
      header.offset > STRIDE_MAX || header.offset % sizeof(uint32_t) != 0)
    return EINVAL;
  size_t size = header.offset + (size_t)header.cpus * header.stride;
  if (size > there)
    return EINVAL;
  unsigned char *all = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
  if (all == MAP_FAILED)
    return errno;
  to->cpus = header.cpus;
  to->stride = header.stride;
  to->offset = header.offset;
  vf_vcpu_states.cpu_at = cpu_at();
  __atomic_store_n(&to->records, all + header.offset, __ATOMIC_RELEASE);
  return 0;
}

int vf_vcpu_states_map(const char *path) {
  int saved = errno;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  int error = file < 0
                  ? errno
                  : vf_vcpu_records_map(file, RECORD_SIZE, &vf_vcpu_states);
  if (file >= 0)
    close(file);
  errno = saved;
  return error;
}

__attribute__((constructor)) static void map_device(void) {
  if (!vf_is_privileged())
    vf_vcpu_states_map("/dev/vcpu_state");
}

vf_cpu vf_cpu_plus_1_without_rseq(void) {
  int cpu = sched_getcpu();
  return cpu >= 0 && (unsigned)cpu < CPUS_MAX ? (vf_cpu)(cpu + 1) : 0;
}

bool vf_vcpu_is_preempted(vf_cpu cpu) {
  const unsigned char *records = vf_vcpu_records();
  if (cpu == 0 || cpu > vf_vcpu_states.cpus)
    return false;
  const unsigned char *record =
      records + (size_t)(cpu - 1) * vf_vcpu_states.stride;
  return __atomic_load_n((const uint32_t *)(record + KNOWN_AT),
                         __ATOMIC_RELAXED) != 0 &&
         (__atomic_load_n(record + PREEMPTED_AT, __ATOMIC_RELAXED) &
          KVM_VCPU_PREEMPTED);
}
