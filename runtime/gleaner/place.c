/*===- gleaner/place.c - Confining the workload to CPUs -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/place.h"
#include "gleaner/cgroup.h"
#include "gleaner/spread.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* New threads inherit the affinity of the thread that makes them, which may
 * have been read before it was changed: passes are repeated until one finds
 * nothing to change. A fork storm could go on for ever; what it leaves is found
 * in the next window. */
#define MOST_PASSES 20

/* A cgroup is busy for a moment after its last process ended. */
#define REMOVE_TRIES 50
#define REMOVE_PAUSE_NS 2000000

static bool file_in(const char *group, const char *name, char *path,
                    size_t size) {
  return gl_print(path, size, "%s/%s", group, name);
}

static int write_in(const char *group, const char *name, const char *text) {
  char path[600];
  return file_in(group, name, path, sizeof path) ? gl_write_file(path, text)
                                                 : ENAMETOOLONG;
}

static ssize_t read_in(const char *group, const char *name, char *text,
                       size_t size) {
  char path[600];
  return file_in(group, name, path, sizeof path)
             ? gl_read_file(path, text, size)
             : -1;
}

static int write_cpus(const char *group, const struct gl_cpus *cpus) {
  char text[4096];
  return write_in(group, "cpuset.cpus", gl_list_cpus(cpus, text, sizeof text));
}

/* Makes record->group in `parent`. Returns false and leaves nothing if the
 * group cannot hold a cpuset. */
static bool make(struct gl_record *record, const char *parent,
                 enum gl_means means) {
  char mems[4096];
  if (!gl_print(record->group, sizeof record->group, "%s/gleaner-%d", parent,
                getpid()) ||
      !gl_print(record->parent, sizeof record->parent, "%s", parent))
    return false;
  if (mkdir(record->group, 0755) != 0)
    return false;
  bool made;
  if (means == GL_CPUSET_V2) {
    /* Fails if the parent has processes of its own, unless it is the root. */
    write_in(parent, "cgroup.subtree_control", "+cpuset");
    made = write_cpus(record->group, &record->allowed) == 0;
  } else {
    made = read_in(parent, "cpuset.mems", mems, sizeof mems) > 0 &&
           write_in(record->group, "cpuset.mems", mems) == 0 &&
           write_cpus(record->group, &record->allowed) == 0;
  }
  if (!made)
    rmdir(record->group);
  return made;
}

void gl_place_open(struct gl_record *record, enum gl_means means) {
  char own[400];
  record->means = GL_AFFINITY;
  if (means == GL_AFFINITY)
    return;
  if (gl_own_cgroup(NULL, own, sizeof own)) {
    /* With Delegate=, systemd puts the service itself into a group beside which
     * others may be made, but none inside. */
    char *last = strrchr(own, '/');
    if (make(record, own, GL_CPUSET_V2)) {
      record->means = GL_CPUSET_V2;
      return;
    }
    if (last && gl_cgroup_is_below_mount(own)) {
      *last = '\0';
      if (make(record, own, GL_CPUSET_V2)) {
        record->means = GL_CPUSET_V2;
        return;
      }
    }
  }
  if (gl_own_cgroup("cpuset", own, sizeof own) &&
      make(record, own, GL_CPUSET_V1)) {
    record->means = GL_CPUSET_V1;
    return;
  }
  record->group[0] = record->parent[0] = '\0';
}

int gl_place_join(const struct gl_record *record, pid_t process) {
  char text[16];
  gl_print(text, sizeof text, "%d", process);
  return record->means == GL_AFFINITY
             ? 0
             : write_in(record->group, "cgroup.procs", text);
}

static const char *threads_file(const struct gl_record *record) {
  return record->means == GL_CPUSET_V2 ? "cgroup.threads" : "tasks";
}

/* Returns true if the process was started in the run: its environment at its
 * start tells. */
static bool is_of_session(pid_t process, const struct gl_record *record) {
  static char text[1 << 20];
  char path[64], wanted[64];
  gl_print(path, sizeof path, "/proc/%d/environ", process);
  gl_print(wanted, sizeof wanted, GL_SESSION "=" GL_SESSION_FORMAT,
           record->supervisor, (unsigned long long)record->start_time);
  ssize_t length = gl_read_file(path, text, sizeof text);
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1)
    if (strcmp(text + at, wanted) == 0)
      return true;
  return false;
}

/* Processes of a run whose supervisor is dead, wherever they are now. */
static void find_session(const struct gl_record *record, struct gl_ids *ids) {
  struct gl_ids all = {0};
  gl_numbers("/proc", &all);
  for (size_t i = 0; i < all.n; ++i)
    if (all.id[i] != record->daemon && is_of_session(all.id[i], record))
      gl_add_id(ids, all.id[i]);
  free(all.id);
}

void gl_place_processes(const struct gl_record *record, struct gl_ids *ids) {
  char path[600];
  if (record->means != GL_AFFINITY &&
      file_in(record->group, "cgroup.procs", path, sizeof path) &&
      gl_read_ids(path, ids))
    return;
  if (gl_record_is_live(record))
    gl_descendants(record->supervisor, record->daemon, ids);
  else
    find_session(record, ids);
}

void gl_place_threads(const struct gl_record *record, struct gl_ids *ids) {
  char path[600];
  if (record->means != GL_AFFINITY &&
      file_in(record->group, threads_file(record), path, sizeof path) &&
      gl_read_ids(path, ids))
    return;
  struct gl_ids processes = {0};
  gl_place_processes(record, &processes);
  gl_threads(&processes, ids);
  free(processes.id);
}

bool gl_place_is_pinned(const struct gl_record *record,
                        const struct gl_ids *threads) {
  for (size_t i = 0; i < threads->n; ++i) {
    struct gl_cpus cpus;
    if (gl_get_affinity(threads->id[i], &cpus) == 0 &&
        !gl_same_cpus(&cpus, &record->allowed) &&
        !gl_same_cpus(&cpus, &record->usable) &&
        !(record->folded && gl_same_cpus(&cpus, &record->kept)))
      return true;
  }
  return false;
}

void gl_place_move(const struct gl_record *record, gl_affinity_test *moves,
                   const struct gl_cpus *to) {
  bool again = true;
  for (int pass = 0; again && pass < MOST_PASSES; ++pass) {
    struct gl_ids threads = {0};
    gl_place_threads(record, &threads);
    again = false;
    for (size_t i = 0; i < threads.n; ++i) {
      struct gl_cpus is;
      if (gl_get_affinity(threads.id[i], &is) == 0 && !gl_same_cpus(&is, to) &&
          moves(record, &is) && gl_set_affinity(threads.id[i], to) == 0)
        again = true;
    }
    free(threads.id);
  }
}

/* What the program has set itself stays. */
static bool is_ours(const struct gl_record *record, const struct gl_cpus *is) {
  return gl_same_cpus(is, &record->kept) || gl_same_cpus(is, &record->was) ||
         gl_same_cpus(is, &record->allowed);
}

int gl_place_confine(struct gl_record *record, const struct gl_cpus *cpus) {
  record->was = record->folded ? record->kept : record->allowed;
  __atomic_store_n(&record->folded, 1, __ATOMIC_RELEASE);
  record->kept = *cpus;
  int result = 0;
  if (record->means == GL_AFFINITY)
    gl_place_move(record, is_ours, cpus);
  else
    result = write_cpus(record->group, cpus);
  if (result != 0)
    gl_place_release(record);
  return result;
}

int gl_place_release(struct gl_record *record) {
  int result = 0;
  if (record->means == GL_AFFINITY) {
    if (record->folded)
      gl_place_move(record, is_ours, &record->allowed);
  } else {
    result = write_cpus(record->group, &record->allowed);
    char text[4096];
    /* One of the CPUs is offline: all that the parent has. */
    if (result != 0 && (read_in(record->parent, "cpuset.cpus.effective", text,
                                sizeof text) > 0 ||
                        read_in(record->parent, "cpuset.effective_cpus", text,
                                sizeof text) > 0))
      result = write_in(record->group, "cpuset.cpus", text);
  }
  gl_spread_end(record);
  __atomic_store_n(&record->folded, 0, __ATOMIC_RELEASE);
  return result;
}

void gl_place_close(struct gl_record *record) {
  gl_place_release(record);
  if (record->means == GL_AFFINITY)
    return;
  for (int i = 0; i < REMOVE_TRIES; ++i) {
    struct gl_ids processes = {0};
    char path[600];
    if (file_in(record->group, "cgroup.procs", path, sizeof path))
      gl_read_ids(path, &processes);
    for (size_t p = 0; p < processes.n; ++p) {
      char text[16];
      gl_print(text, sizeof text, "%d", processes.id[p]);
      write_in(record->parent, "cgroup.procs", text);
    }
    free(processes.id);
    if (rmdir(record->group) == 0 || errno == ENOENT)
      return;
    nanosleep(&(struct timespec){.tv_nsec = REMOVE_PAUSE_NS}, NULL);
  }
}
