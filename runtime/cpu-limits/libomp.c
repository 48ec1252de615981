/*===- cpu-limits/libomp.c - How long LLVM's OpenMP runtime spins ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * LLVM's runtime asks for a tool, ompt_start_tool, when it starts (OpenMP 5.0,
 * chapter 4). The tool is called when a parallel region begins, and there sets
 * the block time of the thread's teams: the time for which waits spin before
 * they sleep.
 *
 * If another library offers a tool, that one is used. If the user sets
 * KMP_BLOCKTIME, OMP_WAIT_POLICY or OMP_TOOL_LIBRARIES, there is none of ours.
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "common/process_wide.h"
#include "cpu-limits/steer.h"
#include <dlfcn.h>
#include <stddef.h>

/* What this file needs of omp-tools.h, which only comes with the runtime. */
typedef void (*callback)(void);
typedef callback (*lookup_function)(const char *name);
typedef int (*set_callback_function)(int event, callback function);
struct start_result {
  int (*initialize)(lookup_function, int device, void *data);
  void (*finalize)(void *data);
  uint64_t data;
};
enum { EVENT_PARALLEL_BEGIN = 3 };

typedef void (*set_blocktime_function)(int milliseconds);
typedef int (*get_blocktime_function)(void);
static set_blocktime_function set_blocktime;
static get_blocktime_function get_blocktime;
static int usual; /* block time in milliseconds; written before any region */

/* Whether this thread's teams sleep. Only a thread that begins regions has it:
 * one word of initial-exec TLS. */
static __thread bool teams_sleep;

static void parallel_begin(void) {
  /* A block time is one of milliseconds: there is no short spin. */
  bool sleeps = vf_omp_waits() != VF_OMP_SPIN;
  vf_omp_start(); /* in a forked child, or before any thread was created */
  if (sleeps == teams_sleep)
    return;
  if (usual == 0)
    usual = get_blocktime();
  teams_sleep = sleeps;
  set_blocktime(sleeps ? 0 : usual);
}

static int initialize(lookup_function lookup, int device, void *data) {
  (void)device;
  (void)data;
  set_callback_function set_callback =
      (set_callback_function)lookup("ompt_set_callback");
  Dl_info runtime;
  if (!set_callback || !dladdr((void *)set_callback, &runtime))
    return 0;
  void *handle = dlopen(runtime.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (!handle)
    return 0;
  set_blocktime = (set_blocktime_function)dlsym(handle, "kmp_set_blocktime");
  get_blocktime = (get_blocktime_function)dlsym(handle, "kmp_get_blocktime");
  dlclose(handle);
  if (!set_blocktime || !get_blocktime)
    return 0;
  vf_omp_count(VF_OMP_LIBOMP, 1);
  set_callback(EVENT_PARALLEL_BEGIN, parallel_begin);
  return 1; /* stay active */
}

static void finalize(void *data) { (void)data; }

VF_API struct start_result *ompt_start_tool(unsigned version,
                                            const char *runtime) {
  static struct start_result result = {initialize, finalize, 0};
  __typeof__(ompt_start_tool) *next =
      (__typeof__(ompt_start_tool) *)dlsym(RTLD_NEXT, "ompt_start_tool");
  struct start_result *other = next ? next(version, runtime) : NULL;
  if (other)
    return other;
  if (!vf_omp_is_on() || vf_omp_user_sets("OMP_TOOL_LIBRARIES"))
    return NULL;
  if (vf_omp_user_sets("KMP_BLOCKTIME") ||
      vf_omp_user_sets("OMP_WAIT_POLICY")) {
    vf_omp_count(VF_OMP_UNKNOWN, 1);
    return NULL;
  }
  return &result;
}
