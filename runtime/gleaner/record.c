/*===- gleaner/record.c - What a run tells other processes ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/record.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if only this user can write the folder. */
static bool is_private(const char *path) {
  struct stat stat;
  return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) &&
         stat.st_uid == geteuid() && !(stat.st_mode & (S_IWGRP | S_IWOTH));
}

void gl_record_folder(char *path, size_t size) {
  const char *user = secure_getenv("XDG_RUNTIME_DIR");
  if (geteuid() == 0)
    gl_print(path, size, "/run/gleaner");
  else if (user && *user)
    gl_print(path, size, "%s/gleaner", user);
  else /* a folder that another user may have made is refused below */
    gl_print(path, size, "/tmp/gleaner-%u", (unsigned)geteuid());
  if (mkdir(path, 0755) != 0 && errno != EEXIST)
    path[0] = '\0';
  else if (!is_private(path))
    path[0] = '\0';
}

static struct gl_record *map(int file, bool writable) {
  void *memory =
      mmap(NULL, sizeof(struct gl_record),
           writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

struct gl_record *gl_record_create(char *path, size_t size) {
  char folder[400];
  gl_record_folder(folder, sizeof folder);
  int file = -1;
  path[0] = '\0';
  if (folder[0] && gl_print(path, size, "%s/%d", folder, getpid())) {
    unlink(path); /* of a run that had this id */
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  if (file < 0) {
    path[0] = '\0';
    file = memfd_create("gleaner", MFD_CLOEXEC);
  }
  struct gl_record *record = NULL;
  if (file >= 0) {
    if (ftruncate(file, sizeof *record) == 0)
      record = map(file, true);
    close(file);
  }
  if (record) {
    record->supervisor = getpid();
    record->start_time = gl_start_time(getpid());
    record->magic = GL_RECORD_MAGIC;
  }
  return record;
}

struct gl_record *gl_record_map(const char *path, bool writable) {
  int file =
      open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0)
    return NULL;
  struct stat stat;
  struct gl_record *record = NULL;
  if (fstat(file, &stat) == 0 && stat.st_size == sizeof *record)
    record = map(file, writable);
  close(file);
  if (record && record->magic != GL_RECORD_MAGIC) {
    gl_record_unmap(record);
    return NULL;
  }
  return record;
}

void gl_record_unmap(struct gl_record *record) {
  munmap(record, sizeof *record);
}

bool gl_record_is_live(const struct gl_record *record) {
  return record->start_time != 0 &&
         gl_start_time(record->supervisor) == record->start_time;
}
