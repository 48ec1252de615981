// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait relies on notifies alone (260) only if no other code can write its memory: a static
// variable whose address is only used to access it. All others are told to look by themselves,
// too (8452, with VF_SPIN_UNSEEN).
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -S -emit-llvm -x c++ %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -S -emit-llvm %s -o /dev/null -Rpass-analysis=vf-spin-notify 2>&1 | FileCheck %s --check-prefix=SAYS
// RUN: %vf_clang -O2 -S -emit-llvm %s -o /dev/null -Rpass-analysis=vf-spin-notify 2>&1 | grep remark: | count 6

#include <string.h>

#ifdef __cplusplus
#define API extern "C"
#else
#define API
#endif
API void other(void *);

// The address reaches the accesses only, some through a function that is inlined.
static int own;
static void store(int *p) { __atomic_store_n(p, 1, __ATOMIC_RELEASE); }
static int load(int *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
API void own_set(void) { store(&own); }
API void own_wait(void) {
  while (load(&own) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@own_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 260)

// Another word of the same variable may be written by anything.
static struct { int word, beside; } pair;
API void pair_set(void) { __atomic_store_n(&pair.word, 1, __ATOMIC_RELEASE); pair.beside = 1; }
API int pair_beside(void) { return pair.beside; }
API void pair_wait(void) {
  while (__atomic_load_n(&pair.word, __ATOMIC_ACQUIRE) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@pair_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 260)

// Another file may name it.
int shown;
API void shown_set(void) { store(&shown); }
API void shown_wait(void) {
  // SAYS-DAG: unseen-writers.c:[[#@LINE+1]]:{{.*}}may end this wait without a notify: it then ends at most 2 ms, or a twentieth of its time, late
  while (load(&shown) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@shown_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8452)

// A function of another file gets the address.
static int passed;
API void passed_set(void) { store(&passed); other(&passed); }
API void passed_wait(void) {
  // SAYS-DAG: unseen-writers.c:[[#@LINE+1]]:
  while (load(&passed) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@passed_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8452)

// The address is stored.
static int kept, *keeper;
API void keep(void) { keeper = &kept; }
API void kept_set(void) { store(&kept); }
API void kept_set_by_pointer(void) { if (keeper) other(keeper); }
API void kept_wait(void) {
  // SAYS-DAG: unseen-writers.c:[[#@LINE+1]]:
  while (load(&kept) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@kept_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8452)

// A wider store ends it, too, and does not notify its address.
static union { long both; int halves[2]; } wide;
API void wide_set(void) { __atomic_store_n(&wide.halves[0], 1, __ATOMIC_RELEASE); }
API void wide_set_both(long value) { __atomic_store_n(&wide.both, value, __ATOMIC_RELEASE); }
API void wide_wait(void) {
  // SAYS-DAG: unseen-writers.c:[[#@LINE+1]]:
  while (__atomic_load_n(&wide.halves[0], __ATOMIC_ACQUIRE) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@wide_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8452)

// Assembly gets the address.
static int in_assembly;
API void in_assembly_set(void) { store(&in_assembly); __asm__ volatile("" : : "r"(&in_assembly) : "memory"); }
API void in_assembly_wait(void) {
  // SAYS-DAG: unseen-writers.c:[[#@LINE+1]]:
  while (load(&in_assembly) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@in_assembly_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8452)

// Memory behind a pointer may be shared with another process.
struct job { int done; };
API void job_set(struct job *j) { store(&j->done); }
API void job_wait(struct job *j) {
  // SAYS-DAG: unseen-writers.c:[[#@LINE+1]]:
  while (load(&j->done) == 0)
    ;
}
// CHECK-LABEL: define {{.*}}@job_wait(
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8452)
