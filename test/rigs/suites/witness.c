// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded beside a library of ours, and without it as well: notes in the file VF_TEST_WITNESS
// each program that was started, and whose FUNCTION it calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void testify(void) {
  int saved = errno;
  const char *path = getenv("VF_TEST_WITNESS");
  Dl_info info;
  char line[1024];
  void *function = dlsym(RTLD_DEFAULT, FUNCTION);
  if (!path || !function || !dladdr(function, &info) || !info.dli_fname)
    return;
  const char *slash = strrchr(info.dli_fname, '/');
  int n = snprintf(line, sizeof line, "%s\t%s\n", program_invocation_short_name,
                   slash ? slash + 1 : info.dli_fname);
  // A process that may not write here is not counted.
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd >= 0) {
    if (n > 0 && n < (int)sizeof line && write(fd, line, (size_t)n) < 0)
      perror("vfriendly witness");
    close(fd);
  }
  errno = saved;
}
