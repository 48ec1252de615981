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

#endif /* VFRIENDLY_GLEANER_CGROUP_H */
