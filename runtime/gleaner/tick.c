/*===- gleaner/tick.c - Short time slices for programs that spin ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   gleaner tick -- COMMAND      gleaner tick -p PID
 *
 * A thread that spins keeps its CPU until its time slice ends, some
 * milliseconds. The ticker is a thread on each CPU that wakes every 0.1 ms: at
 * each wake-up the kernel chooses anew who runs, so that a thread that waits
 * for a CPU waits for little more. Where the kernel has slices for each thread
 * (Linux 6.12), those of the program are set to as much.
 *
 * That takes time from programs that compute. So there are ticks only while the
 * program's threads wait for CPUs, and vf-spins sees that they spin:
 *
 *   OFF ---- threads waited for CPUs for a quarter of the time, and
 *    ^       a fifth of the samples wait --------------------> ON
 *    |                                                          | each 4 s
 *    +---- fewer of either: look again after 1 s, then 2 ... 32 s
 *
 * Each tick itself lets a thread wait, so for the look there are none.
 *
 * Nothing of the program changes but its slices, which get their old length
 * when the ticks end.
 *===----------------------------------------------------------------------===*/

#include "gleaner/options.h"
#include "gleaner/system.h"
#include "platform/linux/kernel.h"
#include <fcntl.h>
#include <getopt.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PERIOD_NS 100000u
#define TURN_NS 100000000u /* between two looks whether the program ended */
#define LOOK_NS UINT64_C(1000000000)
#define LOOK_MAX_NS UINT64_C(32000000000)
#define STAY_NS UINT64_C(4000000000)
/* The sampler lets threads wait for some 10 % of the time. */
#define DELAYED_PART 4
#define WAITS_PART 5
#define SAMPLES_MIN 10
#define SAMPLE_MS 100
#define TEXT_OF(number) #number
#define TEXT_OF_VALUE(name) TEXT_OF(name)
#define PROCESSES_MAX 16

static uint32_t is_on;
static uint64_t period = PERIOD_NS;
static volatile sig_atomic_t stopped_by;

struct ticker {
  pid_t process;
  bool is_child, explains, is_always;
  uint64_t delays, delays_at; /* of all threads, at the last look */
  uint64_t look_at, look_ns;
  char sampler[512];
};

/* As the kernel takes it; glibc has no name for the system calls. */
struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/* Sets the slice of an ordinary thread; 0 is the kernel's own. */
static void set_slice(pid_t thread, uint64_t ns) {
  struct attributes attributes = {.size = sizeof attributes};
  if (syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) !=
          0 ||
      (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH))
    return;
  attributes.runtime = ns;
  attributes.size = sizeof attributes;
  syscall(SYS_sched_setattr, thread, &attributes, 0);
}

static void *tick(void *data) {
  struct gl_cpus one = {0};
  gl_add_cpu(&one, (unsigned)(uintptr_t)data);
  gl_set_affinity(0, &one);
  prctl(PR_SET_TIMERSLACK, 1);
  set_slice(0, PERIOD_NS);
  for (;;) {
    while (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
      vf_futex_wait(&is_on, 0, LOOK_MAX_NS);
    vf_sleep_ns(period);
  }
  return NULL;
}

static int start_ticks(void) {
  struct gl_cpus allowed;
  int error = gl_get_affinity(0, &allowed);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (unsigned cpu = 0; !error && cpu != GL_MOST_CPUS; ++cpu) {
    pthread_t thread;
    if (gl_has_cpu(&allowed, cpu))
      error =
          pthread_create(&thread, &attributes, tick, (void *)(uintptr_t)cpu);
  }
  pthread_attr_destroy(&attributes);
  return error;
}

static void find_processes(const struct ticker *ticker, struct gl_ids *ids) {
  gl_add_id(ids, ticker->process);
  gl_descendants(ticker->process, getpid(), ids);
}

static uint64_t delay_of(pid_t thread) {
  char path[48], text[96], *end;
  gl_print(path, sizeof path, "/proc/%d/schedstat", thread);
  if (gl_read_file(path, text, sizeof text) <= 0)
    return 0;
  strtoull(text, &end, 10);
  return strtoull(end, NULL, 10);
}

/* Returns true if the threads waited for CPUs since the last call. */
static bool is_crowded(struct ticker *ticker, const struct gl_ids *processes) {
  struct gl_ids threads = {0};
  uint64_t now = vf_now_ns(), delays = 0;
  gl_threads(processes, &threads);
  for (size_t i = 0; i != threads.n; ++i)
    delays += delay_of(threads.id[i]);
  free(threads.id);
  uint64_t grown = delays > ticker->delays ? delays - ticker->delays : 0;
  bool is_first = ticker->delays_at == 0;
  uint64_t elapsed = now - ticker->delays_at;
  ticker->delays = delays;
  ticker->delays_at = now;
  return !is_first && grown * DELAYED_PART > elapsed;
}

static unsigned long number_after(const char *text, const char *name) {
  const char *at = strstr(text, name);
  return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Asks vf-spins. Returns its exit status, and the samples and those that wait.
 */
static int sample(const struct ticker *ticker, const struct gl_ids *processes,
                  unsigned long *samples, unsigned long *waits) {
  char ids[PROCESSES_MAX][16], text[4096];
  char *arguments[PROCESSES_MAX + 4] = {(char *)ticker->sampler, (char *)"--ms",
                                        (char *)TEXT_OF_VALUE(SAMPLE_MS)};
  size_t n = processes->n < PROCESSES_MAX ? processes->n : PROCESSES_MAX;
  for (size_t i = 0; i != n; ++i) {
    gl_print(ids[i], sizeof *ids, "%d", processes->id[i]);
    arguments[3 + i] = ids[i];
  }
  int ends[2], status;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return GL_FAILED;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    execv(ticker->sampler, arguments);
    _exit(GL_NOT_FOUND);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while (length < sizeof text - 1 &&
         (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
    length += (size_t)got;
  text[length] = '\0';
  close(ends[0]);
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return GL_FAILED;
  *samples = number_after(text, "\"samples\": ");
  *waits = number_after(text, "\"waits\": ");
  return WEXITSTATUS(status);
}

static void set_slices(const struct gl_ids *processes, uint64_t ns) {
  struct gl_ids threads = {0};
  gl_threads(processes, &threads);
  for (size_t i = 0; i != threads.n; ++i)
    set_slice(threads.id[i], ns);
  free(threads.id);
}

static void set_on(bool on) {
  __atomic_store_n(&is_on, on, __ATOMIC_RELEASE);
  vf_futex_wake_all(&is_on);
}

static void set_ticks(const struct gl_ids *processes, bool on) {
  set_slices(processes, on ? period : 0);
  set_on(on);
}

/* Decides whether there are ticks. Returns false, after a line that says why,
 * if the threads may not be looked at. */
static bool decide(struct ticker *ticker) {
  struct gl_ids processes = {0};
  unsigned long samples = 0, waits = 0;
  find_processes(ticker, &processes);
  bool is_first = ticker->delays_at == 0;
  bool was_on = is_on, on = is_crowded(ticker, &processes) || was_on;
  bool may = true, is_short = false;
  if (on) {
    set_on(false);
    is_crowded(ticker, &processes);
    int status = 0;
    if (ticker->is_always)
      vf_sleep_ns(SAMPLE_MS * UINT64_C(1000000));
    else
      status = sample(ticker, &processes, &samples, &waits);
    is_short = is_crowded(ticker, &processes);
    may = status == 0 || gl_thread_state(ticker->process) == 0;
    on = is_short && status == 0 &&
         (ticker->is_always ||
          (samples >= SAMPLES_MIN && waits * WAITS_PART >= samples));
  }
  if (on || was_on)
    set_ticks(&processes, on);
  if (ticker->explains && on != was_on)
    fprintf(stderr,
            on ? "gleaner: %lu of %lu samples wait for others: ticks every "
                 "%lu us\n"
               : "gleaner: %lu of %lu samples wait for others: no ticks\n",
            waits, samples, (unsigned long)(period / 1000));
  if (ticker->explains && !on && !was_on && !is_first)
    fprintf(stderr,
            is_short ? "gleaner: no ticks: %lu of %lu samples wait\n"
                     : "gleaner: no ticks: CPUs are not short\n",
            waits, samples);
  free(processes.id);
  if (on)
    ticker->look_ns = STAY_NS;
  else if (was_on)
    ticker->look_ns = LOOK_NS;
  else if (samples && ticker->look_ns < LOOK_MAX_NS)
    ticker->look_ns *= 2;
  ticker->look_at = vf_now_ns() + ticker->look_ns;
  return may;
}

static void on_signal(int number) { stopped_by = number; }

static int watch(struct ticker *ticker) {
  int status = 0;
  ticker->look_ns = LOOK_NS / 4;
  for (;;) {
    if (ticker->is_child) {
      if (waitpid(ticker->process, &status, WNOHANG) != 0)
        break;
      if (stopped_by) {
        kill(ticker->process, stopped_by);
        stopped_by = 0;
      }
    } else if (gl_start_time(ticker->process) == 0 || stopped_by)
      break;
    if (vf_now_ns() >= ticker->look_at && !decide(ticker))
      ticker->look_at = UINT64_MAX; /* the line is said once */
    vf_sleep_ns(TURN_NS);
  }
  if (!ticker->is_child) {
    struct gl_ids processes = {0};
    find_processes(ticker, &processes);
    set_ticks(&processes, false);
    free(processes.id);
  }
  return status;
}

static bool find_sampler(struct ticker *ticker) {
  ssize_t n = readlink("/proc/self/exe", ticker->sampler,
                       sizeof ticker->sampler - sizeof "vf-spins");
  char *slash = n > 0 ? memrchr(ticker->sampler, '/', (size_t)n) : NULL;
  if (slash)
    strcpy(slash + 1, "vf-spins");
  return slash && access(ticker->sampler, X_OK) == 0;
}

static const char usage[] =
    "usage: gleaner tick [OPTIONS] -- COMMAND...\n"
    "       gleaner tick [OPTIONS] -p PID\n"
    "\n"
    "Gives threads short time slices while they spin and wait for CPUs. Exits "
    "as the\n"
    "command does, or when the process has ended.\n"
    "\n"
    "  --explain    print each decision and its reason to stderr\n"
    "  --always     do not ask whether threads spin, only whether CPUs are "
    "short\n"
    "  --period US  time between two ticks in microseconds (100)\n";

static int run(struct ticker *ticker, char **command) {
  if (command) {
    ticker->process = fork();
    if (ticker->process == 0) {
      execvp(*command, command);
      int error = errno;
      fprintf(stderr, "gleaner: %s: %s\n", *command, strerror(error));
      _exit(error == ENOENT ? GL_NOT_FOUND : GL_NOT_EXECUTABLE);
    }
  }
  static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,
                                  SIGTERM, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i != sizeof forwarded / sizeof *forwarded; ++i)
    signal(forwarded[i], on_signal);
  int error = ticker->process < 0 ? errno : start_ticks();
  if (error) {
    fprintf(stderr, "gleaner: cannot start: %s\n", strerror(error));
    if (ticker->process > 0 && ticker->is_child)
      kill(ticker->process, SIGKILL);
    return GL_FAILED;
  }
  int status = watch(ticker);
  return ticker->is_child ? gl_end_as(status) : 0;
}

int gl_tick(int argc, char **argv) {
  static const struct option names[] = {
      {"explain", no_argument, NULL, 'e'},
      {"always", no_argument, NULL, 'a'},
      {"period", required_argument, NULL, 'u'},
      {"pid", required_argument, NULL, 'p'},
      {"help", no_argument, NULL, 'h'},
      {0}};
  struct ticker ticker = {.is_child = true};
  char *end;
  for (int option;
       (option = getopt_long(argc, argv, "+hp:", names, NULL)) != -1;)
    switch (option) {
    case 'e':
      ticker.explains = true;
      break;
    case 'a':
      ticker.is_always = true;
      break;
    case 'u':
      period = strtoul(optarg, &end, 10) * 1000;
      if (*end || period < 20000 || period > 10000000) {
        fprintf(stderr, "gleaner: --period %s: not 20 to 10000\n", optarg);
        return GL_USAGE;
      }
      break;
    case 'p':
      ticker.process = (pid_t)strtol(optarg, &end, 10);
      ticker.is_child = false;
      if (*end || ticker.process <= 0 || gl_start_time(ticker.process) == 0) {
        fprintf(stderr, "gleaner: -p %s: there is no such process\n", optarg);
        return GL_USAGE;
      }
      break;
    case 'h':
      fputs(usage, stdout);
      return 0;
    default:
      fputs(usage, stderr);
      return GL_USAGE;
    }
  if ((optind == argc) == ticker.is_child) {
    fputs("gleaner: tick needs a command or -p PID\n", stderr);
    return GL_USAGE;
  }
  if (!ticker.is_always && !find_sampler(&ticker)) {
    fputs("gleaner: there is no vf-spins beside gleaner, which says whether "
          "threads spin; --always does without\n",
          stderr);
    return GL_FAILED;
  }
  return run(&ticker, ticker.is_child ? argv + optind : NULL);
}
