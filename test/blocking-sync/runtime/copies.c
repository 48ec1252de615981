// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process, several copies of the runtime: who parks through one is found by who
// unlocks through another, be the copies in plugins, in the executable, or in
// libvfrt.so.
//
// RUN: clang -std=gnu11 -O2 -fPIC -shared -DPLUGIN -I %S/../../Inputs -I %vf_include %s %vf_lib/libvfrt.a -o %t-a.so
// RUN: cp %t-a.so %t-b.so
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %t %t-a.so %t-b.so
// RUN: %t %vf_lib/libvfrt.so %t-b.so
// RUN: clang -std=gnu11 -O2 -DPLUGIN -DOWN -I %S/../../Inputs -I %vf_include %s -Wl,--export-dynamic-symbol=vf_* %vf_lib/libvfrt.a -o %t.own
// RUN: %t.own %t.own %t-b.so

#include "check.h"
#include "vfriendly/mutex.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#ifdef PLUGIN
/* Takes the copy out of the archive. */
int (*const taken)(vf_mutex *) = vf_mutex_lock;
#endif

#if !defined(PLUGIN) || defined(OWN)

typedef int operation(vf_mutex *);

static vf_mutex m = VF_MUTEX_INIT;
static operation *lock_in_a, *unlock_in_b;
static bool had_it;

static void *wait_in_a(void *arg) {
  (void)arg;
  CHECK(lock_in_a(&m) == 0);
  had_it = true;
  return NULL;
}

static operation *find(const char *self, const char *path, const char *name) {
  void *copy = dlopen(strcmp(self, path) == 0 ? NULL : path,
                      RTLD_NOW | RTLD_LOCAL);
  CHECK(copy);
  operation *found = (operation *)dlsym(copy, name);
  CHECK(found);
  return found;
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  lock_in_a = find(argv[0], argv[1], "vf_mutex_lock");
  unlock_in_b = find(argv[0], argv[2], "vf_mutex_unlock");
  pthread_t id;
  CHECK(lock_in_a(&m) == 0);
  CHECK(pthread_create(&id, NULL, wait_in_a, NULL) == 0);
  sleep_ms(20); /* Until it is parked. */
  CHECK(unlock_in_b(&m) == 0);
  pthread_join(id, NULL);
  CHECK(had_it);
  return 0;
}

#endif
