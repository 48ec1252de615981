/*===- numa-placement/preload/affinity.c - CPU masks in cpusets ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A program that binds thread i by CPU_SET(i) fails in a cpuset that lacks that
 * CPU. Here CPU i becomes the i-th allowed CPU in node order.
 *
 * A module (the program or a shared library) whose masks each name an allowed
 * CPU is left alone, because it knows which CPUs are allowed. The first mask
 * that names no allowed CPU shows that its module counts CPUs from 0; from then
 * on all masks of this module are remapped. In a cpuset, such a mask is an
 * error without this library, so the remapping changes no program that works
 * there. Without this library, such a mask would move a thread of a program
 * that taskset has started away from the CPUs that taskset gave it.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "common/sandbox.h"
#include "numa-placement/preload/cpus.h"
#include "numa-placement/preload/next.h"
#include "numa-placement/preload/settings.h"
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Maximum number of modules that are recorded because they count CPUs from 0.
 * All masks of these modules are remapped; a mask of any other module is
 * remapped only if it names no allowed CPU. */
enum { MAX_MODULES = 16 };
static const void *modules[MAX_MODULES];

static bool counts_from_zero(const void *module) {
  for (int i = 0; i < MAX_MODULES; ++i)
    if (__atomic_load_n(&modules[i], __ATOMIC_RELAXED) == module)
      return module != NULL;
  return false;
}

static void note(const void *module) {
  for (int i = 0; i < MAX_MODULES; ++i) {
    const void *was = NULL;
    if (__atomic_compare_exchange_n(&modules[i], &was, module, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
        was == module)
      return;
  }
}

/* Returns the mask to use instead of `given`, a mask of `size` bytes that the
 * code at caller has passed: the remapped mask, stored in *room, or NULL if
 * `given` is to be used. */
static const cpu_set_t *mapped(const void *caller, size_t size,
                               const cpu_set_t *given,
                               struct vf_cpu_mask *room) {
  const struct vf_cpu_order *order = vf_cpus_in_node_order();
  const unsigned char *bytes = (const unsigned char *)given;
  /* Ignores the numbers of CPUs that the machine does not have, as the kernel
   * does. A mask that contains only such numbers is left unchanged and stays an
   * error: a program may count the CPUs by trying masks until one fails. */
  bool names_allowed = false, names_other = false;
  /* NULL removes the mask of attributes. */
  if (order->count == 0 || !given)
    return NULL;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  *room = (struct vf_cpu_mask){{0}};
  for (unsigned cpu = 0; cpu < VF_CPUS && cpu / CHAR_BIT < size; ++cpu) {
    if (!(bytes[cpu / CHAR_BIT] >> cpu % CHAR_BIT & 1))
      continue;
    bool allowed = vf_has_cpu(&order->allowed, cpu);
    if (!allowed && (long)cpu >= online)
      continue;
    names_allowed |= allowed;
    names_other |= !allowed;
    vf_add_cpu(room, order->cpu[cpu % order->count]);
  }
  const void *module = vf_module_of(caller);
  if (names_allowed ? !counts_from_zero(module) : !names_other)
    return NULL;
  if (!names_allowed)
    note(module);
  vf_count_numa_preload(VF_NUMA_REMAPPED);
  return (const cpu_set_t *)room;
}

static const cpu_set_t *remapped(const void *caller, size_t size,
                                 const cpu_set_t *given,
                                 struct vf_cpu_mask *room) {
  if (!vf_begin_optional())
    return NULL;
  const cpu_set_t *result = mapped(caller, size, given, room);
  vf_end_optional();
  return result;
}

/* A thread of another process may have other CPUs allowed, so masks for it are
 * not remapped. */
static bool is_own_thread(pid_t id) {
  if (id == 0 || !vf_begin_optional())
    return id == 0;
  int saved = errno;
  bool own = syscall(SYS_tgkill, getpid(), id, 0) == 0;
  errno = saved;
  vf_end_optional();
  return own;
}

VF_API int sched_setaffinity(pid_t id, size_t size, const cpu_set_t *mask) {
  struct vf_cpu_mask room;
  const cpu_set_t *other =
      is_own_thread(id)
          ? remapped(__builtin_return_address(0), size, mask, &room)
          : NULL;
  return vf_numa_next()->sched_setaffinity(id, other ? sizeof room : size,
                                           other ? other : mask);
}

/* Each function is exported under two symbol versions (exports.map) that behave
 * alike. */
VF_API int own_setaffinity(pthread_t thread, size_t size,
                           const cpu_set_t *mask) {
  struct vf_cpu_mask room;
  const cpu_set_t *other =
      remapped(__builtin_return_address(0), size, mask, &room);
  return vf_numa_next()->pthread_setaffinity_np(
      thread, other ? sizeof room : size, other ? other : mask);
}

VF_API int own_attr_setaffinity(pthread_attr_t *attributes, size_t size,
                                const cpu_set_t *mask) {
  struct vf_cpu_mask room;
  const cpu_set_t *other =
      remapped(__builtin_return_address(0), size, mask, &room);
  return vf_numa_next()->pthread_attr_setaffinity_np(
      attributes, other ? sizeof room : size, other ? other : mask);
}

__asm__(".symver own_setaffinity, pthread_setaffinity_np@GLIBC_2.3.4\n"
        ".symver own_setaffinity, pthread_setaffinity_np@@GLIBC_2.34\n"
        ".symver own_attr_setaffinity, "
        "pthread_attr_setaffinity_np@GLIBC_2.3.4\n"
        ".symver own_attr_setaffinity, "
        "pthread_attr_setaffinity_np@@GLIBC_2.32");
