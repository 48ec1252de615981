// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// make_hole(PAGE) takes a page of the guest's memory away. A vCPU that uses it
// next waits for HOLE_MS, as for a page that was swapped out. The content
// is lost.

#pragma once

#include <err.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HOLE_MS = 100, HOLE_SIZE = 4096 };

static int faults = -1;

static void *fill_holes(void *argument) {
  struct uffd_msg event;
  while (read(faults, &event, sizeof event) == sizeof event) {
    struct timespec away = {.tv_nsec = HOLE_MS * 1000000L};
    nanosleep(&away, 0);
    struct uffdio_zeropage zero = {
        .range = {event.arg.pagefault.address & -(uint64_t)HOLE_SIZE,
                  HOLE_SIZE}};
    if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
      err(1, "UFFDIO_ZEROPAGE");
  }
  err(1, "userfaultfd");
  return argument;
}

static inline void make_hole(uint8_t *page) {
  if (faults < 0) {
    struct uffdio_api api = {.api = UFFD_API};
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    pthread_t thread;
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
        pthread_create(&thread, 0, fill_holes, 0))
      err(1, "userfaultfd");
  }
  struct uffdio_register area = {.range = {(uintptr_t)page, HOLE_SIZE},
                                 .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (ioctl(faults, UFFDIO_REGISTER, &area) ||
      madvise(page, HOLE_SIZE, MADV_DONTNEED))
    err(1, "a hole in the guest's memory");
}
