/*===- gleaner/system.c - Files, CPUs and threads of Linux ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/system.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned gl_count_cpus(const struct gl_cpus *cpus) {
  unsigned n = 0;
  for (size_t i = 0; i < GL_MOST_CPUS / 64; ++i)
    n += (unsigned)__builtin_popcountll(cpus->bits[i]);
  return n;
}

bool gl_same_cpus(const struct gl_cpus *a, const struct gl_cpus *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

char *gl_list_cpus(const struct gl_cpus *cpus, char *text, size_t size) {
  size_t length = 0;
  text[0] = '\0';
  for (unsigned cpu = 0; cpu < GL_MOST_CPUS; ++cpu) {
    if (!gl_has_cpu(cpus, cpu))
      continue;
    unsigned last = cpu;
    while (last + 1 < GL_MOST_CPUS && gl_has_cpu(cpus, last + 1))
      ++last;
    const char *comma = length ? "," : "";
    bool fits =
        last > cpu ? gl_print(text + length, size - length, "%s%u-%u", comma,
                              cpu, last)
                   : gl_print(text + length, size - length, "%s%u", comma, cpu);
    length += strlen(text + length);
    if (!fits)
      break;
    cpu = last;
  }
  return text;
}

void gl_parse_cpus(const char *text, struct gl_cpus *cpus) {
  memset(cpus, 0, sizeof *cpus);
  while (isdigit((unsigned char)*text)) {
    char *end;
    unsigned long first = strtoul(text, &end, 10), last = first;
    if (*end == '-')
      last = strtoul(end + 1, &end, 10);
    for (; first <= last && first < GL_MOST_CPUS; ++first)
      gl_add_cpu(cpus, (unsigned)first);
    text = *end == ',' ? end + 1 : end;
  }
}

int gl_get_affinity(pid_t thread, struct gl_cpus *cpus) {
  memset(cpus, 0, sizeof *cpus);
  return syscall(SYS_sched_getaffinity, thread, sizeof *cpus, cpus) < 0 ? errno
                                                                        : 0;
}

int gl_set_affinity(pid_t thread, const struct gl_cpus *cpus) {
  return syscall(SYS_sched_setaffinity, thread, sizeof *cpus, cpus) < 0 ? errno
                                                                        : 0;
}

ssize_t gl_read_file(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return -1;
  size_t length = 0;
  ssize_t n = 0;
  while (length < size - 1 &&
         (n = read(file, text + length, size - 1 - length)) > 0)
    length += (size_t)n;
  close(file);
  text[length] = '\0';
  return n < 0 ? -1 : (ssize_t)length;
}

int gl_write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return errno;
  int result = write(file, text, strlen(text)) < 0 ? errno : 0;
  close(file);
  return result;
}

bool gl_print(char *text, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text, size, format, arguments);
  va_end(arguments);
  return n >= 0 && (size_t)n < size;
}

void gl_add_id(struct gl_ids *ids, pid_t id) {
  if (ids->n == ids->room) {
    size_t room = ids->room ? 2 * ids->room : 64;
    pid_t *larger = realloc(ids->id, room * sizeof *larger);
    if (!larger)
      return;
    ids->id = larger;
    ids->room = room;
  }
  ids->id[ids->n++] = id;
}

bool gl_read_ids(const char *path, struct gl_ids *ids) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char text[4096];
  ssize_t n;
  pid_t id = 0;
  bool any = false;
  while ((n = read(file, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < n; ++i) {
      if (isdigit((unsigned char)text[i])) {
        id = id * 10 + (text[i] - '0');
        any = true;
      } else if (any) {
        gl_add_id(ids, id);
        id = 0;
        any = false;
      }
    }
  if (any)
    gl_add_id(ids, id);
  close(file);
  return n == 0;
}

void gl_numbers(const char *path, struct gl_ids *ids) {
  DIR *folder = opendir(path);
  if (!folder)
    return;
  for (struct dirent *entry; (entry = readdir(folder));)
    if (isdigit((unsigned char)entry->d_name[0]))
      gl_add_id(ids, atoi(entry->d_name));
  closedir(folder);
}

void gl_threads(const struct gl_ids *processes, struct gl_ids *threads) {
  for (size_t i = 0; i < processes->n; ++i) {
    char path[64];
    gl_print(path, sizeof path, "/proc/%d/task", processes->id[i]);
    gl_numbers(path, threads);
  }
}

void gl_descendants(pid_t process, pid_t except, struct gl_ids *ids) {
  size_t next = ids->n;
  pid_t parent = process;
  for (;;) {
    struct gl_ids one = {&parent, 1, 1}, threads = {0};
    gl_threads(&one, &threads);
    size_t begin = ids->n;
    for (size_t i = 0; i < threads.n; ++i) {
      char path[64];
      gl_print(path, sizeof path, "/proc/%d/task/%d/children", parent,
               threads.id[i]);
      gl_read_ids(path, ids);
    }
    free(threads.id);
    for (size_t i = begin; i < ids->n; ++i)
      if (ids->id[i] == except)
        ids->id[i--] = ids->id[--ids->n];
    if (next >= ids->n)
      return;
    parent = ids->id[next++];
  }
}

char gl_thread_state(pid_t thread) {
  char path[32], text[512];
  gl_print(path, sizeof path, "/proc/%d/stat", thread);
  if (gl_read_file(path, text, sizeof text) <= 0)
    return 0;
  const char *name_end = strrchr(text, ')');
  return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

uint64_t gl_start_time(pid_t process) {
  char path[64], text[1024];
  gl_print(path, sizeof path, "/proc/%d/stat", process);
  if (gl_read_file(path, text, sizeof text) < 0)
    return 0;
  /* A program's name may have any character. */
  char *field = strrchr(text, ')');
  if (field && field[1] && (field[2] == 'Z' || field[2] == 'X'))
    return 0;
  for (int i = 2; field && i < 22; ++i)
    field = strchr(field + 1, ' ');
  return field ? strtoull(field, NULL, 10) : 0;
}
