/*===- gleaner/policy.c - When to retain CPUs, when to use fewer ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *             proposal                 better
 *   watching ----------> A B A B A B A -------> kept, tried again after a while
 *      ^                   |  worse                |
 *      +---- back-off -----+                       | load rises or changes
 *      +-------------------------------------------+
 *===----------------------------------------------------------------------===*/

#include "gleaner/policy.h"
#include "gleaner/propose.h"

/* Gains that are worth a change. Folding costs the program its CPUs when load
 * rises, so it must gain more; and where the program has not said what its
 * progress is, it may be something else than what was measured. */
#define GAIN_RETAIN 0.03
#define GAIN_FOLD 0.05
#define GAIN_UNSURE 0.05
/* User time may not fall by more than this while bytes rise. */
#define USER_LOSS 0.05
/* Nor the bytes that are read and written, in any trial. They are counted
 * exactly, so only the work itself makes them vary. */
#define MOVED_LOSS 0.01
/* Bytes tell of a program that makes so many calls for each switch. Redis makes
 * one for each request and one for its answer, with 16 clients 14 a switch, and
 * with one client about one. PostgreSQL talks by send(2), which is not counted,
 * and reads now and then. */
#define CALLS_PER_SWITCH 0.25

/* A program starts with other work than it goes on with. */
#define FIRST_WAIT_S 0.5
/* After a fold that was kept the load of fewer CPUs shows in four windows. */
#define NEXT_WAIT_S 0.2
/* A lost trial costs at most a window of 50 ms at a third of the speed (33 ms):
 * pauses of 2, 8, 32, 128, 300 s make that less than 1.7 % after the first.
 * Where windows are longer, pauses are, too. */
#define FIRST_PAUSE_S 2
#define PAUSE_GROWTH 4
/* If more threads wanted to run during a trial, that tells little of its
 * setting: on one CPU of two, threads queue now and then. Such a trial cost 12
 * ms and more of a window. */
#define PAUSE_GROWTH_BROKEN_OFF 2
#define MOST_PAUSE_S 300
/* What is kept is tried again after 4, 8, ... 64 s. The trial takes 0.4 s. */
#define FIRST_HOLD_S 4
#define MOST_HOLD_S 64

/* Of a window in the mean of user time: the first wait has ten of them. */
#define RATE_WEIGHT 0.2
/* In that of progress: bytes of a busy server vary by a quarter from window to
 * window, so the mean by 4 %. */
#define PROGRESS_WEIGHT 0.05
/* If progress is so much less than before the trial that CPUs were kept awake
 * for, that is tried again at once. The mean must have forgotten the time
 * before. */
#define LESS_THAN_BEFORE 0.95
#define FORGOTTEN_S 2

/* A fold must be proposed so many times in a row: a server with 16 clients uses
 * 1.8 CPUs, and in one window of twenty little more than one. After a trial
 * Linux may leave threads together that ran apart before, so it can cost more
 * than its windows. */
#define FITTING 3

/* A fold that was given back is resumed without a trial if the load is as it
 * was before the fold, in so many windows in a row: 1, 2, 4 ... after each such
 * alarm, as some are true and end soon. */
#define MOST_LIKE_BEFORE 64
/* A false alarm makes the next one so much rarer, in threads. */
#define LEARNT_THREADS 1

void gl_policy_start(struct gl_state *state, unsigned cpus) {
  *state = (struct gl_state){
      .cpus = cpus,
      .kept = cpus,
      .factors = {.rho = 0.9, .eta = 0.9},
      .wait_s = {0, FIRST_WAIT_S, FIRST_WAIT_S},
      .pause_s = {0, FIRST_PAUSE_S, FIRST_PAUSE_S},
      .hold_s = {0, FIRST_HOLD_S, FIRST_HOLD_S},
  };
}

static struct gl_decision decide(const struct gl_state *state,
                                 enum gl_reason reason) {
  struct gl_decision next = {
      .cpus = state->kept,
      .retain = state->retain,
      .timeout_s = state->timeout_s,
      .window_s = state->settling           ? GL_SETTLE_S
                  : state->act != GL_NO_ACT ? state->trial_s
                                            : GL_WINDOW_S,
      .reason = reason,
      .gain = gl_trial_gain(&state->trial),
  };
  if (state->act != GL_NO_ACT) {
    bool is_new = gl_trial_wants_new(&state->trial);
    if (state->act == GL_RETAIN)
      next.retain = is_new;
    else
      next.cpus = is_new ? state->proposed : state->base;
    if (state->act == GL_FOLD && is_new)
      next.retain = state->fold_retains;
  }
  return next;
}

static double most(double a, double b) { return a > b ? a : b; }
static double least(double a, double b) { return a < b ? a : b; }

/*===- Trials ----------------------------------------------------------===*/

/* Returns true if the bytes that the program reads and writes are its work. */
static bool moves_bytes(const struct gl_settings *settings,
                        const struct gl_state *state) {
  return !settings->has_metric && state->call_rate > 0 &&
         state->call_rate >= CALLS_PER_SWITCH * state->switch_rate;
}

static void begin(const struct gl_settings *settings, struct gl_state *state,
                  enum gl_act act) {
  state->act = act;
  state->trial = state->user = state->moved = (struct gl_trial){0};
  state->trial_s = GL_WINDOW_S;
  state->longest_s = 0;
  state->counts_bytes = moves_bytes(settings, state);
  if (act == GL_RETAIN && !state->retain)
    state->rate_before = state->rate;
  if (!settings->has_metric && !state->counts_bytes)
    state->trial_s =
        most(GL_WINDOW_S,
             least(GL_MOST_WINDOW_S, GL_TICKS * GL_TICK_S / state->user_rate));
  state->overloaded = false;
  if (act == GL_FOLD)
    state->crowd = 0;
  state->settling = true;
}

static void end(struct gl_state *state) {
  state->act = GL_NO_ACT;
  state->settling = true;
}

/* Pauses and holds are as many times longer as the trial's windows are. */
static double in_proportion(const struct gl_state *state, double seconds,
                            double limit) {
  return least(seconds * most(state->longest_s / GL_WINDOW_S, 1), limit);
}

static void lose(struct gl_state *state, enum gl_act act, double growth) {
  double *pause = &state->pause_s[act];
  state->wait_s[act] = in_proportion(state, *pause, MOST_PAUSE_S);
  *pause = least(*pause * growth, MOST_PAUSE_S);
  state->hold_s[act] = FIRST_HOLD_S;
  if (act == GL_RETAIN) {
    state->retain = false;
  } else {
    if (state->cause == GL_IDLENESS && state->proposed + 1 == state->base)
      gl_adjust(&state->factors, &state->before, state->overloaded);
    state->failed = state->proposed;
    state->kept = state->base;
    if (state->kept == state->cpus)
      state->retain = state->retained;
    state->has_reference = false;
  }
}

static void win(struct gl_state *state, enum gl_act act) {
  double *hold = &state->hold_s[act];
  state->wait_s[act] = NEXT_WAIT_S;
  state->verify_s[act] = in_proportion(state, *hold, MOST_HOLD_S);
  *hold = least(*hold * 2, MOST_HOLD_S);
  state->pause_s[act] = FIRST_PAUSE_S;
  state->retained_s = 0;
  state->rechecked = act != GL_RETAIN; /* a fold has its own reference */
  if (act == GL_RETAIN) {
    state->retain = true;
  } else {
    state->kept = state->proposed;
    state->retain = state->fold_retains;
    state->verify_s[GL_RETAIN] = state->verify_s[GL_FOLD];
    state->failed = 0;
    state->has_reference = false; /* that of the next window */
    state->alarms = 0;
  }
}

/* Returns user time per second. Half a tick more stands for what was not seen:
 * a window without a tick is no loss by itself. */
static double user_progress(const struct gl_sample *sample) {
  return (sample->user_s + GL_TICK_S / 2) / sample->seconds;
}

/* Returns bytes per second. One more, as none in any window is no loss. */
static double moved(const struct gl_sample *sample) {
  return sample->moved / sample->seconds + 1;
}

static double progress(const struct gl_settings *settings, bool counts_bytes,
                       enum gl_act act, const struct gl_sample *sample) {
  if (settings->has_metric)
    return sample->progress / sample->seconds;
  if (counts_bytes)
    return moved(sample);
  return act == GL_FOLD ? user_progress(sample)
                        : sample->switches / sample->seconds;
}

/* Returns true if nothing that was counted speaks against a trial that was won.
 */
static bool agrees(const struct gl_settings *settings,
                   const struct gl_state *state) {
  if (gl_trial_is_loss(&state->user, USER_LOSS) ||
      gl_trial_is_loss(&state->moved, MOVED_LOSS))
    return false;
  return settings->has_metric || state->counts_bytes || state->act == GL_FOLD ||
         gl_trial_gain(&state->user) > 0;
}

static struct gl_decision try_on(const struct gl_settings *settings,
                                 struct gl_state *state,
                                 const struct gl_sample *sample) {
  enum gl_act act = state->act;
  bool retains = act == GL_RETAIN;
  enum gl_reason running = retains ? GL_TRY_RETENTION : GL_TRY_FOLD;
  if (state->settling) {
    state->settling = false;
    return decide(state, running);
  }
  if (gl_stolen_share(sample) > GL_CROWDED_SHARE &&
      state->trial_s < GL_MOST_WINDOW_S) {
    begin(settings, state, act);
    state->trial_s = GL_MOST_WINDOW_S;
    return decide(state, running);
  }
  if (gl_trial_wants_new(&state->trial)) {
    state->overloaded = state->overloaded || sample->busiest > 0.99;
    state->crowd = state->crowd > 0 ? least(state->crowd, sample->runnable)
                                    : sample->runnable;
  }
  state->longest_s = most(state->longest_s, sample->seconds);
  if (retains && !gl_trial_wants_new(&state->trial))
    state->unretained = gl_load_of(sample);
  if (retains && !settings->has_metric)
    gl_trial_add(&state->user, user_progress(sample), 0);
  if (!settings->has_metric)
    gl_trial_add(&state->moved, moved(sample), 0);
  enum gl_verdict verdict = gl_trial_add(
      &state->trial, progress(settings, state->counts_bytes, act, sample),
      !retains               ? GAIN_FOLD
      : settings->has_metric ? GAIN_RETAIN
                             : GAIN_UNSURE);
  if (verdict == GL_MORE) {
    state->settling = true;
    return decide(state, running);
  }
  bool won = verdict == GL_BETTER && agrees(settings, state);
  end(state);
  if (won) {
    win(state, act);
    return decide(state, retains ? GL_KEEP_RETENTION : GL_KEEP_FOLD);
  }
  lose(state, act, PAUSE_GROWTH);
  return decide(state, retains ? GL_LOSE_RETENTION : GL_LOSE_FOLD);
}

/*===- Watching --------------------------------------------------------===*/

bool gl_policy_needs_idle(const struct gl_settings *settings,
                          const struct gl_state *state) {
  bool waits =
      (!settings->may_retain || state->wait_s[GL_RETAIN] > GL_WINDOW_S) &&
      (!settings->may_fold || state->wait_s[GL_FOLD] > GL_WINDOW_S);
  return !waits || state->resumes || state->act != GL_NO_ACT || state->retain ||
         state->kept < state->cpus;
}

/* Ends the kept fold, which may resume. */
static void alarm_ends(struct gl_state *state) {
  state->resumes = state->kept;
  state->like_before = 0;
  state->alarms++;
  state->wait_s[GL_FOLD] = in_proportion(state, FIRST_PAUSE_S, MOST_PAUSE_S);
}

/* Returns true if the fold that an alarm ended is kept again. */
static bool resume(const struct gl_settings *settings, struct gl_state *state,
                   const struct gl_sample *sample, const struct gl_load *load) {
  /* All threads are on one CPU: the load cannot be compared. */
  if (sample->active == 1)
    return false;
  enum gl_cause cause;
  enum gl_reason against;
  if (state->verify_s[GL_FOLD] <= 0 || gl_changed(&state->before, load) ||
      gl_propose_fold(settings, state, sample, load, &cause, &against) >
          state->resumes) {
    state->resumes = 0;
    return false;
  }
  unsigned wanted =
      state->alarms < 7 ? 1u << (state->alarms - 1) : MOST_LIKE_BEFORE;
  if (++state->like_before < wanted)
    return false;
  state->kept = state->resumes;
  state->resumes = 0;
  state->retain = state->fold_retains;
  state->crowd = most(state->crowd, state->kept) + LEARNT_THREADS;
  state->wait_s[GL_FOLD] = NEXT_WAIT_S;
  state->has_reference = false;
  state->settling = true;
  return true;
}

static void smooth(double *mean, double rate, double weight) {
  *mean += (rate - *mean) * weight;
}

static void follow(const struct gl_settings *settings, struct gl_state *state,
                   const struct gl_sample *sample) {
  double s = sample->seconds;
  smooth(&state->user_rate, sample->user_s / s, RATE_WEIGHT);
  smooth(&state->switch_rate, sample->switches / s, RATE_WEIGHT);
  smooth(&state->call_rate, sample->calls / s, RATE_WEIGHT);
  /* The same as before the trial, as both are compared. */
  bool counts_bytes =
      state->retain ? state->rate_of_bytes : moves_bytes(settings, state);
  if (counts_bytes != state->rate_of_bytes)
    state->rate_s = 0;
  state->rate_of_bytes = counts_bytes;
  state->rate_s += s;
  smooth(&state->rate, progress(settings, counts_bytes, GL_RETAIN, sample),
         most(s / state->rate_s, PROGRESS_WEIGHT));
  if (!state->retain || state->rechecked)
    return;
  state->retained_s += s;
  if (state->retained_s < FORGOTTEN_S ||
      state->rate >= LESS_THAN_BEFORE * state->rate_before)
    return;
  state->rechecked = true;
  state->verify_s[GL_RETAIN] = 0;
}

static struct gl_decision watch(const struct gl_settings *settings,
                                struct gl_state *state,
                                const struct gl_sample *sample) {
  struct gl_load load = gl_load_of(sample);
  bool waits = false;
  follow(settings, state, sample);

  if (sample->uncounted)
    return decide(state, GL_WAITING);
  if (state->kept < state->cpus && state->cause == GL_IDLENESS) {
    if (!state->has_reference) {
      state->reference = load;
      state->has_reference = true;
    }
    if (gl_changed(&state->reference, &load))
      return gl_policy_restore(state, GL_CHANGE);
  }

  if (state->resumes && resume(settings, state, sample, &load))
    return decide(state, GL_RESUME);

  enum gl_reason reason = gl_propose_retention(settings, sample, &load);
  if (state->retain && (reason == GL_BUSY || reason == GL_LIMITED)) {
    state->retain = false;
    state->wait_s[GL_RETAIN] = FIRST_PAUSE_S;
    return decide(state, reason == GL_BUSY ? GL_IDLE_GONE : reason);
  }
  /* What is retained is tried again even if idle periods are longer than
   * before: only a trial tells. */
  if (settings->may_retain && (state->retain || reason == GL_STEADY)) {
    if ((state->retain ? state->verify_s : state->wait_s)[GL_RETAIN] <= 0) {
      state->timeout_s = gl_longest_wait(settings, sample);
      begin(settings, state, GL_RETAIN);
      return decide(state, GL_TRY_RETENTION);
    }
    waits = !state->retain;
  }

  if (settings->may_fold) {
    if (state->kept < state->cpus && state->verify_s[GL_FOLD] <= 0) {
      state->base = state->cpus;
      state->proposed = state->kept;
      begin(settings, state, GL_FOLD);
      return decide(state, GL_TRY_FOLD);
    }
    enum gl_cause cause;
    enum gl_reason against;
    unsigned fewer =
        gl_propose_fold(settings, state, sample, &load, &cause, &against);
    state->fitting = fewer < state->kept ? state->fitting + 1 : 0;
    if (fewer < state->kept) {
      if (state->wait_s[GL_FOLD] <= 0 && state->fitting >= FITTING) {
        state->base = state->kept;
        state->proposed = fewer;
        state->cause = cause;
        state->before = load;
        /* On fewer CPUs idle periods are shorter: the paper's hybrid. */
        if (state->kept == state->cpus)
          state->retained = state->retain;
        state->fold_retains = settings->may_retain && reason != GL_LIMITED &&
                              gl_stolen_share(sample) <= GL_STEAL_SHARE;
        state->timeout_s = gl_longest_wait(settings, sample);
        begin(settings, state, GL_FOLD);
        return decide(state, GL_TRY_FOLD);
      }
      waits = waits || state->kept == state->cpus;
    } else if (reason == GL_STEADY || against == GL_PINNED ||
               against == GL_LONG_WORK) {
      reason = against;
    }
  }
  if (waits)
    reason = GL_WAITING;
  if (state->retain || state->kept < state->cpus)
    reason = GL_STEADY;
  return decide(state, reason);
}

struct gl_decision gl_policy_step(const struct gl_settings *settings,
                                  struct gl_state *state,
                                  const struct gl_sample *sample) {
  if (sample->cpus != state->cpus) {
    state->cpus = sample->cpus;
    return gl_policy_restore(state, GL_HOTPLUG);
  }
  if (sample->pinned && (state->kept < state->cpus || state->act == GL_FOLD))
    return gl_policy_restore(state, GL_PINNED);
  for (enum gl_act act = GL_RETAIN; act <= GL_FOLD; ++act) {
    state->wait_s[act] = most(state->wait_s[act] - sample->seconds, 0);
    state->verify_s[act] = most(state->verify_s[act] - sample->seconds, 0);
  }
  if (state->act != GL_NO_ACT)
    return try_on(settings, state, sample);
  if (state->settling) {
    state->settling = false;
    return decide(state, GL_STEADY);
  }
  return watch(settings, state, sample);
}

bool gl_policy_may_be_urgent(const struct gl_state *state) {
  /* Threads on a crowded host or below a CPU limit wait on any number of CPUs.
   */
  return decide(state, GL_STEADY).cpus < state->cpus &&
         state->cause == GL_IDLENESS;
}

bool gl_policy_is_urgent(const struct gl_state *state,
                         const double runnable[GL_URGENT_SLOTS]) {
  unsigned kept = decide(state, GL_STEADY).cpus;
  if (!gl_policy_may_be_urgent(state))
    return false;
  /* Threads of others count, too. Those that were there in one window of the
   * trial may be gone: the least counts. */
  double usual = most(kept, state->crowd);
  /* A trial does not know yet how many are usual: threads that queue for a lock
   * may make more progress on one CPU than on all. It is broken off only if all
   * CPUs could be busy; of two, two busy threads look like such a queue, and
   * the window ends in 60 ms. */
  if (state->act == GL_FOLD)
    usual = state->cpus > 2 ? state->cpus - 1 : 2;
  return gl_policy_mean(runnable) > usual + 0.75;
}

struct gl_decision gl_policy_restore(struct gl_state *state,
                                     enum gl_reason reason) {
  bool folds = state->act == GL_FOLD || state->kept < state->cpus;
  bool holds = folds && state->act != GL_FOLD;
  /* A trial of retention would compare windows on different CPUs. */
  state->act = GL_NO_ACT;
  state->base = state->cpus;
  state->resumes = 0;
  if (holds && (reason == GL_RISING || reason == GL_CHANGE)) {
    alarm_ends(state);
  } else if (folds && reason == GL_RISING) {
    state->overloaded = true;
    lose(state, GL_FOLD,
         gl_trial_gain(&state->trial) > GAIN_FOLD ? 1
                                                  : PAUSE_GROWTH_BROKEN_OFF);
  } else {
    state->failed = 0;
    state->wait_s[GL_FOLD] = most(state->wait_s[GL_FOLD], FIRST_WAIT_S);
  }
  if (folds)
    state->retain = state->retained;
  state->kept = state->cpus;
  state->has_reference = false;
  state->settling = true;
  return decide(state, reason);
}
