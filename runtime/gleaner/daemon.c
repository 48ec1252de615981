/*===- gleaner/daemon.c - The process that measures and decides -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/daemon.h"
#include "gleaner/halt_poll.h"
#include "gleaner/output.h"
#include "gleaner/place.h"
#include "gleaner/policy.h"
#include "gleaner/retain.h"
#include "gleaner/spread.h"
#include "hypervisor.h"
#include "platform/linux/kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Where it could not be measured: on the development machine 7 µs, in the paper
 * 20. */
#define USUAL_WAKE_COST_S 10e-6
/* Less than this and the host polls for the next wake-up itself, or the machine
 * is not virtual: nothing is lost that could be kept. */
#define LEAST_WAKE_COST_S 2e-6

/* At most this share of a CPU is spent on measuring: windows get longer. In
 * trials more is, on both sides of the comparison: they are rare, and end the
 * sooner. Where measuring takes long, as with a thousand threads or in an
 * emulated guest, trials would last for a minute with the former. */
#define OWN_SHARE 0.01
#define TRIAL_SHARE 0.05

/* While the workload is confined the supervisor must see a beat now and then,
 * also where rising load needs no CPUs back. */
#define BEAT_S 0.1

static volatile sig_atomic_t ends;

static void on_signal(int signal) {
  (void)signal;
  ends = 1;
}

struct daemon {
  const struct gl_options *options;
  struct gl_record *record;
  struct gl_sense sense;
  struct gl_retain *retain;
  struct gl_spread spread;
  struct gl_settings settings;
  struct gl_state state;
  struct gl_decision now;
  struct gl_progress progress;
  double done; /* the metric at the last window; -1: unknown */
  FILE *log;
  double written_s;     /* until the state is written again */
  double window_cost_s; /* mean CPU time of a window */
  double quiet_s;       /* since it was said why nothing is tried */
  enum gl_reason explained, logged;
  bool failed_to_write;
  /* By a test: the number of CPUs to keep; 0: none. In turns with all. */
  unsigned forced;
  bool turns;
};

static double own_cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Says what is decided: each trial and result, and why nothing is tried. The
 * latter may alternate from window to window: it is said once a second. */
static void explain(struct daemon *d, const struct gl_sample *sample) {
  enum gl_reason reason = d->now.reason;
  d->quiet_s += sample->seconds;
  bool is_news = reason != d->explained || d->now.gain != d->record->gain;
  bool is_trial = reason >= GL_TRY_RETENTION;
  if (!d->options->explain || !is_news || (!is_trial && d->quiet_s < 1))
    return;
  if (!is_trial)
    d->quiet_s = 0;
  d->explained = reason;
  struct gl_load load = gl_load_of(sample);
  fprintf(stderr,
          "gleaner: %s: %u of %u CPUs%s, gain %+.1f %%; used %.2f CPUs, "
          "g_comp %.1f us",
          gl_reason_text(reason), d->now.cpus, sample->cpus,
          d->now.retain ? " kept awake" : "", 100 * d->now.gain, load.used,
          1e6 * load.g_comp);
  if (!sample->uncounted)
    fprintf(stderr,
            ", l_comp %.1f us, l_idle %.1f us, "
            "idle periods of %.1f us, %.0f a second",
            1e6 * load.l_comp, 1e6 * load.l_idle, 1e6 * load.gap,
            load.idles * (sample->active ? sample->active : 1));
  if (sample->steal_s > 0)
    fprintf(stderr, ", the host took %.2f CPUs",
            sample->steal_s / sample->seconds);
  if (sample->runnable >= 0)
    fprintf(stderr, ", %.1f threads ran or waited", sample->runnable);
  fputc('\n', stderr);
}

/* Does what was decided. */
static void act(struct daemon *d) {
  struct gl_record *record = d->record;
  if (d->options->dry_run)
    return;
  unsigned all = gl_count_cpus(&record->usable);
  if (d->now.cpus >= all) {
    /* Version 1 cpusets forget a CPU that goes offline. */
    if (record->folded || d->now.reason == GL_HOTPLUG) {
      gl_place_release(record);
      /* Linux spreads rising load, and sooner. */
      if (d->now.reason != GL_HOTPLUG && d->now.reason != GL_RISING)
        gl_spread_apply(&d->spread, record);
      record->changes++;
    }
  } else if (!record->folded || gl_count_cpus(&record->kept) != d->now.cpus) {
    struct gl_cpus kept;
    gl_sense_choose(&d->sense, record, d->now.cpus, &kept);
    record->changes++;
    if (!record->folded)
      gl_spread_note(&d->spread, record);
    if (gl_place_confine(record, &kept) != 0) {
      fprintf(stderr, "gleaner: the workload can no longer be confined\n");
      d->settings.may_fold = false;
      d->now = gl_policy_restore(&d->state, GL_CHANGE);
    }
  }
  if (d->retain)
    gl_retain_set(d->retain,
                  !d->now.retain   ? NULL
                  : record->folded ? &record->kept
                                   : &record->usable,
                  d->now.timeout_s);
}

/* Of the workload's own metric, if there is one. */
static void measure_progress(struct daemon *d, struct gl_sample *sample) {
  if (!d->settings.has_metric)
    return;
  double done = gl_progress_read(&d->progress);
  if (done >= 0 && d->done >= 0 && done >= d->done)
    sample->progress = done - d->done;
  d->done = done;
}

static void write_state(struct daemon *d) {
  if (!d->options->prometheus)
    return;
  int error = gl_write_prometheus(d->record, d->options->prometheus);
  if (error && !d->failed_to_write)
    fprintf(stderr, "gleaner: %s: %s\n", d->options->prometheus,
            strerror(error));
  d->failed_to_write = error != 0; /* said once */
}

static void report(struct daemon *d, double seconds) {
  if (d->log && d->now.reason != d->logged) {
    int error = gl_print_json(d->record, d->log);
    if (error) {
      fprintf(stderr, "gleaner: %s: %s; the log ends here\n", d->options->log,
              strerror(error));
      fclose(d->log);
      d->log = NULL;
    }
  }
  d->logged = d->now.reason;
  d->written_s -= seconds;
  if (d->written_s > 0)
    return;
  d->written_s = 1;
  write_state(d);
}

static void publish(struct daemon *d, const struct gl_sample *sample,
                    double retained_s) {
  struct gl_record *record = d->record;
  record->sample = *sample;
  record->n_kept = d->now.cpus;
  record->retained = d->now.retain;
  record->timeout_s = d->now.timeout_s;
  record->reason = d->now.reason;
  record->gain = d->now.gain;
  record->retained_s += retained_s;
  record->daemon_s = own_cpu_s();
  switch (d->now.reason) {
  case GL_KEEP_FOLD:
  case GL_KEEP_RETENTION:
    record->won++;
    record->trials++;
    break;
  case GL_LOSE_FOLD:
  case GL_LOSE_RETENTION:
    record->trials++;
    break;
  default:
    break;
  }
  /* Last: `gleaner top` computes from the sample once there is a window. */
  __atomic_store_n(&record->windows, record->windows + 1, __ATOMIC_RELEASE);
}

/* For so many slots others' threads are not asked for again: some 50 ms. */
#define OTHERS_SLOTS 12

/* Returns how many of the threads that want to run are others', if the
 * workload's own are too few to want more CPUs, else 0. */
static double others_of(const struct daemon *d, double mean) {
  double own = gl_sense_own_runnable(d->record);
  double only_own[GL_URGENT_SLOTS] = {own, own, own};
  return own < 0 || gl_policy_is_urgent(&d->state, only_own) || mean < own
             ? 0
             : mean - own;
}

/* Waits for the window to end, in slots while the workload is confined, and
 * writes gl_sample's runnable. Returns true if the workload wants its CPUs back
 * at once. */
static bool wait_window(struct daemon *d, double *most_runnable) {
  double left = d->now.window_s;
  bool tries = d->state.act != GL_NO_ACT;
  double least = d->window_cost_s / (tries ? TRIAL_SHARE : OWN_SHARE);
  if (least < d->progress.least_window_s)
    least = d->progress.least_window_s;
  if (left < least && left >= GL_WINDOW_S)
    left = least;
  double runnable[GL_URGENT_SLOTS] = {0}, others = 0;
  int alarms = 0; /* slots in a row */
  *most_runnable = -1;
  for (int slot = 1; left > 0 && !ends; ++slot) {
    bool folded = d->record->folded;
    double most = !folded                              ? left
                  : gl_policy_may_be_urgent(&d->state) ? GL_SLOT_S
                                                       : BEAT_S;
    double length = left > most ? most : left;
    vf_sleep_ns((uint64_t)(length * 1e9));
    left -= length;
    if (!folded)
      continue;
    __atomic_fetch_add(&d->record->beat, 1, __ATOMIC_RELAXED);
    if (slot % OTHERS_SLOTS == 0)
      others = 0;
    memmove(runnable, runnable + 1, sizeof runnable - sizeof *runnable);
    /* Linux counts threads that keep CPUs awake as well. */
    runnable[GL_URGENT_SLOTS - 1] =
        gl_sense_runnable() - (d->retain ? gl_retain_awake(d->retain) : 0) -
        others;
    if (slot < GL_URGENT_SLOTS)
      continue;
    double mean = gl_policy_mean(runnable);
    if (gl_policy_is_urgent(&d->state, runnable)) {
      double more = others_of(d, mean);
      /* On one CPU a few threads queue now and then. A trial, which ends soon
       * in any case, is not broken off by that; a fold may resume. */
      if (more <= 0 && (d->state.act != GL_FOLD || ++alarms >= GL_URGENT_SLOTS))
        return true;
      others += more;
      for (int i = 0; i < GL_URGENT_SLOTS; ++i)
        runnable[i] -= more;
      mean -= more;
    } else {
      alarms = 0;
    }
    *most_runnable = mean > *most_runnable ? mean : *most_runnable;
  }
  return false;
}

static void start(struct daemon *d, const struct gl_options *options,
                  struct gl_record *record) {
  *d = (struct daemon){.options = options, .record = record};
  int is_virtual = vf_is_virtual();
  d->settings = (struct gl_settings){
      .wake_cost_s = USUAL_WAKE_COST_S,
      .may_retain = options->retain,
      .may_fold = options->fold,
  };
  if (is_virtual == 0 && !options->physical) {
    d->settings.may_retain = d->settings.may_fold = false;
    if (options->explain)
      fprintf(stderr, "gleaner: this machine is not virtual: nothing to do "
                      "(--physical acts all the same)\n");
  }
  if (d->settings.may_retain) {
    double cost = gl_measure_wake_cost(&record->allowed);
    /* Other work hides the difference more often than it makes one. */
    if (cost >= 0 && cost < LEAST_WAKE_COST_S) {
      double again = gl_measure_wake_cost(&record->allowed);
      cost = again > cost ? again : cost;
    }
    if (cost >= 0)
      d->settings.wake_cost_s = cost;
    if (d->settings.wake_cost_s < LEAST_WAKE_COST_S)
      d->settings.may_retain = false;
    if (options->explain)
      fprintf(stderr, "gleaner: waking a halted CPU takes %.1f us more%s\n",
              1e6 * d->settings.wake_cost_s,
              cost < 0 ? " (assumed)"
              : d->settings.may_retain
                  ? ""
                  : ": CPUs are not worth keeping awake here");
  }
  record->wake_cost_s = d->settings.wake_cost_s;
  if (d->settings.may_retain)
    d->retain = gl_retain_start(&record->allowed);
  gl_sense_open(&d->sense, record);
  gl_policy_start(&d->state, gl_count_cpus(&record->usable));
  d->now = (struct gl_decision){.cpus = d->state.cpus, .window_s = GL_WINDOW_S};
  d->explained = (enum gl_reason) - 1;
  d->done = -1;
  d->quiet_s = 1;
  if (options->metric != GL_NO_METRIC) {
    const char *wrong = gl_progress_open(&d->progress, options->metric,
                                         options->metric_of, &record->allowed);
    if (wrong)
      fprintf(stderr, "gleaner: %s: %s; user time counts instead\n",
              options->metric_of, wrong);
    d->settings.has_metric = !wrong;
  }
  if (options->log) {
    /* Nothing is written where a link leads that others may have made. */
    int log =
        open(options->log,
             O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
    d->log = log >= 0 ? fdopen(log, "a") : NULL;
    if (!d->log)
      fprintf(stderr, "gleaner: %s: %s\n", options->log, strerror(errno));
  }
  const char *forced = secure_getenv("VF_TEST_GLEANER_FOLD");
  d->forced = forced ? (unsigned)atoi(forced) : 0;
  d->turns = secure_getenv("VF_TEST_GLEANER_TURNS") != NULL;
}

_Noreturn void gl_daemon(const struct gl_options *options,
                         struct gl_record *record, int ready) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGTERM, &action, NULL);
  signal(SIGINT, SIG_IGN); /* the terminal sends it to the whole group */
  signal(SIGQUIT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN); /* whoever reads stderr or the log may leave */
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* If the supervisor is killed, the workload must get its CPUs back. */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != record->supervisor)
    ends = 1;
  prctl(PR_SET_NAME, "gleaner-daemon");
  prctl(PR_SET_TIMERSLACK, 50000);
  /* A late daemon leaves the workload confined for longer than was promised. */
  setpriority(PRIO_PROCESS, 0, -10); /* fails without privileges */

  record->daemon = getpid(); /* the supervisor may not have got so far */

  struct daemon d;
  start(&d, options, record);
  close(ready);
  bool acts = d.settings.may_retain || d.settings.may_fold || d.forced;
  while (!ends && acts) {
    gl_sense_idle(&d.sense, gl_policy_needs_idle(&d.settings, &d.state));
    double runnable;
    bool urgent = wait_window(&d, &runnable);
    if (ends)
      break;
    if (urgent) {
      d.now = gl_policy_restore(&d.state, GL_RISING);
      act(&d);
    }
    double begin = own_cpu_s();
    struct gl_spun spun = {0};
    struct gl_sample sample;
    double retained_s =
        d.retain ? gl_retain_read(d.retain, &d.sense, &spun) : 0;
    gl_sense_window(&d.sense, record, &spun, &sample);
    if (sample.seconds <= 0)
      continue;
    sample.runnable = runnable;
    measure_progress(&d, &sample);
    if (!urgent) {
      d.now = gl_policy_step(&d.settings, &d.state, &sample);
      if (d.forced)
        d.now.cpus = d.turns && d.record->folded ? sample.cpus : d.forced;
      act(&d);
    }
    explain(&d, &sample);
    publish(&d, &sample, retained_s);
    report(&d, sample.seconds);
    double cost = own_cpu_s() - begin;
    d.window_cost_s += (cost - d.window_cost_s) / 8;
  }
  if (d.record->windows > 0)
    write_state(&d); /* the totals of the run */
  /* Nothing to do, but to be there until the end. A signal may come just before
   * the sleep, which ends by itself. */
  while (!ends)
    vf_sleep_ns(1000000000);
  if (gl_record_is_live(record)) {
    gl_place_release(record);
  } else {
    gl_place_close(record);
    gl_halt_poll_end(record);
  }
  _exit(0);
}
