/*===- gleaner/system.h - Files, CPUs and threads of Linux ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Small functions that the rest of the daemon shares. None of them aborts; what
 * cannot be read counts as absent.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_SYSTEM_H
#define VFRIENDLY_GLEANER_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Linux numbers at most 8192 CPUs. */
#define GL_MOST_CPUS 8192

struct gl_cpus {
  uint64_t bits[GL_MOST_CPUS / 64];
};

static inline bool gl_has_cpu(const struct gl_cpus *cpus, unsigned cpu) {
  return cpus->bits[cpu / 64] >> cpu % 64 & 1;
}
static inline void gl_add_cpu(struct gl_cpus *cpus, unsigned cpu) {
  cpus->bits[cpu / 64] |= (uint64_t)1 << cpu % 64;
}
unsigned gl_count_cpus(const struct gl_cpus *cpus);
bool gl_same_cpus(const struct gl_cpus *a, const struct gl_cpus *b);

/* Writes "0-2,5" to text. Returns text, cut if it is too small. */
char *gl_list_cpus(const struct gl_cpus *cpus, char *text, size_t size);

/* Reads a list such as "0-2,5". */
void gl_parse_cpus(const char *text, struct gl_cpus *cpus);

/* Affinity of a thread; 0 is the caller. Return 0 or an errno value. */
int gl_get_affinity(pid_t thread, struct gl_cpus *cpus);
int gl_set_affinity(pid_t thread, const struct gl_cpus *cpus);

/* Reads a whole file of at most size - 1 bytes and ends it with a zero byte.
 * Returns its length, or -1. */
ssize_t gl_read_file(const char *path, char *text, size_t size);
/* Writes text with one system call, as cgroup files want it. Returns 0 or an
 * errno value. */
int gl_write_file(const char *path, const char *text);

/* Like snprintf. Returns false if the text did not fit. */
bool gl_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The numbers in a file that lists process or thread ids. */
struct gl_ids {
  pid_t *id;
  size_t n, room;
};
void gl_add_id(struct gl_ids *ids, pid_t id);
/* Appends those in the file. Returns false if it cannot be read. */
bool gl_read_ids(const char *path, struct gl_ids *ids);
/* Appends the names in the folder that are numbers. */
void gl_numbers(const char *path, struct gl_ids *ids);
/* Appends the children of a process, and theirs, but not `except` and its own.
 * Needs CONFIG_PROC_CHILDREN. */
void gl_descendants(pid_t process, pid_t except, struct gl_ids *ids);
/* Appends the threads of each process. */
void gl_threads(const struct gl_ids *processes, struct gl_ids *threads);

/* Returns the state of a thread as the letter of proc(5), 'R' or 'Z' for
 * example; 0 if there is no such thread. */
char gl_thread_state(pid_t thread);

/* Returns when a process started, in ticks after boot; 0 if there is none or it
 * is dead but not waited for. With the id this names a process for ever. */
uint64_t gl_start_time(pid_t process);

#endif /* VFRIENDLY_GLEANER_SYSTEM_H */
