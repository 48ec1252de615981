/*===- cpu-limits/libomp.c - How long LLVM's OpenMP runtime spins ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * LLVM's runtime asks for a tool, ompt_start_tool, when it starts (OpenMP 5.0,
 * chapter 4). The tool is called when a parallel region begins, and there sets
 * the block time of the thread's teams: the time for which waits spin before
 * they sleep. A block time is one of milliseconds, unless it was last set by a
 * setting in microseconds; so that waits can spin shortly under a CPU limit,
 * such a setting is made when the runtime starts in a group with a limit.
 *
 * If another library offers a tool, that one is used. If the user sets
 * KMP_BLOCKTIME, OMP_WAIT_POLICY or OMP_TOOL_LIBRARIES, there is none of ours.
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "common/process_wide.h"
#include "cpu-limits/steer.h"
#include "spin-wait/limit.h"
#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

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

/* Block time of a short spin, in microseconds: what polls of gcc's runtime take
 * at least, see POLLS_SHORT. */
#define SHORT_US 20

/* Block time, in milliseconds, of teams that should not spin as usual but have
 * more threads than CPUs. Their waits yield at each poll, so they spin beside
 * each other: on two idle CPUs, eight threads took 82 us for a region, and
 * 163 us if they slept at once; beside hogs and under a limit of one CPU, 122
 * against 158 and 163 against 217. */
#define YIELDING_MS 1

typedef void (*set_blocktime_function)(int blocktime);
typedef int (*get_blocktime_function)(void);
typedef void (*set_defaults_function)(const char *settings);
static set_blocktime_function set_blocktime;
/* Written before any region. Block times in the unit that set_blocktime takes
 * now: to spin as usual and shortly, and those of teams of more threads than
 * CPUs, as usual and in the other cases. */
static int usual, brief, usual_of_large, yielding;

/* 1 + the block time that this thread's teams were given; 0 if none. Only a
 * thread that begins regions has it: one word of initial-exec TLS. */
static __thread int given;

static void parallel_begin(void *task, const void *frame, void *parallel,
                           unsigned requested, int flags, const void *caller) {
  (void)task, (void)frame, (void)parallel, (void)flags, (void)caller;
  enum vf_omp_waits waits = vf_omp_waits();
  vf_omp_start(); /* in a forked child, or before any thread was created */
  int blocktime;
  if (requested > vf_limit_1.cpus)
    blocktime = waits == VF_OMP_SPIN ? usual_of_large : yielding;
  else
    blocktime = waits == VF_OMP_SLEEP   ? 0
                : waits == VF_OMP_SHORT ? brief
                                        : usual;
  int before = given == 0 ? usual : given - 1;
  if (blocktime == before)
    return;
  given = blocktime + 1;
  set_blocktime(blocktime);
}

/* Makes microseconds the unit of block times, unless the user prints the
 * runtime's settings. Versions before LLVM 18 know no microseconds, and do not
 * define the function that is looked up. */
static void use_microseconds(void *runtime) {
  char setting[48];
  set_defaults_function set_defaults =
      (set_defaults_function)dlsym(runtime, "kmp_set_defaults");
  uint32_t millicpus = vf_get(&vf_limit_1.millicpus);
  bool has_limit =
      millicpus != 0 && millicpus / 1000 < vf_limit_1.cpus; /* 0: unknown */
  if (!has_limit || usual <= 0 || usual > INT_MAX / 1000 || !set_defaults ||
      !dlsym(runtime, "__kmpc_dispatch_deinit") ||
      vf_omp_user_sets("KMP_SETTINGS") || vf_omp_user_sets("OMP_DISPLAY_ENV"))
    return;
  usual *= 1000;
  brief = SHORT_US;
  yielding *= 1000;
  /* The runtime shortens their waits itself, but not after this setting. */
  usual_of_large = yielding;
  snprintf(setting, sizeof setting, "KMP_BLOCKTIME=%dus", usual);
  set_defaults(setting);
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
  get_blocktime_function get_blocktime =
      (get_blocktime_function)dlsym(handle, "kmp_get_blocktime");
  set_blocktime = (set_blocktime_function)dlsym(handle, "kmp_set_blocktime");
  if (set_blocktime && get_blocktime) {
    usual = usual_of_large = get_blocktime();
    yielding = usual < YIELDING_MS ? usual : YIELDING_MS;
    use_microseconds(handle);
  }
  dlclose(handle);
  if (!set_blocktime || !get_blocktime)
    return 0;
  vf_omp_count(VF_OMP_LIBOMP, 1);
  set_callback(EVENT_PARALLEL_BEGIN, (callback)parallel_begin);
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
