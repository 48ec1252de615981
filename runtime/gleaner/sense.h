/*===- gleaner/sense.h - Counting what the workload does ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   gl_sense_open(&sense, record);
 *   gl_sense_window(&sense, record, &spun, &sample);   // since the last call
 *
 * Only counters that the kernel keeps anyway are read, so that the workload
 * pays nothing: an event that the kernel counts for us at each switch would
 * cost 0.2 to 1 µs of each. Idle periods without a cpuidle driver are the
 * exception, so their event is counted only while the policy needs it.
 *
 * | measure              | from                                               |
 * |----------------------|----------------------------------------------------|
 * | CPU and user time    | the CPU clocks of each process                     |
 * | context switches     | /proc/TID/schedstat                                |
 * | bytes moved, calls   | /proc/PID/io: read(2), write(2) and their kin, not |
 * |                      | send(2) and recv(2)                                |
 * | idle time, periods   | cpuidle's counters of each CPU; without a driver,  |
 * |                      | the event power:cpu_idle, counted by perf; without |
 * |                      | that they are estimated from the switches          |
 * | steal                | /proc/stat, each half second                       |
 * | CPU limit            | the cgroup, each half second                       |
 * | runnable threads     | /proc/loadavg, in slots; /proc/TID/stat to tell    |
 * |                      | the workload's own                                 |
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_SENSE_H
#define VFRIENDLY_GLEANER_SENSE_H

#include "gleaner/load.h"
#include "gleaner/record.h"
#include "platform/linux/cpu_groups.h"

/* CPUs whose idle counters are read; of more, an even choice is, and the rest
 * estimated. 64 CPUs take 0.2 ms of a window of 50 ms. */
#define GL_MOST_SENSED 64
#define GL_MOST_IDLE_STATES 10

enum gl_idle_source { GL_CPUIDLE, GL_PERF, GL_ESTIMATE };

/* Private, except source. */
struct gl_sense {
  enum gl_idle_source source;
  unsigned n_cpus; /* sensed */
  struct gl_sensed {
    unsigned cpu;
    int n_files, files[2 * GL_MOST_IDLE_STATES]; /* usage, time; or an event */
    double idle_s, periods, steal_s; /* totals at the last reading */
    double stolen_share;
  } cpus[GL_MOST_SENSED];
  struct gl_seen {
    pid_t id;
    uint32_t window;
    double switches, work_s, user_s, moved, calls;
  } *seen; /* hash table of threads and, as negative numbers, processes */
  size_t room, n_seen;
  uint32_t window;
  uint64_t at_ns, slow_at_ns;
  struct vf_cpu_groups groups;
  double limit, throttled_share;
  bool pinned;
  bool stopped; /* events are not counted */
};

/* CPU time and number of periods of retention, by sensed CPU. */
struct gl_spun {
  double seconds[GL_MOST_SENSED], periods[GL_MOST_SENSED],
      sleeps[GL_MOST_SENSED];
};

void gl_sense_open(struct gl_sense *sense, struct gl_record *record);
void gl_sense_close(struct gl_sense *sense);

/* Says whether windows from now on need idle times and periods. Where they are
 * counted by an event, that costs the workload, and they are 0 without. */
void gl_sense_idle(struct gl_sense *sense, bool on);

/* Writes to the record which CPUs are online, and to the sample what happened
 * since the last call, or since gl_sense_open. spun is what retention did in
 * that time. Without a thread left, all counts are 0. */
void gl_sense_window(struct gl_sense *sense, struct gl_record *record,
                     const struct gl_spun *spun, struct gl_sample *sample);

/* Returns the number of threads of the machine that run or want to, without the
 * caller. Takes 2 µs. */
double gl_sense_runnable(void);

/* Returns how many of the workload's own threads run or want to; -1 if it has
 * too many threads to ask each, or none. */
double gl_sense_own_runnable(const struct gl_record *record);

/* Writes the `n` CPUs of the workload from which the host takes least time,
 * those with lower numbers first. */
void gl_sense_choose(const struct gl_sense *sense,
                     const struct gl_record *record, unsigned n,
                     struct gl_cpus *cpus);

#endif /* VFRIENDLY_GLEANER_SENSE_H */
