/*===- gleaner/cgroup.h - The cgroup of this process ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_CGROUP_H
#define VFRIENDLY_GLEANER_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the folder of the calling process's cgroup: in the version 1 hierarchy
 * that has the controller ("cpuset"), or in that of version 2 if controller is
 * null. Returns false if it is not mounted. */
bool gl_own_cgroup(const char *controller, char *path, size_t size);

/* Returns true if the folder is a cgroup that has a parent. */
bool gl_cgroup_is_below_mount(const char *path);

/* A CPU limit of the calling process's cgroup or of one above it. */
struct gl_limit {
  double cpus;        /* the least; 0 for none */
  double throttled_s; /* time that it stopped the group since its creation */
};

/* Reads cpu.max and cpu.stat (v2), or cpu.cfs_quota_us and cpu.stat (v1). */
struct gl_limit gl_read_limit(void);

#endif /* VFRIENDLY_GLEANER_CGROUP_H */
