// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of slots in which a preloaded library leaves samples for vfriendly
// measure. It begins with a magic number; its slots follow after RING_HEADER.
#ifndef VFRIENDLY_CHECKERS_CLI_MEASURE_RING_H
#define VFRIENDLY_CHECKERS_CLI_MEASURE_RING_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING_HEADER 4096

// Maps the file that the variable names, and sets the number of its slots.
// Returns NULL if there is none, if it is another file, or in a program that
// gives its user more rights: the user would choose a file for it to write.
static inline void *map_ring(const char *variable, uint64_t magic,
                             size_t slot_size, uint64_t *slots) {
  const char *name = secure_getenv(variable);
  int file =
      name ? open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
  if (file < 0)
    return NULL;
  struct stat status;
  void *mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size >= (off_t)(RING_HEADER + slot_size))
    mapped =
        mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED || *(const uint64_t *)mapped != magic)
    return NULL;
  *slots = (status.st_size - RING_HEADER) / slot_size;
  return mapped;
}

#endif
