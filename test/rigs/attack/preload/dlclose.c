// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library with threads and thread-local variables is opened and closed.
// LIBRARY: opened

#include "attack.h"
#include <dlfcn.h>
int main(int c, char **v) {
  (void)c;
  char p[4096];
  snprintf(p, sizeof p, "%s.so", v[0]);
  for (int i = 0; i < 60; i++) {
    void *h = dlopen(p, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
      puts(dlerror());
      return 1;
    }
    int (*f)(void) = (int (*)(void))dlsym(h, "go");
    if (f() != 1) {
      puts("state kept");
      return 1;
    }
    dlclose(h);
  }
  puts("ok");
}
