/*===- gleaner/record.h - What a run tells other processes ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * One file per run, mapped by the supervisor, the daemon and `gleaner top`, and
 * read by `gleaner repair` after both were killed. It is in /run/gleaner, or in
 * $XDG_RUNTIME_DIR/gleaner of a user who may not write there.
 *
 * Set by the supervisor before the daemon starts: all above `beat`. Set by the
 * daemon only: the rest. Readers get a number that was true a moment ago; only
 * the supervisor acts on it (beat, folded), and only to give CPUs back.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_RECORD_H
#define VFRIENDLY_GLEANER_RECORD_H

#include "gleaner/load.h"
#include "gleaner/system.h"

#define GL_RECORD_MAGIC 0x334e4c47u /* "GLN3": changes with the layout */

enum gl_means { GL_AFFINITY, GL_CPUSET_V1, GL_CPUSET_V2 };

struct gl_record {
  uint32_t magic;
  pid_t supervisor, daemon, command;
  uint64_t start_time; /* of the supervisor */
  enum gl_means means;
  char group[512];        /* folder of the cgroup */
  char parent[512];       /* of the group to which leftovers return */
  struct gl_cpus allowed; /* all CPUs of the workload */
  char name[64];          /* the command */

  uint32_t beat;   /* counts slots while CPUs are folded */
  uint32_t folded; /* 1 from before the first thread is confined until after
                      the last is free: not to set it would leave the workload
                      confined if the daemon died */
  struct gl_cpus usable; /* those allowed that are online */
  struct gl_cpus kept;
  struct gl_cpus was; /* what threads had before, which some may still have if
                         the daemon died while it moved them */
  uint32_t spreads; /* 1 while threads are held on single CPUs: see spread.h */
  uint32_t polls; /* 1 from before the guest's polling is set until after it is
                     restored: see halt_poll.h */
  unsigned long poll_was_ns, poll_set_ns;
  uint32_t n_kept, retained, reason, windows;
  double timeout_s, gain, wake_cost_s;
  struct gl_sample sample; /* of the last window */
  double daemon_s;         /* CPU time of the daemon without retention */
  double retained_s;       /* CPU time that retention used */
  uint64_t changes, trials, won;
};

/* Creates the file of this process and maps it. If no folder can be written,
 * the record exists in memory only, and path is empty. Returns null without
 * memory. */
struct gl_record *gl_record_create(char *path, size_t size);

/* Maps a file; read-only unless writable. Returns null if it is no record. */
struct gl_record *gl_record_map(const char *path, bool writable);
void gl_record_unmap(struct gl_record *record);

/* Writes the folder of records that exists, or "". */
void gl_record_folder(char *path, size_t size);

/* Returns true if the run's supervisor still exists. */
bool gl_record_is_live(const struct gl_record *record);

#endif /* VFRIENDLY_GLEANER_RECORD_H */
