// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the allocation functions answer at their edges.

#include "attack.h"
#include <limits.h>
#include <malloc.h>
static const char *e(void *p) {
  static char b[40];
  snprintf(b, sizeof b, "%s/%d", p ? "ok" : "null", p ? 0 : errno);
  free(p);
  errno = 0;
  return b;
}
int main(void) {
  errno = 0;
  printf("m0 %s\n", e(malloc(0)));
  printf("max %s\n", e(malloc(PTRDIFF_MAX)));
  errno = 0;
  printf("max1 %s\n", e(malloc((size_t)PTRDIFF_MAX + 1)));
  printf("callocov %s\n", e(calloc(SIZE_MAX / 2, 3)));
  printf("c0 %s\n", e(calloc(0, 8)));
  void *p = malloc(10);
  errno = 0;
  void *q = realloc(p, 0);
  printf("r0 %s\n", q ? "ptr" : "null");
  free(q);
  printf("rn0 %s\n", e(realloc(0, 0)));
  printf("ra %s\n", e(reallocarray(0, SIZE_MAX / 2, 3)));
  printf("aa3 %s\n", e(aligned_alloc(48, 100)));
  printf("aa0 %s\n", e(aligned_alloc(0, 100)));
  printf("ma0 %s\n", e(memalign(0, 10)));
  printf("ma3 %s\n", e(memalign(3, 10)));
  void *x = (void *)1;
  int r = posix_memalign(&x, 3, 10);
  printf("pm3 %d\n", r);
  x = 0;
  r = posix_memalign(&x, 4, 10);
  printf("pm4 %d\n", r);
  r = posix_memalign(&x, 64, 0);
  printf("pm0 %d %d\n", r, x != 0);
  free(x);
  printf("big align %s\n", e(aligned_alloc((size_t)1 << 30, 100)));
  printf("huge align %s\n", e(aligned_alloc((size_t)1 << 62, 100)));
  printf("mahuge %s\n", e(memalign(((size_t)1 << 63) + 1, 100)));
  printf("pv %s\n", e(pvalloc(1)));
  printf("us %zu\n", malloc_usable_size(0));
  errno = 33;
  free(malloc(100));
  free(malloc(10 << 20));
  printf("errno %d\n", errno);
  p = malloc(100);
  strcpy(p, "abc");
  errno = 0;
  q = realloc(p, (size_t)PTRDIFF_MAX);
  printf("rbig %s %d %s\n", q ? "ptr" : "null", errno, q ? "" : (char *)p);
  free(q ? q : p);
  struct mallinfo2 mi = mallinfo2();
  printf("mi %d\n", mi.arena >= 0);
  printf("mallopt %d\n", mallopt(M_MMAP_THRESHOLD, 1 << 20));
  printf("trim %d\n", malloc_trim(0) >= 0);
  FILE *f = fopen("/dev/null", "w");
  printf("info %d\n", malloc_info(0, f));
  fclose(f);
  p = malloc(24);
  size_t u = malloc_usable_size(p);
  memset(p, 1, u);
  printf("u %d\n", u >= 24);
  free(p);
  for (int al = 16; al <= 1 << 21; al *= 2) {
    p = aligned_alloc(al, al);
    if ((uintptr_t)p % al)
      puts("misaligned");
    q = realloc(p, al * 2);
    if (!q)
      puts("null");
    free(q);
  }
  puts("end");
}
