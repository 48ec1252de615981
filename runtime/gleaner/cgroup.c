/*===- gleaner/cgroup.c - The cgroup of this process ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/cgroup.h"
#include "gleaner/system.h"
#include <string.h>
#include <sys/stat.h>

/* Returns true if `word` is one of the words between commas. */
static bool has_word(const char *words, const char *word) {
  size_t n = strlen(word);
  for (const char *at = words; (at = strstr(at, word)); at += n)
    if ((at == words || at[-1] == ',') && (at[n] == '\0' || at[n] == ','))
      return true;
  return false;
}

/* Finds where the hierarchy is mounted and which of its folders is shown there:
 * "36 24 0:31 ROOT MOUNT rw - cgroup cgroup rw,cpuset". */
static bool find_mount(const char *controller, char *mount, char *root,
                       size_t size) {
  static char text[1 << 16];
  if (gl_read_file("/proc/self/mountinfo", text, sizeof text) < 0)
    return false;
  for (char *line = text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    char *field[5] = {0}, *rest = line;
    for (int i = 0; i < 5; ++i)
      field[i] = strsep(&rest, " ");
    char *type = rest ? strstr(rest, " - ") : NULL;
    if (!type)
      continue;
    type += 3;
    char *source = strchr(type, ' ');
    char *options = source ? strchr(source + 1, ' ') : NULL;
    if (!options)
      continue;
    *source = '\0';
    bool found = controller ? strcmp(type, "cgroup") == 0 &&
                                  has_word(options + 1, controller)
                            : strcmp(type, "cgroup2") == 0;
    if (found)
      return gl_print(mount, size, "%s", field[4]) &&
             gl_print(root, size, "%s", field[3]);
  }
  return false;
}

bool gl_own_cgroup(const char *controller, char *path, size_t size) {
  char mount[256], root[256], text[4096];
  if (!find_mount(controller, mount, root, sizeof mount) ||
      gl_read_file("/proc/self/cgroup", text, sizeof text) < 0)
    return false;
  /* "3:cpuset,cpu:/PATH", "0::/PATH" */
  for (char *line = text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    char *names = strchr(line, ':');
    char *own = names ? strchr(names + 1, ':') : NULL;
    if (!own)
      continue;
    *own++ = '\0';
    ++names;
    if (controller ? !has_word(names, controller) : *names != '\0')
      continue;
    size_t n = strlen(root);
    if (n > 1 && strncmp(own, root, n) == 0)
      own += n;
    struct stat stat_;
    return gl_print(path, size, "%s%s", mount, strcmp(own, "/") ? own : "") &&
           stat(path, &stat_) == 0;
  }
  return false;
}

bool gl_cgroup_is_below_mount(const char *path) {
  char parent[512];
  struct stat stat_;
  return gl_print(parent, sizeof parent, "%s/../cgroup.procs", path) &&
         stat(parent, &stat_) == 0;
}
