/*===- gleaner/halt_poll.c - The guest's own polling before a halt --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/halt_poll.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char *setting(void) {
  const char *other = secure_getenv("VF_TEST_GLEANER_HALT_POLL");
  return other ? other : "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
}

static bool read_setting(unsigned long *ns) {
  char text[32];
  if (gl_read_file(setting(), text, sizeof text) <= 0)
    return false;
  *ns = strtoul(text, NULL, 10);
  return true;
}

static int write_setting(unsigned long ns) {
  char text[32];
  gl_print(text, sizeof text, "%lu\n", ns);
  return gl_write_file(setting(), text);
}

const char *gl_halt_poll_start(struct gl_record *record, unsigned long ns) {
  /* It stays open, and locked, as long as this process and its children. */
  int file = open(setting(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    return errno == ENOENT ? "this guest has no haltpoll" : strerror(errno);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    return "another run has set it";
  }
  unsigned long was;
  if (!read_setting(&was)) {
    close(file);
    return "it cannot be read";
  }
  record->poll_was_ns = was;
  record->poll_set_ns = ns;
  __atomic_store_n(&record->polls, 1, __ATOMIC_RELEASE);
  int error = write_setting(ns);
  if (error) {
    record->polls = 0;
    close(file);
  }
  return error ? strerror(error) : NULL;
}

void gl_halt_poll_end(struct gl_record *record) {
  unsigned long is;
  if (!record->polls)
    return;
  if (read_setting(&is) && is == record->poll_set_ns)
    write_setting(record->poll_was_ns);
  record->polls = 0;
}
