// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another libc in a namespace of its own, opened and closed again.

#include "attack.h"
#include <dlfcn.h>

int main(void) {
  begin_beside(2);
  for (int i = 0; i < 5; i++) {
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    void *(*its_malloc)(size_t) = libc ? (void *(*)(size_t))dlsym(libc, "malloc") : NULL;
    void (*its_free)(void *) = libc ? (void (*)(void *))dlsym(libc, "free") : NULL;
    char *(*its_strdup)(const char *) = libc ? (char *(*)(const char *))dlsym(libc, "strdup") : NULL;
    if (!its_malloc || !its_free || !its_strdup) {
      puts("no namespace");
      break;
    }
    for (size_t k = 0; k < 100; k++) {
      its_free(its_malloc(k * 100));
      its_free(its_strdup("text"));
      free(malloc(k * 100));
      free(strdup("text"));
    }
    printf("%d\n", dlclose(libc));
  }
  end_beside();
}
