// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program waits on a condition, a library opened with RTLD_DEEPBIND signals it.
// LIBRARY: opened

#include "attack.h"
#include <dlfcn.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void (*sig)(pthread_mutex_t *, pthread_cond_t *, int *);
static void *w(void *x) {
  (void)x;
  ms(50);
  sig(&m, &c, &ready);
  return 0;
}
int main(int ac, char **v) {
  (void)ac;
  char p[4096];
  snprintf(p, sizeof p, "%s.so", v[0]);
  void *h = dlopen(p, RTLD_NOW | RTLD_DEEPBIND);
  if (!h) {
    puts(dlerror());
    return 1;
  }
  sig = (void (*)(pthread_mutex_t *, pthread_cond_t *, int *))dlsym(h, "sig");
  for (int i = 0; i < 5; i++) {
    ready = 0;
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    pthread_mutex_lock(&m);
    while (!ready)
      pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
  }
  puts("ok");
}
