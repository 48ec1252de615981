/*===- numa-placement/preload/cpus.c - The CPUs that the process may use ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "numa-placement/preload/cpus.h"
#include "numa-placement/machine.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static struct vf_cpu_order order;
static pthread_once_t remembered = PTHREAD_ONCE_INIT;
static pthread_once_t ordered = PTHREAD_ONCE_INIT;

/* Makes a raw system call, because another library may have replaced libc's
 * sched_getaffinity. */
static void remember(void) {
  int saved = errno;
  if (syscall(SYS_sched_getaffinity, 0, sizeof order.allowed,
              order.allowed.words) < 0)
    order.allowed = (struct vf_cpu_mask){{0}};
  errno = saved;
}

void vf_cpus_remember(void) { pthread_once(&remembered, remember); }

/* Sort key of a CPU: its node, then its number. */
static uint32_t key(unsigned cpu) {
  int node = vf_node_of_cpu(cpu);
  return (node < 0 ? (uint32_t)VF_MAX_NODES : (uint32_t)node) << 16 | cpu;
}

static int compare(const void *a, const void *b) {
  uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
  return left < right ? -1 : left > right;
}

static void put_in_order(void) {
  static uint32_t keys[VF_CPUS];
  vf_cpus_remember();
  int saved = errno;
  unsigned count = 0;
  for (unsigned cpu = 0; cpu < VF_CPUS; ++cpu)
    if (vf_has_cpu(&order.allowed, cpu))
      keys[count++] = key(cpu);
  qsort(keys, count, sizeof *keys, compare);
  for (unsigned i = 0; i < count; ++i) {
    order.nodes += i == 0 || keys[i] >> 16 != keys[i - 1] >> 16;
    order.cpu[i] = (uint16_t)keys[i];
    order.group[i] = (uint16_t)(order.nodes - 1);
  }
  order.count = count;
  errno = saved;
}

const struct vf_cpu_order *vf_cpus_in_node_order(void) {
  pthread_once(&ordered, put_in_order);
  return &order;
}
