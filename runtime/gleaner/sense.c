/*===- gleaner/sense.c - Counting what the workload does ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/sense.h"
#include "gleaner/idle_counters.h"
#include "gleaner/place.h"
#include "platform/linux/kernel.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How often what changes slowly is read: /proc/stat takes 0.1 ms and more. */
#define SLOW_NS 500000000

/* A kept CPU that was idle for more of the time is not in use. */
#define UNUSED 0.97

/* To ask a thread takes some 5 us: these, a third of a ms. */
#define MOST_ASKED 64

/*===- Threads and processes ---------------------------------------------===*/

static struct gl_seen *find(struct gl_sense *sense, pid_t id) {
  size_t i = (uint32_t)id * 2654435769u & (sense->room - 1);
  while (sense->seen[i].id != 0 && sense->seen[i].id != id)
    i = (i + 1) & (sense->room - 1);
  return &sense->seen[i];
}

/* Makes room for n more, and forgets those that were not in the last window. */
static bool make_room(struct gl_sense *sense, size_t n) {
  if (sense->room > 2 * (sense->n_seen + n))
    return true;
  struct gl_seen *old = sense->seen;
  size_t old_room = sense->room, room = 256;
  while (room <= 4 * (sense->n_seen + n))
    room *= 2;
  struct gl_seen *larger = calloc(room, sizeof *larger);
  if (!larger)
    return false;
  sense->seen = larger;
  sense->room = room;
  sense->n_seen = 0;
  for (size_t i = 0; i < old_room; ++i)
    if (old[i].id != 0 && old[i].window + 1 >= sense->window) {
      *find(sense, old[i].id) = old[i];
      sense->n_seen++;
    }
  free(old);
  return true;
}

/* Returns the counters at the last window; zeros for a new thread, as all that
 * it did was in this one. An id that was used before has smaller counters. */
static struct gl_seen *last_of(struct gl_sense *sense, pid_t id) {
  struct gl_seen *seen = find(sense, id);
  if (seen->id == 0 || seen->window + 1 < sense->window) {
    sense->n_seen += seen->id == 0;
    *seen = (struct gl_seen){.id = id};
  }
  seen->window = sense->window;
  return seen;
}

static double grown(double *last, double now) {
  double by = now >= *last ? now - *last : now;
  *last = now;
  return by;
}

/* CPU time of a process, with that of threads that have ended. virtual: in user
 * mode, which the kernel counts by ticks. The clock's number is made as the
 * kernel's posix-timers.h makes it. */
static double cpu_clock(pid_t process, bool is_virtual) {
  clockid_t clock = (clockid_t)(~(unsigned)process << 3 | (is_virtual ? 1 : 2));
  struct timespec t;
  return clock_gettime(clock, &t) == 0
             ? (double)t.tv_sec + (double)t.tv_nsec / 1e9
             : -1;
}

/* Returns the sum of the numbers after two words of the text, which are equally
 * long. */
static double sum_of(const char *text, const char *a, const char *b) {
  const char *first = strstr(text, a), *second = strstr(text, b);
  size_t n = strlen(a);
  return first && second ? strtod(first + n, NULL) + strtod(second + n, NULL)
                         : 0;
}

/* Adds the bytes that a process read and wrote by system calls, and these; none
 * if it has ended, the kernel does not count them or they are not ours to know.
 */
static void count_io(pid_t process, struct gl_seen *seen,
                     struct gl_sample *sample) {
  char path[32], text[256];
  gl_print(path, sizeof path, "/proc/%d/io", process);
  if (gl_read_file(path, text, sizeof text) <= 0)
    return;
  sample->moved += grown(&seen->moved, sum_of(text, "rchar: ", "wchar: "));
  sample->calls += grown(&seen->calls, sum_of(text, "syscr: ", "syscw: "));
}

static void count_work(struct gl_sense *sense, const struct gl_record *record,
                       struct gl_sample *sample) {
  struct gl_ids processes = {0}, threads = {0};
  gl_place_processes(record, &processes);
  gl_place_threads(record, &threads);
  if (!make_room(sense, processes.n + threads.n)) {
    free(processes.id);
    free(threads.id);
    return;
  }
  for (size_t i = 0; i < processes.n; ++i) {
    double work = cpu_clock(processes.id[i], false);
    double user = cpu_clock(processes.id[i], true);
    if (work < 0 || user < 0)
      continue;
    struct gl_seen *seen = last_of(sense, -processes.id[i]);
    sample->work_s += grown(&seen->work_s, work);
    sample->user_s += grown(&seen->user_s, user);
    count_io(processes.id[i], seen, sample);
  }
  for (size_t i = 0; i < threads.n; ++i) {
    char path[32], text[128];
    gl_print(path, sizeof path, "/proc/%d/schedstat", threads.id[i]);
    if (gl_read_file(path, text, sizeof text) <= 0)
      continue;
    /* run time, waiting time, number of times that it got a CPU */
    char *last = strrchr(text, ' ');
    struct gl_seen *seen = last_of(sense, threads.id[i]);
    if (last)
      sample->switches += grown(&seen->switches, strtod(last, NULL));
  }
  sense->pinned = gl_place_is_pinned(record, &threads);
  free(processes.id);
  free(threads.id);
}

/*===- CPUs --------------------------------------------------------------===*/

/* CPUs can be switched off and on. */
static void find_usable(struct gl_record *record) {
  char text[4096];
  struct gl_cpus online;
  record->usable = record->allowed;
  if (gl_read_file("/sys/devices/system/cpu/online", text, sizeof text) <= 0)
    return;
  gl_parse_cpus(text, &online);
  for (size_t i = 0; i < sizeof online.bits / sizeof *online.bits; ++i)
    online.bits[i] &= record->allowed.bits[i];
  if (gl_count_cpus(&online) > 0)
    record->usable = online;
}

/* Reads what changes slowly; share is per second since the last time. */
static void read_slowly(struct gl_sense *sense, struct gl_record *record,
                        uint64_t now) {
  find_usable(record);
  double seconds = (double)(now - sense->slow_at_ns) / 1e9;
  bool first = sense->slow_at_ns == 0;
  sense->slow_at_ns = now;
  gl_read_steal(sense->cpus, sense->n_cpus, first ? 0 : seconds);
  struct vf_cpu_reading reading;
  sense->limit = sense->throttled_share = 0;
  int error = vf_cpu_groups_read(&sense->groups, now, &reading);
  if (error == ESTALE) /* a group got a limit */
    vf_cpu_groups_find(&sense->groups, &vf_cpu_groups_of_self);
  if (error != 0 || reading.millicpus == VF_NO_LIMIT)
    return;
  sense->limit = reading.millicpus / 1e3;
  if (reading.elapsed_ns > 0)
    sense->throttled_share =
        (double)reading.throttled_us * 1e3 / (double)reading.elapsed_ns;
}

static bool is_kept(const struct gl_record *record, unsigned cpu) {
  return gl_has_cpu(record->folded ? &record->kept : &record->usable, cpu);
}

static void count_idle(struct gl_sense *sense, const struct gl_record *record,
                       const struct gl_spun *spun, struct gl_sample *sample) {
  unsigned sensed = 0;
  for (unsigned i = 0; i < sense->n_cpus; ++i) {
    struct gl_sensed *cpu = &sense->cpus[i];
    double idle_s = -1, periods = -1;
    if (sense->source != GL_ESTIMATE) {
      double total_idle = 0, total_periods = 0;
      gl_read_idle(cpu, sense->source, &total_idle, &total_periods);
      idle_s = grown(&cpu->idle_s, total_idle);
      periods = grown(&cpu->periods, total_periods);
    }
    if (!is_kept(record, cpu->cpu))
      continue;
    ++sensed;
    sample->steal_s += cpu->stolen_share * sample->seconds;
    if (sense->source == GL_ESTIMATE)
      continue;
    if (sense->source == GL_PERF) /* it counts periods only */
      idle_s = periods > 0 ? -1 : sample->seconds;
    else
      idle_s += spun->seconds[i];
    periods += spun->periods[i] - spun->sleeps[i];
    if (periods < 0) /* a thread sleeps now, its idle period ends later */
      periods = 0;
    if (idle_s < 0)
      idle_s = 0;
    if (idle_s > sample->seconds)
      idle_s = sample->seconds;
    sample->idle_s += idle_s;
    sample->idle_periods += periods;
    if (idle_s < UNUSED * sample->seconds) {
      sample->active++;
      sample->active_idle_s += idle_s;
      sample->active_periods += periods;
    }
    double busy = 1 - idle_s / sample->seconds - cpu->stolen_share;
    if (busy > sample->busiest)
      sample->busiest = busy;
  }
  if (sensed == 0)
    return;
  /* Of more CPUs than are sensed, the others are like those. */
  double scale = (double)sample->kept / sensed;
  sample->idle_s *= scale;
  sample->idle_periods *= scale;
  sample->steal_s *= scale;
  sample->active = (unsigned)(sample->active * scale + 0.5);
  sample->active_idle_s *= scale;
  sample->active_periods *= scale;
}

/* Idle time where only busy time is known. */
static void estimate_idle(const struct gl_sense *sense,
                          struct gl_sample *sample) {
  double time = sample->seconds * sample->kept;
  double idle = time - sample->work_s - sample->steal_s;
  if (sense->source == GL_PERF) {
    double active = sample->seconds * sample->active;
    idle = active - sample->work_s - sample->steal_s;
    sample->active_idle_s = idle > 0 ? idle : 0;
    sample->idle_s += sample->active_idle_s;
    return;
  }
  /* Each switch of the workload ends in an idle period with the probability
   * that its CPU was idle. Advisory: others' work counts as idle time. */
  double share = idle > 0 ? idle / time : 0;
  sample->active = sample->kept;
  sample->idle_s = sample->active_idle_s = idle > 0 ? idle : 0;
  sample->idle_periods = sample->active_periods = sample->switches * share;
  sample->busiest = sample->work_s / time;
}

void gl_sense_open(struct gl_sense *sense, struct gl_record *record) {
  memset(sense, 0, sizeof *sense);
  unsigned n = gl_count_cpus(&record->allowed), nth = 0, taken = 0;
  for (unsigned cpu = 0; cpu < GL_MOST_CPUS; ++cpu) {
    if (!gl_has_cpu(&record->allowed, cpu))
      continue;
    /* An even choice of GL_MOST_SENSED, and the first ones always. */
    if (n <= GL_MOST_SENSED || nth++ * GL_MOST_SENSED / n >= taken)
      if (taken < GL_MOST_SENSED)
        sense->cpus[taken++].cpu = cpu;
  }
  sense->n_cpus = taken;
  vf_cpu_groups_find(&sense->groups, &vf_cpu_groups_of_self);
  sense->source = gl_open_idle(sense->cpus, taken);
  struct gl_spun none = {0};
  struct gl_sample sample;
  sense->at_ns = vf_now_ns() - 1;
  gl_sense_window(sense, record, &none, &sample);
}

void gl_sense_close(struct gl_sense *sense) {
  gl_close_idle(sense->cpus, sense->n_cpus);
  free(sense->seen);
  vf_cpu_groups_close(&sense->groups);
}

void gl_sense_idle(struct gl_sense *sense, bool on) {
  if (sense->source != GL_PERF || on != sense->stopped)
    return;
  gl_count_idle(sense->cpus, sense->n_cpus, on);
  sense->stopped = !on;
}

void gl_sense_window(struct gl_sense *sense, struct gl_record *record,
                     const struct gl_spun *spun, struct gl_sample *sample) {
  uint64_t now = vf_now_ns();
  if (now - sense->slow_at_ns > SLOW_NS)
    read_slowly(sense, record, now);
  unsigned usable = gl_count_cpus(&record->usable);
  *sample = (struct gl_sample){
      .seconds = (double)(now - sense->at_ns) / 1e9,
      .cpus = usable,
      .kept = record->folded ? gl_count_cpus(&record->kept) : usable,
      .uncounted = sense->stopped,
      .runnable = -1,
      .progress = -1,
  };
  sense->at_ns = now;
  sense->window++;
  sample->limit = sense->limit;
  sample->throttled_s = sense->throttled_share * sample->seconds;
  count_work(sense, record, sample);
  sample->pinned = sense->pinned;
  count_idle(sense, record, spun, sample);
  if (sense->source != GL_CPUIDLE)
    estimate_idle(sense, sample);
}

double gl_sense_runnable(void) {
  char text[128];
  if (gl_read_file("/proc/loadavg", text, sizeof text) <= 0)
    return 0;
  char *at = text;
  for (int i = 0; i < 3 && at; ++i)
    at = strchr(at + 1, ' ');
  return at ? strtod(at, NULL) - 1 : 0;
}

double gl_sense_own_runnable(const struct gl_record *record) {
  struct gl_ids threads = {0};
  gl_place_threads(record, &threads);
  unsigned n = 0;
  for (size_t i = 0; threads.n <= MOST_ASKED && i < threads.n; ++i)
    n += gl_thread_state(threads.id[i]) == 'R';
  bool asked = threads.n > 0 && threads.n <= MOST_ASKED;
  free(threads.id);
  return asked ? (double)n : -1;
}

void gl_sense_choose(const struct gl_sense *sense,
                     const struct gl_record *record, unsigned n,
                     struct gl_cpus *cpus) {
  memset(cpus, 0, sizeof *cpus);
  /* Those from which nothing is taken, then the others. */
  for (int stolen = 0; stolen < 2; ++stolen)
    for (unsigned cpu = 0; cpu < GL_MOST_CPUS && n > 0; ++cpu) {
      if (!gl_has_cpu(&record->usable, cpu) || gl_has_cpu(cpus, cpu))
        continue;
      bool is_stolen = false;
      for (unsigned i = 0; i < sense->n_cpus; ++i)
        is_stolen = is_stolen || (sense->cpus[i].cpu == cpu &&
                                  sense->cpus[i].stolen_share > 0.1);
      if (is_stolen && !stolen)
        continue;
      gl_add_cpu(cpus, cpu);
      --n;
    }
}
