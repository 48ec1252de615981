/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prints at which offsets of its thread-local variable jemalloc counts the
 * bytes that a thread has allocated and freed. Fails if the next count of freed
 * bytes at which jemalloc examines the thread's cache is not behind the second.
 */

#include <jemalloc/jemalloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Upper limit of the bytes between two examinations: jemalloc's default is 64
 * KiB. */
#define EXAMINED_EACH ((uint64_t)1 << 20)

extern __thread char je_tsd_tls[];

/* What jemalloc.patch uses. */
char vf_early[32 << 10];
void *vf_early_alloc(size_t size);
void *vf_early_alloc(size_t size) { return (void)size, NULL; }
size_t vf_jemalloc_dirty_pages = SIZE_MAX;
void *vf_malloc_kept(size_t size);
bool vf_malloc_keeps(void *block, size_t usable_size);
void *vf_malloc_retry(size_t size);
void vf_malloc_has_freed(const void *caller);
void *vf_malloc_kept(size_t size) { return (void)size, NULL; }
bool vf_malloc_keeps(void *block, size_t usable_size) {
  return (void)block, (void)usable_size, false;
}
void *vf_malloc_retry(size_t size) { return (void)size, NULL; }
void vf_malloc_has_freed(const void *caller) { (void)caller; }

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
  free(malloc(1));
  uint64_t now = ((uint64_t *)(void *)freed)[0];
  uint64_t next = ((uint64_t *)(void *)freed)[1];
  if (next <= now || next > now + EXAMINED_EACH)
    return 1;
  printf("%td %td\n", allocated - je_tsd_tls, freed - je_tsd_tls);
  return 0;
}
