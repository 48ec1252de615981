/*===- gleaner/reason.c - Decisions in words ------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/policy.h"

const char *gl_reason_text(enum gl_reason reason) {
  static const char *const texts[] = {
      [GL_STEADY] = "nothing to change",
      [GL_QUIET] = "idle periods are too few to matter",
      [GL_LONG_WAITS] = "idle periods are too long to keep CPUs awake",
      [GL_BUSY] = "too little idle time",
      [GL_LONG_WORK] = "computations are too long for fewer CPUs",
      [GL_PINNED] = "the program has CPU affinities of its own",
      [GL_WAITING] = "waiting before the next trial",
      [GL_TRY_RETENTION] = "trying to keep CPUs awake",
      [GL_TRY_FOLD] = "trying fewer CPUs",
      [GL_KEEP_RETENTION] = "more progress with CPUs kept awake",
      [GL_KEEP_FOLD] = "more progress on fewer CPUs",
      [GL_LOSE_RETENTION] = "no more progress with CPUs kept awake",
      [GL_LOSE_FOLD] = "no more progress on fewer CPUs",
      [GL_IDLE_GONE] = "idle periods have vanished",
      [GL_LIMITED] = "a CPU limit is near",
      [GL_CHANGE] = "the load changed",
      [GL_RISING] = "more threads want to run",
      [GL_HOTPLUG] = "the set of CPUs changed",
      [GL_RESUME] = "the load is as before on fewer CPUs",
  };
  /* A record may be of a newer daemon. */
  return (unsigned)reason < sizeof texts / sizeof *texts ? texts[reason]
                                                         : "unknown";
}
