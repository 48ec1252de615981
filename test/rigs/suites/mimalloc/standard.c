// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mimalloc's tests call by names of its own, done by the standard's functions: what
// is tested is the malloc that the program has. For heaps there is nothing in the
// standard; theirs are there so that the rest of a test runs.

#include <errno.h>
#include <malloc.h>
#include <mimalloc.h>
#include <stdlib.h>
#include <string.h>

void *mi_malloc(size_t n) { return malloc(n); }
void *mi_calloc(size_t n, size_t size) { return calloc(n, size); }
void *mi_zalloc(size_t n) { return calloc(1, n); }
void *mi_realloc(void *p, size_t n) { return realloc(p, n); }
void *mi_reallocarray(void *p, size_t n, size_t size) { return reallocarray(p, n, size); }
void mi_free(void *p) { free(p); }
char *mi_strdup(const char *s) { return strdup(s); }
char *mi_realpath(const char *path, char *to) { return realpath(path, to); }
size_t mi_usable_size(const void *p) { return malloc_usable_size((void *)p); }
void *mi_memalign(size_t alignment, size_t n) { return memalign(alignment, n); }
int mi_posix_memalign(void **p, size_t alignment, size_t n) {
  return posix_memalign(p, alignment, n);
}
void *mi_malloc_aligned(size_t n, size_t alignment) { return memalign(alignment, n); }
void *mi_malloc_aligned_at(size_t n, size_t alignment, size_t offset) {
  return offset == 0 ? memalign(alignment, n) : NULL;
}
void *mi_zalloc_aligned(size_t n, size_t alignment) {
  void *p = memalign(alignment, n);
  return p ? memset(p, 0, n) : p;
}
void *mi_new_n(size_t n, size_t size) { return reallocarray(NULL, n, size); }
void mi_free_size(void *p, size_t n) { (void)n, free(p); }

mi_heap_t *mi_heap_new(void) { return malloc(1); }
void mi_heap_delete(mi_heap_t *heap) { free(heap); }
void mi_heap_destroy(mi_heap_t *heap) { free(heap); }
void *mi_heap_malloc(mi_heap_t *heap, size_t n) { return (void)heap, malloc(n); }
void *mi_heap_malloc_aligned(mi_heap_t *heap, size_t n, size_t alignment) {
  return (void)heap, memalign(alignment, n);
}
void *mi_heap_alloc_new_n(mi_heap_t *heap, size_t n, size_t size) {
  return (void)heap, reallocarray(NULL, n, size);
}
bool mi_heap_contains_block(mi_heap_t *heap, const void *p) { return heap && p; }

void mi_option_disable(mi_option_t option) { (void)option; }
void mi_stats_reset(void) {}
void mi_stats_print(void *out) { (void)out; }
