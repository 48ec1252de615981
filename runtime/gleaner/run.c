/*===- gleaner/run.c - The supervisor of a run ----------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   supervisor (waits; owns the cgroup; parent of both)
 *     +-- command (in the cgroup)
 *     +-- daemon (measures, decides, confines, retains)
 *
 * Whichever of supervisor and daemon is killed, the other gives the workload
 * its CPUs back: the daemon gets SIGTERM if the supervisor dies, and the
 * supervisor waits for the daemon and looks at its beat while the workload is
 * confined, as a daemon that is stopped does not die. `gleaner repair` is for
 * the case that both are killed.
 *===----------------------------------------------------------------------===*/

#include "gleaner/beat.h"
#include "gleaner/daemon.h"
#include "gleaner/halt_poll.h"
#include "gleaner/place.h"
#include "platform/linux/kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long the daemon may take to end: it only has to release the workload. */
#define END_TRIES 100
#define END_PAUSE_NS 10000000

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
enum { N_FORWARDED = sizeof forwarded / sizeof *forwarded };

static void start_command(const struct gl_options *options,
                          const struct gl_record *record, int go,
                          const sigset_t *mask) {
  char byte;
  while (read(go, &byte, 1) < 0 && errno == EINTR)
    ;
  close(go);
  char session[48];
  gl_print(session, sizeof session, GL_SESSION_FORMAT, record->supervisor,
           (unsigned long long)record->start_time);
  setenv(GL_SESSION, session, 1);
  sigprocmask(SIG_SETMASK, mask, NULL);
  execvp(options->command[0], options->command);
  int error = errno;
  fprintf(stderr, "gleaner: %s: %s\n", options->command[0], strerror(error));
  _exit(error == ENOENT ? GL_NOT_FOUND : GL_NOT_EXECUTABLE);
}

/* Returns true if the daemon's main thread has ended. The process may stay for
 * seconds: its other threads, of the lowest priority, need a CPU to end. */
static bool has_ended(pid_t daemon) {
  char state = gl_thread_state(daemon);
  return state == 'Z' || state == 'X';
}

/* Waits until the daemon can change nothing any more. Returns false if that was
 * not so in `tries` looks. */
static bool await_end(pid_t daemon, int tries) {
  for (int i = 0; i < tries; ++i) {
    if (waitpid(daemon, NULL, WNOHANG) != 0 || has_ended(daemon))
      return true;
    nanosleep(&(struct timespec){.tv_nsec = END_PAUSE_NS}, NULL);
  }
  return false;
}

static void kill_daemon(pid_t daemon) {
  kill(daemon, SIGKILL);
  await_end(daemon, INT_MAX); /* it may be confining the workload just now */
}

static void end_daemon(struct gl_record *record) {
  if (record->daemon <= 0)
    return;
  kill(record->daemon, SIGTERM);
  kill(record->daemon, SIGCONT); /* a stopped process gets no other signal */
  if (!await_end(record->daemon, END_TRIES))
    kill_daemon(record->daemon);
}

static void lost_daemon(struct gl_record *record, const char *how) {
  record->daemon = 0;
  gl_place_release(record);
  fprintf(
      stderr,
      "gleaner: the daemon %s; %s has all its CPUs and goes on without it\n",
      how, record->name);
}

/* Waits for the command; returns its wait status. */
static int supervise(struct gl_record *record) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  for (int i = 0; i < N_FORWARDED; ++i)
    sigaddset(&awaited, forwarded[i]);
  struct gl_watch watch = {0};
  uint64_t looked_at_ns = vf_now_ns();
  for (;;) {
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended == record->command)
        return status;
      if (ended == record->daemon)
        lost_daemon(record, "ended");
      /* others: orphans of the workload */
    }
    siginfo_t info;
    struct timespec patience = {.tv_nsec = GL_LOOK_NS};
    int signal = sigtimedwait(&awaited, &info, &patience);
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0)
      kill(record->command, signal); /* of the terminal, it has its own */
    /* Signals do not shorten the daemon's time. */
    if (vf_now_ns() - looked_at_ns < GL_LOOK_NS)
      continue;
    looked_at_ns = vf_now_ns();
    uint32_t beat = __atomic_load_n(&record->beat, __ATOMIC_RELAXED);
    bool folded = __atomic_load_n(&record->folded, __ATOMIC_ACQUIRE);
    if (record->daemon <= 0)
      continue;
    bool ended_now = has_ended(record->daemon);
    if (ended_now || gl_watch_is_lost(&watch, folded, beat)) {
      kill_daemon(record->daemon);
      lost_daemon(record, ended_now ? "ended" : "did not answer");
    }
  }
}

int gl_end_as(int status) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  int number = WTERMSIG(status);
  struct rlimit none = {0}; /* the command has dumped core if it could */
  setrlimit(RLIMIT_CORE, &none);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  signal(number, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
  raise(number);
  return 128 + number;
}

int gl_run(const struct gl_options *options) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  for (int i = 0; i < N_FORWARDED; ++i)
    sigaddset(&blocked, forwarded[i]);
  sigprocmask(SIG_BLOCK, &blocked, &before);

  char path[512];
  int go[2];
  struct gl_record *record = gl_record_create(path, sizeof path);
  if (!record || pipe2(go, O_CLOEXEC) != 0 ||
      gl_get_affinity(0, &record->allowed) != 0) {
    fprintf(stderr, "gleaner: cannot start: %s\n", strerror(errno));
    return GL_FAILED;
  }
  gl_print(record->name, sizeof record->name, "%s", options->command[0]);
  if (options->halt_poll_ns && !options->dry_run) {
    const char *wrong = gl_halt_poll_start(record, options->halt_poll_ns);
    if (wrong)
      fprintf(stderr, "gleaner: --halt-poll: %s\n", wrong);
  }
  gl_place_open(record, options->means);
  /* Orphans of the workload stay below this process, where they are found. */
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  /* Results of fork go to variables first: the record is shared with the child,
   * whose result is 0. */
  pid_t command = fork();
  if (command == 0) {
    close(go[1]);
    start_command(options, record, go[0], &before);
  }
  close(go[0]);
  record->command = command;
  if (command > 0 && gl_place_join(record, command) != 0) {
    gl_place_close(record);
    record->means = GL_AFFINITY;
  }
  pid_t daemon = command > 0 ? fork() : -1;
  if (daemon == 0)
    gl_daemon(options, record, go[1]);
  record->daemon = daemon;
  close(go[1]);

  int status = 0;
  bool started = command > 0;
  if (started)
    status = supervise(record);
  else
    fprintf(stderr, "gleaner: cannot fork: %s\n", strerror(errno));
  end_daemon(record);
  gl_place_close(record);
  gl_halt_poll_end(record);
  if (path[0])
    unlink(path);
  return started ? gl_end_as(status) : GL_FAILED;
}
