// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The policy in a simulated guest, with the costs of Gleaner's table 2: who
// gains, who is left alone, and that rising load has its CPUs back.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -Werror -I %S/Inputs -I %S/../Inputs -I %vf_include -I %vf_src/runtime %s %S/Inputs/simulator.c %S/Inputs/simulator_host.c %vf_src/runtime/gleaner/load.c %vf_src/runtime/gleaner/trial.c %vf_src/runtime/gleaner/policy.c %vf_src/runtime/gleaner/propose.c %vf_src/runtime/gleaner/reason.c -lm -o %t
// RUN: %t

#include "check.h"
#include "simulator.h"
#include <math.h>
#include <string.h>

struct outcome {
  double alone, with; // progress per second without and with the daemon
  unsigned kept;      // CPUs at the end
  bool retains;
  unsigned trials; // windows with fewer CPUs
  enum gl_reason reason;
};

// Threads of other programs that run until the first measured window with fewer
// CPUs has ended.
static double others;

// More of them, for DISTURBS_S each so many seconds; 0: none.
static double disturbed_each_s;
#define DISTURBS_S 0.02

// A server: each unit of progress is a request that it reads and answers. While
// CPUs are kept awake it is switched so many times as often and takes so many
// times the user time, as it finds fewer requests at a time and its clients
// spin; 0: no server.
static double woken_sooner;
#define REQUEST_BYTES 100

static struct gl_settings settings = {.wake_cost_s = (COST_C - COST_B) * 1e-9,
                                      .may_retain = true,
                                      .may_fold = true};

// The daemon's loop. Returns the progress of the last second.
static double drive(struct sim *sim, unsigned cpus, double seconds,
                    struct gl_state *state, struct outcome *out) {
  struct gl_decision d = {.cpus = cpus, .window_s = GL_WINDOW_S};
  double last = 0, last_s = 0;
  for (double now = 0; now < seconds;) {
    struct gl_sample s = {0}, slot;
    double runnable[GL_URGENT_SLOTS] = {0}, most_runnable = -1;
    bool urgent = false;
    for (int i = 0; s.seconds < d.window_s && !urgent; ++i) {
      double length = d.cpus < cpus ? GL_SLOT_S : d.window_s;
      sim_run(sim, length, d.cpus, d.retain ? d.timeout_s : 0, &slot);
      slot.work_s += s.work_s, slot.user_s += s.user_s,
          slot.switches += s.switches;
      slot.idle_s += s.idle_s, slot.idle_periods += s.idle_periods;
      slot.active_idle_s += s.active_idle_s,
          slot.active_periods += s.active_periods;
      slot.steal_s += s.steal_s, slot.throttled_s += s.throttled_s,
          slot.progress += s.progress;
      slot.seconds += s.seconds;
      s = slot;
      memmove(runnable, runnable + 1, sizeof runnable - sizeof *runnable);
      bool disturbed = disturbed_each_s > 0 &&
                       fmod(now + s.seconds, disturbed_each_s) < DISTURBS_S;
      runnable[GL_URGENT_SLOTS - 1] =
          slot.runnable + (out->trials < 2 ? others : 0) + (disturbed ? 4 : 0);
      if (i + 1 >= GL_URGENT_SLOTS)
        most_runnable = fmax(most_runnable, gl_policy_mean(runnable));
      urgent = d.cpus < cpus && i + 1 >= GL_URGENT_SLOTS &&
               gl_policy_is_urgent(state, runnable);
    }
    s.runnable = most_runnable;
    if (woken_sooner > 0) {
      s.calls = 2 * s.progress;
      s.moved = REQUEST_BYTES * s.progress;
      s.switches *= d.retain ? woken_sooner : 1;
      s.user_s *= d.retain ? woken_sooner : 1;
    }
    now += s.seconds;
    if (now > seconds - 1)
      last += s.progress, last_s += s.seconds;
    if (d.cpus < cpus)
      out->trials++;
    d = urgent ? gl_policy_restore(state, GL_RISING)
               : gl_policy_step(&settings, state, &s);
    if (getenv("SHOW"))
      printf("%6.3f cpus %u retain %d gain %+.2f: %s (used %.2f idle %.2f gap "
             "%.1f us, runnable %.1f)\n",
             now, d.cpus, d.retain, d.gain, gl_reason_text(d.reason),
             s.work_s / s.seconds, s.idle_s / s.seconds,
             s.active_periods ? s.active_idle_s / s.active_periods * 1e6 : 0,
             s.runnable);
  }
  out->kept = state->kept;
  out->retains = state->retain;
  out->reason = d.reason;
  return last / last_s;
}

static struct outcome run(const char *name, struct host host,
                          const struct op *script, int threads,
                          double seconds) {
  struct outcome out = {0};
  struct gl_sample s;
  struct sim *sim = sim_new(host, script, threads);

  sim_post(sim, 0);
  for (int i = 0; i < 20; ++i) {
    sim_run(sim, 0.05, (unsigned)host.vcpus, 0, &s);
    out.alone += s.progress;
  }
  sim_free(sim);
  sim = sim_new(host, script, threads);

  sim_post(sim, 0);
  struct gl_state state;
  gl_policy_start(&state, (unsigned)host.vcpus);
  out.with = drive(sim, (unsigned)host.vcpus, seconds, &state, &out);
  sim_free(sim);
  printf("%-28s %4d vCPUs: %9.0f -> %9.0f a second (%.2f), %u kept, %s, %u "
         "tried; %s\n",
         name, host.vcpus, out.alone, out.with, out.with / out.alone, out.kept,
         out.retains ? "retained" : "not retained", out.trials,
         gl_reason_text(out.reason));
  return out;
}

// dedup: a queue behind one lock, short work between.
static const struct op dedup[] = {{COMPUTE, 30000}, {LOCK, 0}, {COMPUTE, 4000},
                                  {UNLOCK, 0},      {DONE, 0}, {END, 0}};
// Two threads that hand a ball over.
static const struct op pair[] = {
    {WAIT, 0}, {COMPUTE, 8000}, {DONE, 0}, {POST, 0}, {END, 0}};
// blackscholes: computes.
static const struct op computes[] = {{COMPUTE, 1000000}, {DONE, 0}, {END, 0}};
// streamcluster: barriers, fine-grained.
static const struct op barriers16[] = {
    {COMPUTE, 60000}, {BARRIER, 16}, {DONE, 0}, {END, 0}};
// sysbench threads: parallel work with locks that are sometimes taken.
static const struct op locks[] = {{COMPUTE, 12000}, {LOCK, 0}, {COMPUTE, 3000},
                                  {UNLOCK, 0},      {DONE, 0}, {END, 0}};

// The trap, sysbench threads in short: many threads that compute for a moment
// and sleep. It switches as often as a pair, but it uses both CPUs at once.
static const struct op trap[] = {
    {COMPUTE, 9000}, {SLEEP, 140000}, {DONE, 0}, {END, 0}};
// As long as the script of the pair, which it replaces.
static const struct op busy[] = {
    {COMPUTE, 1000000}, {DONE, 0}, {COMPUTE, 1000000}, {DONE, 0}, {END, 0}};

static void never_loses(struct outcome out) {
  CHECK(out.with > 0.98 * out.alone);
}

static void sixteen(void) {
  struct host host = {.vcpus = 16, .pcpus = 16};
  struct outcome out = run("dedup", host, dedup, 16, 12);
  CHECK(out.with > 1.5 * out.alone);
  out = run("pair", host, pair, 2, 12);
  CHECK(out.with > 2.5 * out.alone && out.kept == 1);
  out = run("barriers", host, barriers16, 16, 12);
  CHECK(out.with > 1.1 * out.alone && out.kept == 16);
  out = run("locks", host, locks, 32, 12);
  CHECK(out.with > 1.5 * out.alone);
  // No windows with fewer CPUs, nothing lost.
  out = run("computes", host, computes, 16, 12);
  CHECK(out.trials == 0 && !out.retains && out.reason == GL_BUSY);
  never_loses(out);
}

// Threads of others, as the kernel's, that run for a moment now and then are no
// load of this program, and its fold goes on.
static void disturbed(void) {
  struct host host = {.vcpus = 16, .pcpus = 16};
  for (disturbed_each_s = 0.7; disturbed_each_s < 3; disturbed_each_s += 0.8) {
    printf("others each %.1f s: ", disturbed_each_s);
    struct outcome out = run("pair", host, pair, 2, 12);
    CHECK(out.with > 2 * out.alone);
  }
  disturbed_each_s = 0;
}

static void two(void) {
  struct host host = {.vcpus = 2, .pcpus = 2};
  struct outcome out = run("pair", host, pair, 2, 12);
  CHECK(out.with > 2.5 * out.alone && out.kept == 1);
  out = run("locks", host, locks, 4, 12);
  CHECK(out.with > 1.5 * out.alone);
  settings.may_retain = false;
  out = run("trap, no retention", host, trap, 12, 12);
  CHECK(out.kept == 2);
  never_loses(out);
  settings.may_retain = true;
  out = run("trap", host, trap, 12, 12);
  CHECK(out.kept == 2);
  never_loses(out);
}

// The other trap: requests come at a steady rate.
static const struct op requests[] = {
    {COMPUTE, 20000}, {SLEEP, 1000000}, {DONE, 0}, {END, 0}};

static void servers(void) {
  struct host host = {.vcpus = 2, .pcpus = 2};
  // Where user time and switches grow and requests do not, nothing is kept.
  for (woken_sooner = 1; woken_sooner < 2; woken_sooner += 0.4) {
    printf("server, switches %.1f times: ", woken_sooner);
    struct outcome out = run("steady", host, requests, 4, 12);
    CHECK(!out.retains);
    never_loses(out);
    printf("server, switches %.1f times: ", woken_sooner);
    out = run("pair", host, pair, 2, 12);
    CHECK(out.with > 2.5 * out.alone);
  }
  settings.may_fold = false;
  woken_sooner = 1;
  struct outcome out = run("server: pair, no fold", host, pair, 2, 12);
  CHECK(out.retains && out.with > 1.5 * out.alone);
  settings.may_fold = true;
  woken_sooner = 0;
}

static void many(void) {
  for (int cpus = 64; cpus <= 1024; cpus *= 4) {
    struct host host = {.vcpus = cpus, .pcpus = cpus};
    struct outcome out = run("pair", host, pair, 2, 3);
    CHECK(out.with > 2.5 * out.alone && out.kept == 1);
    out = run("dedup", host, dedup, cpus < 256 ? cpus : 256, 3);
    never_loses(out);
    out = run("computes", host, computes, cpus, 2);
    CHECK(out.trials == 0);
    never_loses(out);
  }
}

// A host with half the CPUs, and others that compute there.
static void crowded(void) {
  struct host host = {.vcpus = 4, .pcpus = 2, .hogs = 2};
  struct outcome out = run("locks, crowded", host, locks, 8, 12);
  CHECK(out.with > 1.2 * out.alone);
  out = run("dedup, crowded", host, dedup, 8, 12);
  CHECK(out.with > 1.2 * out.alone);
  never_loses(run("computes, crowded", host, computes, 4, 12));
}

// The same, and the host's turns are long, so that in one window of 50 ms the
// guest has twice as much CPU time as in the next.
static void bursts(void) {
  for (int ms = 10; ms <= 60; ms += 10) {
    struct host host = {
        .vcpus = 4, .pcpus = 2, .hogs = 2, .slice = ms * INT64_C(1000000)};
    printf("turns of %d ms: ", ms);
    struct outcome out = run("locks, crowded", host, locks, 8, 30);
    CHECK(out.with > 1.2 * out.alone);
    printf("turns of %d ms: ", ms);
    out = run("computes, crowded", host, computes, 4, 30);
    // Some thirty turns in the second that counts: 5 % are chance.
    CHECK(out.with > 0.95 * out.alone && out.kept == 4);
  }
}

static void limited(void) {
  struct host host = {.vcpus = 8, .pcpus = 8, .limit = 2};
  struct outcome out = run("computes, limited", host, computes, 8, 12);
  // Its first period had twice the CPU time.
  CHECK(!out.retains && out.with > 0.95 * out.alone);
  never_loses(run("dedup, limited", host, dedup, 8, 12));
}

// From a pair on one CPU to so many busy threads: all CPUs are back in 20 ms.
static void jump(int cpus, int threads) {
  struct host host = {.vcpus = cpus, .pcpus = cpus};
  struct sim *sim = sim_new(host, pair, cpus);
  sim_post(sim, 0);
  struct gl_state state;
  struct outcome out = {0};
  gl_policy_start(&state, (unsigned)cpus);
  drive(sim, (unsigned)cpus, 3, &state, &out);
  CHECK(out.kept == 1);
  sim_script(sim, busy);
  for (int t = 0; t < threads; ++t)
    sim_post(sim, t);
  double runnable[GL_URGENT_SLOTS] = {0}, after = 0;
  struct gl_sample slot;
  do {
    sim_run(sim, GL_SLOT_S, state.kept, 0, &slot);
    after += GL_SLOT_S;
    memmove(runnable, runnable + 1, sizeof runnable - sizeof *runnable);
    runnable[GL_URGENT_SLOTS - 1] = slot.runnable;
  } while (!gl_policy_is_urgent(&state, runnable) && after < 1);
  printf("jump to %d of %d: after %.0f ms\n", threads, cpus, after * 1e3);
  CHECK(after < 0.02);
  CHECK(gl_policy_restore(&state, GL_RISING).cpus == (unsigned)cpus);
  // It is not taken for a false alarm.
  others = 0;
  out.trials = 0;
  drive(sim, (unsigned)cpus, 2, &state, &out);
  CHECK(out.trials == 0 && out.kept == (unsigned)cpus);
  sim_free(sim);
}

int main(void) {
  sixteen();
  disturbed();
  two();
  servers();
  many();
  crowded();
  bursts();
  limited();
  jump(2, 2);
  jump(16, 16);
  jump(256, 256);
  others = 13;
  jump(16, 12);
  return 0;
}
