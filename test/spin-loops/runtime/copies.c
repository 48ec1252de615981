// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process, several copies of the runtime: each plugin holds its own, opened
// RTLD_LOCAL. They must share their table, so that a notify through one wakes a
// wait through another, and the word that rewritten code tests before it
// notifies must not be 0 in any of them while a thread waits.
//
// RUN: clang -std=gnu11 -O2 -fPIC -shared -DPLUGIN -I %S/../../Inputs -I %vf_include \
// RUN:   %s %vf_lib/libvfrt.a -o %t-a.so
// RUN: cp %t-a.so %t-b.so
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: env VF_STATS=1 %t %t-a.so %t-b.so 2>&1 | FileCheck %s
// CHECK: {"vfrt":
// CHECK-SAME: "wakes": {{[1-9]}}
// CHECK-NOT: vfrt
//
// The executable's own copy too, if it is exported (libvfrt.a's CMake target
// asks for that).
//
// RUN: clang -std=gnu11 -O2 -DOWN -I %S/../../Inputs -I %vf_include %s \
// RUN:   -Wl,--export-dynamic-symbol=vf_* %vf_lib/libvfrt.a -o %t.own
// RUN: %t.own %t.own %t-b.so
//
// And beside a libvfrt.so.
//
// RUN: %t %vf_lib/libvfrt.so %t-b.so
//
// And where their symbols are hidden.
//
// RUN: clang -std=gnu11 -O2 -fPIC -shared -DPLUGIN -I %S/../../Inputs -I %vf_include \
// RUN:   -Wl,--exclude-libs,ALL %s %vf_lib/libvfrt.a -o %t-c.so
// RUN: cp %t-c.so %t-d.so
// RUN: env VF_STATS=1 %t %t-c.so %t-d.so 2>&1 | FileCheck %s

#include "check.h"

#ifdef PLUGIN

uint32_t *armed(void) { return &vf_spin_armed; }
uint64_t plugin_wait(uint32_t *flag, uint64_t state) {
  return vf_spin_wait(flag, 0, state, 4 | VF_SPIN_NOTIFIED);
}
void plugin_set(uint32_t *flag) { set_flag(flag, 1); }

#else

#include <dlfcn.h>
#include <pthread.h>

typedef uint64_t wait_function(const volatile void *, uint64_t, uint64_t,
                               uint32_t);

static wait_function *wait_in_a;
static uint32_t flag;

#ifdef OWN
/* Take the copy out of the archive, and use it. */
__attribute__((used)) static wait_function *own = vf_spin_wait;
#endif

static void *symbol(void *module, const char *name) {
  void *found = dlsym(module, name);
  CHECK(found);
  return found;
}

static void *waiter(void *arg) {
  uint64_t (*wait)(uint32_t *, uint64_t) = arg;
  uint64_t state = 0;
  while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0)
    state = wait ? wait(&flag, state)
                 : wait_in_a(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
#ifdef OWN
  void *a = dlopen(NULL, RTLD_NOW);
#else
  void *a = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
#endif
  void *b = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  CHECK(a && b);
  void *plugin_wait = dlsym(a, "plugin_wait");
  if (!plugin_wait)
    wait_in_a = (wait_function *)symbol(a, "vf_spin_wait");
  void (*set_in_b)(uint32_t *) = (void (*)(uint32_t *))symbol(b, "plugin_set");
  uint32_t *armed_b = ((uint32_t * (*)(void)) symbol(b, "armed"))();
  uint32_t *armed_a = dlsym(a, "armed")
                          ? ((uint32_t * (*)(void)) symbol(a, "armed"))()
                          : (uint32_t *)symbol(a, "vf_spin_armed");

  for (int i = 0; i < 10; ++i) {
    flag = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, waiter, plugin_wait) == 0);
    while (__atomic_load_n(armed_a, __ATOMIC_RELAXED) == 0 ||
           __atomic_load_n(armed_b, __ATOMIC_RELAXED) == 0)
      sleep_ms(1);
    sleep_ms(20);
    set_in_b(&flag);
    pthread_join(thread, NULL);
  }
}

#endif
