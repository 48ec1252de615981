/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A guest of vCPUs and threads on a host of CPUs, event by event, for tests of
 * the policy. Times are in nanoseconds. A thread repeats a script:
 *
 *   static const struct op script[] = {{COMPUTE, 20000}, {LOCK, 0},
 *                                      {COMPUTE, 2000}, {UNLOCK, 0}, {DONE},
 * {END}}; sim = sim_new((struct host){.vcpus = 16, .pcpus = 16}, script, 16);
 *   sim_run(sim, 0.05, 16, 0, &sample);
 */

#ifndef VF_TEST_GLEANER_SIMULATOR_H
#define VF_TEST_GLEANER_SIMULATOR_H

#include "gleaner/policy.h"
#include <stdint.h>

/* Gleaner, table 2, in a virtual machine. A: to dispatch a thread on a vCPU
 * that runs. B: to interrupt one that is awake. C: one that is halted. D: one
 * that must first take the CPU from another virtual machine. */
enum { COST_A = 6000, COST_B = 17000, COST_C = 37000, COST_D = 96000 };

/* Of guest and host: Linux' base slice. */
enum { SLICE = 3000000 };

enum what {
  COMPUTE, /* for n ns, up to a quarter more or less */
  LOCK,    /* mutex n, whose waiters sleep in order */
  UNLOCK,
  BARRIER, /* n threads, which sleep */
  WAIT,    /* until the thread is posted */
  POST,    /* the thread whose number differs in bit n */
  SLEEP,   /* for n ns, up to a quarter more or less */
  DONE,    /* counts as progress */
  END      /* from the beginning */
};
struct op {
  enum what what;
  int64_t n;
};

struct host {
  int vcpus, pcpus, hogs; /* hogs are other guests' vCPUs that compute */
  double limit;           /* CPUs; 0 for none */
  int64_t slice;          /* of the host, up to a quarter more or less;
                             0: SLICE exactly */
};

struct sim;
struct sim *sim_new(struct host host, const struct op *script, int threads);
void sim_free(struct sim *sim);

/* As POST by another thread. */
void sim_post(struct sim *sim, int thread);

/* Changes how many threads take part from now on; the others finish their
 * script and sleep. */
void sim_threads(struct sim *sim, int threads);
void sim_script(struct sim *sim, const struct op *script);

/* Runs on the first `kept` vCPUs, which stay awake for timeout_s when they
 * become idle. */
void sim_run(struct sim *sim, double seconds, unsigned kept, double timeout_s,
             struct gl_sample *sample);

#endif
