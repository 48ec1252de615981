// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that is opened with RTLD_DEEPBIND allocates, the program frees, and the reverse.
// LIBRARY: opened

#include "attack.h"
#include <dlfcn.h>
int main(int c, char **v) {
  (void)c;
  char p[4096];
  snprintf(p, sizeof p, "%s.so", v[0]);
  void *h = dlopen(p, RTLD_NOW | RTLD_DEEPBIND);
  if (!h) {
    puts(dlerror());
    return 1;
  }
  char *(*mk)(size_t) = (char *(*)(size_t))dlsym(h, "mk");
  void (*rel)(void *) = (void (*)(void *))dlsym(h, "rel");
  for (int i = 0; i < 2000; i++) {
    char *a = mk(10 + i * 37);
    a[3] = 1;
    free(a);
    char *b = malloc(20 + i * 11);
    b[3] = 2;
    rel(b);
    a = mk(100);
    a = realloc(a, 5000 + i);
    free(a);
  }
  puts("ok");
}
