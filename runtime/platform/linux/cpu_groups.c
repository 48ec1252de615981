/*===- platform/linux/cpu_groups.c - CPU limits of control groups ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * System calls are made by syscall(): libc's open and pread are cancellation
 * points. Few functions of libc are called, for the reason in common/report.c.
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#endif
#include "platform/linux/cpu_groups.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct vf_cpu_groups_at vf_cpu_groups_of_self = {"/proc/self/cgroup",
                                                       "/sys/fs/cgroup"};

/* cpu.stat has some 300 bytes. */
#define STAT_SIZE 512
#define LIMIT_SIZE 64
/* A quota of 2^32 us, more than an hour, in each period is no limit; nor can
 * products of such numbers overflow. */
#define QUOTA_MAX UINT32_MAX

static int open_file(const char *path) {
  return (int)syscall(SYS_openat, AT_FDCWD, path,
                      O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
}

static long read_at(int file, char *to, size_t size, uint64_t offset) {
  return syscall(SYS_pread64, file, to, size, (off_t)offset);
}

/* Returns a number that identifies the open file, or 0. Control groups do not
 * reuse inode numbers soon. */
static uint64_t identity_of(int file) {
  struct stat status;
  if (fstat(file, &status) != 0)
    return 0;
  uint64_t identity = status.st_ino ^ (uint64_t)status.st_dev << 40;
  return identity ? identity : 1;
}

static bool is_ours(const struct vf_group_file *file) {
  return file->number != 0 && identity_of(file->number - 1) == file->identity;
}

static void close_file(struct vf_group_file *file) {
  if (is_ours(file))
    close(file->number - 1);
  file->number = 0;
}

static bool keep_file(struct vf_group_file *kept, const char *path) {
  int file = open_file(path);
  if (file < 0)
    return false;
  int high =
      (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, VF_GROUP_FILES_FROM);
  close(file);
  if (high < 0)
    return false;
  kept->number = high + 1;
  kept->identity = identity_of(high);
  return true;
}

/* Reads the file's beginning as a string. Returns false if it is another file
 * by now, or cannot be read. */
static bool read_file(const struct vf_group_file *file, char *to, size_t size) {
  if (!is_ours(file))
    return false;
  long length = read_at(file->number - 1, to, size - 1, 0);
  if (length <= 0)
    return false;
  to[length] = '\0';
  return true;
}

/* Reads digits at *at and moves *at after them. Returns false if there are none
 * or the number is too large for a product of two. */
static bool number(const char **at, uint64_t *result) {
  uint64_t value = 0;
  const char *c = *at;
  for (; *c >= '0' && *c <= '9'; ++c) {
    if (value > UINT64_MAX / 1000)
      return false;
    value = value * 10 + (uint64_t)(*c - '0');
  }
  if (c == *at)
    return false;
  *at = c;
  *result = value;
  return true;
}

/* Returns the value of a line "name value", or 0. */
static uint64_t value_of(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, length) == 0 && line[length] == ' ') {
      const char *at = line + length + 1;
      uint64_t value;
      return number(&at, &value) ? value : 0;
    }
  }
  return 0;
}

/* Reads quota and period; quota_us becomes 0 if the group has no limit, as
 * "max" and -1 mean. */
static bool read_limit(struct vf_cpu_group *group, bool is_v1) {
  char text[LIMIT_SIZE];
  const char *at = text;
  uint64_t quota;
  if (!read_file(&group->limit, text, sizeof text))
    return false;
  bool has_limit = number(&at, &quota) && quota != 0 && quota <= QUOTA_MAX;
  group->quota_us = has_limit ? quota : 0;
  if (!has_limit || (is_v1 && group->period.number == 0))
    return true;
  if (is_v1) {
    at = text;
    if (!read_file(&group->period, text, sizeof text))
      return false;
  } else if (*at == ' ') {
    ++at;
  }
  return number(&at, &group->period_us) && group->period_us != 0 &&
         group->period_us <= QUOTA_MAX;
}

static uint32_t difference(uint64_t now, uint64_t *last) {
  uint64_t difference = now > *last ? now - *last : 0;
  *last = now;
  return difference < UINT32_MAX ? (uint32_t)difference : UINT32_MAX;
}

/* Reads the statistics of a group with a limit, and adds to the reading. */
static bool read_statistics(struct vf_cpu_group *group, bool is_v1,
                            struct vf_cpu_reading *reading) {
  char text[STAT_SIZE];
  if (!read_file(&group->stat, text, sizeof text))
    return false;
  uint32_t periods = difference(value_of(text, "nr_periods"), &group->periods),
           throttled =
               difference(value_of(text, "nr_throttled"), &group->throttled);
  uint64_t stopped_us = is_v1 ? value_of(text, "throttled_time") / 1000
                              : value_of(text, "throttled_usec"),
           used = value_of(text, "usage_usec");
  uint32_t stopped = difference(stopped_us, &group->throttled_us);
  bool is_known = !is_v1;
  if (is_v1 && group->usage.number != 0) {
    const char *at = text;
    is_known =
        read_file(&group->usage, text, sizeof text) && number(&at, &used);
    used /= 1000;
  }
  uint32_t used_us = difference(is_known ? used : 0, &group->used_us);
  if (reading->elapsed_ns == 0)
    return true;
  if (throttled >= reading->throttled) {
    reading->periods = periods;
    reading->throttled = throttled;
    reading->throttled_us = stopped;
  }
  uint64_t may_us =
      reading->elapsed_ns / 1000 * group->quota_us / group->period_us;
  if (is_known && may_us != 0) {
    uint64_t permille = (uint64_t)used_us * 1000 / may_us;
    if (reading->used_permille == VF_USE_UNKNOWN ||
        permille > reading->used_permille)
      reading->used_permille =
          permille < VF_USE_UNKNOWN ? (uint32_t)permille : VF_USE_UNKNOWN - 1;
  }
  return true;
}

int vf_cpu_groups_read(struct vf_cpu_groups *groups, uint64_t now,
                       struct vf_cpu_reading *reading) {
  int saved = errno, result = 0;
  *reading = (struct vf_cpu_reading){.millicpus = VF_NO_LIMIT,
                                     .used_permille = VF_USE_UNKNOWN};
  if (groups->read_at != 0)
    reading->elapsed_ns = now - groups->read_at;
  groups->read_at = now;
  for (unsigned i = 0; i != groups->n && result == 0; ++i) {
    struct vf_cpu_group *group = &groups->group[i];
    if (!read_limit(group, groups->is_v1)) {
      result = ESTALE;
    } else if (group->quota_us != 0) {
      if (group->stat.number == 0 || group->period_us == 0 ||
          !read_statistics(group, groups->is_v1, reading)) {
        result = ESTALE;
        break;
      }
      uint64_t millicpus = group->quota_us * 1000 / group->period_us;
      if (millicpus < reading->millicpus) {
        reading->millicpus = (uint32_t)millicpus;
        reading->period_us = (uint32_t)group->period_us;
      }
    }
  }
  errno = saved;
  return result;
}

static void close_group(struct vf_cpu_group *group) {
  close_file(&group->limit);
  close_file(&group->period);
  close_file(&group->stat);
  close_file(&group->usage);
}

void vf_cpu_groups_close(struct vf_cpu_groups *groups) {
  int saved = errno;
  for (unsigned i = 0; i != groups->n; ++i)
    close_group(&groups->group[i]);
  groups->n = 0;
  errno = saved;
}

/* Returns true if the comma-separated list contains the word. */
static bool lists(const char *list, const char *word) {
  size_t length = strlen(word);
  for (;;) {
    const char *comma = strchr(list, ',');
    size_t n = comma ? (size_t)(comma - list) : strlen(list);
    if (n == length && strncmp(list, word, n) == 0)
      return true;
    if (!comma)
      return false;
    list = comma + 1;
  }
}

/* Finds the line ID:CONTROLLERS:PATH of the controller, or of v2 if it is "".
 * Stores CONTROLLERS and PATH, which are strings in `line`, a buffer of `size`
 * bytes. Longer lines are not found. */
static bool find_line(int file, const char *controller, char *line, size_t size,
                      char **controllers, char **path) {
  for (uint64_t offset = 0;;) {
    long length = read_at(file, line, size - 1, offset);
    if (length <= 0)
      return false;
    line[length] = '\0';
    char *end = strchr(line, '\n');
    if (!end) { /* too long: skip what was read of it */
      offset += (uint64_t)length;
      continue;
    }
    *end = '\0';
    offset += (uint64_t)(end - line) + 1;
    char *first = strchr(line, ':'),
         *second = first ? strchr(first + 1, ':') : NULL;
    if (!second)
      continue;
    *second = '\0';
    *controllers = first + 1;
    *path = second + 1;
    if (*controller == '\0' ? **controllers == '\0'
                            : lists(*controllers, controller))
      return true;
  }
}

/* Appends the parts, ended by a null pointer, to the string of length `at` in
 * buffer. Returns the new length, or 0 if it does not fit. */
static size_t join(char *buffer, size_t size, size_t at,
                   const char *const *parts) {
  for (; *parts; ++parts) {
    size_t length = strlen(*parts);
    if (length >= size - at)
      return 0;
    memcpy(buffer + at, *parts, length + 1);
    at += length;
  }
  return at;
}

#define JOIN(buffer, at, ...)                                                  \
  join(buffer, sizeof(buffer), at, (const char *const[]){__VA_ARGS__, NULL})

static bool is_there(const char *path) {
  int folder = (int)syscall(SYS_openat, AT_FDCWD, path,
                            O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder >= 0)
    close(folder);
  return folder >= 0;
}

/* Returns true if a part of the path is "..", or begins with it. */
static bool leads_up(const char *path) {
  for (; (path = strchr(path, '/')); ++path)
    if (path[1] == '.' && path[2] == '.')
      return true;
  return false;
}

/* Finds the folder of the group `path` of the hierarchy that is mounted at
 * `mount`/`hierarchy`. In a container without a cgroup namespace the mount
 * shows only an inner part of the tree, and paths begin further outside:
 * components are removed from the left until there is such a folder. */
static bool find_folder(struct vf_group_folder *folder, const char *mount,
                        const char *hierarchy, const char *path) {
  folder->root_length = JOIN(folder->path, 0, mount, "/", hierarchy);
  if (folder->root_length == 0 || !is_there(folder->path))
    return false;
  while (folder->path[folder->root_length - 1] == '/')
    folder->path[--folder->root_length] = '\0';
  if (leads_up(path)) /* outside of the namespace */
    path = "";
  for (; path && *path; path = strchr(path + 1, '/')) {
    folder->length = JOIN(folder->path, folder->root_length, path);
    if (folder->length != 0 && is_there(folder->path))
      break;
  }
  if (!path || !*path)
    folder->length = folder->root_length;
  while (folder->length > folder->root_length &&
         folder->path[folder->length - 1] == '/')
    --folder->length;
  folder->path[folder->length] = '\0';
  return true;
}

static bool keep_in(struct vf_group_folder *folder, struct vf_group_file *file,
                    const char *name) {
  bool kept = JOIN(folder->path, folder->length, "/", name) != 0 &&
              keep_file(file, folder->path);
  folder->path[folder->length] = '\0';
  return kept;
}

/* Opens the files of a group: the limit, and all others if it has one. */
static void open_group(struct vf_cpu_groups *groups,
                       struct vf_group_folder *folder,
                       struct vf_group_folder *usage) {
  struct vf_cpu_group *group = &groups->group[groups->n];
  *group = (struct vf_cpu_group){0};
  if (!keep_in(folder, &group->limit,
               groups->is_v1 ? "cpu.cfs_quota_us" : "cpu.max"))
    return;
  ++groups->n;
  if (!read_limit(group, groups->is_v1) || group->quota_us == 0)
    return;
  if (!keep_in(folder, &group->stat, "cpu.stat") ||
      (groups->is_v1 &&
       !keep_in(folder, &group->period, "cpu.cfs_period_us"))) {
    close_group(group);
    --groups->n;
  } else if (usage) {
    keep_in(usage, &group->usage, "cpuacct.usage");
  }
}

/* Moves to the parent's folder. Returns false at the mount point. */
static bool to_parent(struct vf_group_folder *folder) {
  if (folder->length <= folder->root_length)
    return false;
  do
    --folder->length;
  while (folder->length > folder->root_length &&
         folder->path[folder->length] != '/');
  folder->path[folder->length] = '\0';
  return true;
}

/* Opens the groups from the innermost outwards. Both folders are of the same
 * depth; usage may be null. */
static void open_groups(struct vf_cpu_groups *groups,
                        struct vf_group_folder *folder,
                        struct vf_group_folder *usage) {
  do
    open_group(groups, folder, usage);
  while (groups->n != VF_CPU_GROUPS && to_parent(folder) &&
         (!usage || to_parent(usage)));
}

static int find(struct vf_cpu_groups *groups,
                const struct vf_cpu_groups_at *where, int membership) {
  char *controllers, *path, *line = groups->line;
  size_t size = sizeof groups->line;
  struct vf_group_folder *folder = &groups->folder,
                         *usage = &groups->usage_folder;
  groups->is_v1 = find_line(membership, "cpu", line, size, &controllers, &path);
  if (groups->is_v1) {
    if (!find_folder(folder, where->mount, controllers, path) &&
        !find_folder(folder, where->mount, "cpu", path))
      return ENOENT;
    bool has_usage =
        find_line(membership, "cpuacct", line, size, &controllers, &path) &&
        (find_folder(usage, where->mount, controllers, path) ||
         find_folder(usage, where->mount, "cpuacct", path)) &&
        strcmp(folder->path + folder->root_length,
               usage->path + usage->root_length) == 0;
    open_groups(groups, folder, has_usage ? usage : NULL);
  } else {
    if (!find_line(membership, "", line, size, &controllers, &path) ||
        (!find_folder(folder, where->mount, "unified", path) &&
         !find_folder(folder, where->mount, "", path)))
      return ENOENT;
    open_groups(groups, folder, NULL);
  }
  return groups->n != 0 ? 0 : ENOENT;
}

int vf_cpu_groups_find(struct vf_cpu_groups *groups,
                       const struct vf_cpu_groups_at *where) {
  int saved = errno;
  vf_cpu_groups_close(groups);
  groups->read_at = 0;
  int membership = open_file(where->membership);
  int result = membership < 0 ? errno : find(groups, where, membership);
  if (membership >= 0)
    close(membership);
  errno = saved;
  return result;
}
