/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prints at which offsets of its thread-local variable jemalloc counts the
 * bytes that a thread has allocated and freed. */

#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdio.h>

extern __thread char je_tsd_tls[];

static char *counter(const char *name) {
  uint64_t *result;
  size_t size = sizeof result;
  return mallctl(name, &result, &size, NULL, 0) == 0 ? (char *)result : NULL;
}

int main(void) {
  char *allocated = counter("thread.allocatedp");
  char *freed = counter("thread.deallocatedp");
  if (allocated <= je_tsd_tls || freed <= je_tsd_tls)
    return 1;
  printf("%td %td\n", allocated - je_tsd_tls, freed - je_tsd_tls);
  return 0;
}
