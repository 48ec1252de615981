/*===- platform/linux/cpu_groups.h - CPU limits of control groups ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Reads how much CPU time the control groups of a process may use in each
 * period (cpu.max of cgroup v2; cpu.cfs_quota_us of v1), and how often the
 * kernel stopped a group that had used it up ("throttled" it).
 *
 *   static struct vf_cpu_groups groups;
 *   struct vf_cpu_reading now;
 *   vf_cpu_groups_find(&groups, &vf_cpu_groups_of_self);
 *   ...
 *   if (vf_cpu_groups_read(&groups, vf_now_ns(), &now) == 0 &&
 *       now.throttled != 0)
 *     ... of now.periods periods since the last reading ...
 *   vf_cpu_groups_close(&groups);
 *
 * A process belongs to a group and to each ancestor of it; every one may have a
 * limit. VF_CPU_GROUPS of them are watched, from the innermost outwards. A
 * process in a cgroup namespace, i.e. in most containers, sees only groups of
 * its container; if an ancestor outside has a smaller limit, only its effects
 * show.
 *
 * Files stay open between readings, with descriptors from VF_GROUP_FILES_FROM
 * on and closed by exec: a program that only waited must not begin to open
 * files in its loops (spin-wait/crowd.h). Only a group's limit file is kept
 * while it has no limit. If the program closed a descriptor, or opened another
 * file with its number, the reading fails and reads nothing of that file.
 *
 * All functions are async-signal-safe, preserve errno, do not allocate and are
 * not cancellation points. Threads must not use one struct vf_cpu_groups at the
 * same time.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_CPU_GROUPS_H
#define VFRIENDLY_PLATFORM_CPU_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More levels than common containers have: /kubepods/burstable/POD/CONTAINER
 * are 4, user.slice/user-1000.slice/user@1000.service/app.slice/UNIT 5. */
#define VF_CPU_GROUPS 5
/* Minimum number of a descriptor that is kept. Programs may expect that their
 * own files get certain lower numbers. */
#define VF_GROUP_FILES_FROM 200
/* Thousandths of a CPU if there is no limit. */
#define VF_NO_LIMIT UINT32_MAX
/* Used share of the limit if it is unknown: v1 tells it only if its controllers
 * cpu and cpuacct have the same groups. */
#define VF_USE_UNKNOWN UINT32_MAX

/* Where to look. Tests name other files. */
struct vf_cpu_groups_at {
  const char *membership; /* "/proc/self/cgroup", or that of another process */
  const char *mount;      /* "/sys/fs/cgroup" */
};
extern const struct vf_cpu_groups_at vf_cpu_groups_of_self;

struct vf_group_file {
  int number;        /* the descriptor plus 1; 0: not open */
  uint64_t identity; /* of the file, by which another one is recognized */
};

struct vf_cpu_group {
  struct vf_group_file limit, period, stat, usage;
  uint64_t quota_us, period_us; /* quota_us is 0 without a limit */
  uint64_t periods, throttled, throttled_us, used_us; /* at the last reading */
};

/* A path, of which the first root_length bytes are the mount point. */
struct vf_group_folder {
  char path[512];
  size_t root_length, length;
};

struct vf_cpu_groups {
  struct vf_cpu_group group[VF_CPU_GROUPS];
  unsigned n;
  bool is_v1;
  uint64_t read_at;
  /* Used by vf_cpu_groups_find only. They are not on the stack, as the caller
   * may be a signal handler with a small one. */
  struct vf_group_folder folder, usage_folder;
  char line[1024];
};

/* What has happened since the last reading. */
struct vf_cpu_reading {
  uint64_t elapsed_ns; /* 0 for the first reading, which tells only the limit */
  uint32_t millicpus;  /* the smallest limit, or VF_NO_LIMIT */
  uint32_t period_us;  /* of the group with this limit */
  /* Of the group that was throttled most often: */
  uint32_t periods, throttled;
  uint64_t throttled_us; /* summed over CPUs */
  /* Of the group that used the largest share of its limit, in thousandths of
   * the limit; or VF_USE_UNKNOWN. */
  uint32_t used_permille;
};

/* Finds the groups and opens their files; closes those that were open. groups
 * is zeroed before the first call. Returns 0 or an errno value; ENOENT if there
 * is no group that could have a limit. Then there is nothing to read. */
int vf_cpu_groups_find(struct vf_cpu_groups *groups,
                       const struct vf_cpu_groups_at *where);

/* Reads limits and statistics. Returns 0 or an errno value; ESTALE if the
 * groups must be found anew, as one vanished, a file was closed, or a group got
 * a limit that had none. Takes 1 to 10 us for each group with a limit. */
int vf_cpu_groups_read(struct vf_cpu_groups *groups, uint64_t now,
                       struct vf_cpu_reading *reading);

void vf_cpu_groups_close(struct vf_cpu_groups *groups);

#endif /* VFRIENDLY_PLATFORM_CPU_GROUPS_H */
