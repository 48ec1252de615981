// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An allocator maps memory while it holds a lock, for which a thread may wait inside dlopen,
// with the dynamic linker's lock: mmap must not wait for that one. (To find the allocator's
// module, it once did.)
//
// DEFINE: %{runtime} = %vf_src/runtime
// RUN: clang -shared -fPIC -O2 -D_GNU_SOURCE -fno-builtin-malloc -fvisibility=hidden -I %{runtime} -I %vf_include -I %vf_platform -o %t.so %{runtime}/numa-placement/preload/*.c %{runtime}/numa-placement/place.c %{runtime}/numa-placement/shared.c %{runtime}/numa-placement/team.c %{runtime}/common/environment.c %{runtime}/common/report.c %{runtime}/common/sandbox.c %{runtime}/spin-wait/shared.c %S/Inputs/two_nodes.c -Wl,--version-script=%{runtime}/numa-placement/preload/exports.map
// RUN: %numa_clang -fno-builtin -rdynamic %s -o %t
// RUN: %numa_clang -shared -fPIC -DPLUGIN %s -o %t-plugin.so
// RUN: env VF_NUMA=interleave VF_STATS=1 LD_PRELOAD=%t.so:%vf_lib/libvfmalloc.so %t %t-plugin.so 2>&1 | FileCheck %s
// CHECK: "vfnuma": {"blocks": 0, "mappings": 0, "in_heap": {{[1-9]}}

void allocate_in_other_thread(void);

#ifdef PLUGIN
__attribute__((constructor)) static void begin(void) {
  allocate_in_other_thread();
}
#else
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *allocate(void *unused) {
  /* More than the allocator has mapped so far. */
  void *block = malloc((size_t)256 << 20);
  CHECK(block);
  free(block);
  return unused;
}

/* The caller is inside dlopen. */
void allocate_in_other_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  alarm(60);
  void *plugin = dlopen(argv[1], RTLD_NOW);
  CHECK(plugin);
  dlclose(plugin);
  return 0;
}
#endif
