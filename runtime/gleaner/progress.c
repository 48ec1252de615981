/*===- gleaner/progress.c - The workload's own measure of progress --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/progress.h"
#include "gleaner/function_offset.h"
#include "gleaner/system.h"
#include "platform/linux/kernel.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A trial does not wait longer for one number. */
#define TIMEOUT_NS 1000000000
/* A shell takes about 2 ms, an answer over HTTP 0.3 ms: 1 % of such windows. */
#define COMMAND_WINDOW_S 0.25
#define URL_WINDOW_S 0.05

/* Reads until the other side closes. Returns false after the timeout. */
static bool read_all(int file, char *text, size_t size) {
  uint64_t end = vf_now_ns() + TIMEOUT_NS;
  size_t length = 0;
  text[0] = '\0';
  for (;;) {
    uint64_t now = vf_now_ns();
    struct pollfd wait = {.fd = file, .events = POLLIN};
    if (now >= end || poll(&wait, 1, (int)((end - now) / 1000000) + 1) <= 0)
      return false;
    char rest[4096]; /* what does not fit is read and dropped */
    bool fits = length < size - 1;
    ssize_t n = fits ? read(file, text + length, size - 1 - length)
                     : read(file, rest, sizeof rest);
    if (n <= 0)
      return n == 0;
    if (fits)
      text[length += (size_t)n] = '\0';
  }
}

static double number(const char *text) {
  char *end;
  double value = strtod(text, &end);
  return end != text && value >= 0 ? value : -1;
}

/* Returns the status of the child, or -1. One that has closed its output, and
 * goes on, is killed after the timeout. */
static int status_of(pid_t child) {
  uint64_t end = vf_now_ns() + TIMEOUT_NS;
  int status;
  pid_t ended;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 ||
         (ended < 0 && errno == EINTR)) {
    if (vf_now_ns() >= end)
      kill(-child, SIGKILL);
    usleep(1000);
  }
  return ended == child ? status : -1;
}

static double of_command(const char *command) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0)
    return -1;
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    setpriority(PRIO_PROCESS, 0, 0); /* the daemon's is higher */
    signal(SIGPIPE, SIG_DFL);        /* which the daemon ignores */
    dup2(output[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  close(output[1]);
  char text[256];
  bool read = child > 0 && read_all(output[0], text, sizeof text);
  close(output[0]);
  if (child <= 0)
    return -1;
  if (!read)
    kill(-child, SIGKILL);
  int status = status_of(child);
  return read && status == 0 ? number(text) : -1;
}

/* Adds the values of the lines "NAME 1" and "NAME{...} 1"; -1 if there is none.
 */
static double sum_of(char *text, const char *name) {
  double sum = -1;
  size_t n = strlen(name);
  for (char *line = text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    if (strncmp(line, name, n) != 0 || (line[n] != ' ' && line[n] != '{'))
      continue;
    char *value = line[n] == '{' ? strrchr(line, '}') : line + n - 1;
    double more = value ? number(value + 1) : -1;
    if (more >= 0)
      sum = (sum < 0 ? 0 : sum) + more;
  }
  return sum;
}

/* "http://127.0.0.1:9121/metrics#name": fills the parts. */
static bool split(const char *url, uint16_t *port, char *path, char *name,
                  size_t size) {
  static const char *const hosts[] = {"http://127.0.0.1", "http://localhost"};
  const char *rest = NULL;
  for (int i = 0; i < 2; ++i)
    if (strncmp(url, hosts[i], strlen(hosts[i])) == 0)
      rest = url + strlen(hosts[i]);
  if (!rest)
    return false;
  *port = 80;
  if (*rest == ':')
    *port = (uint16_t)strtoul(rest + 1, (char **)&rest, 10);
  const char *mark = strchr(rest, '#');
  return *rest == '/' && mark && mark[1] != '\0' &&
         gl_print(path, size, "%.*s", (int)(mark - rest), rest) &&
         gl_print(name, size, "%s", mark + 1);
}

static double of_url(const char *url) {
  static char text[1 << 20];
  char path[512], name[512], request[600];
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  uint16_t port;
  split(url, &port, path, name, sizeof path);
  to.sin_port = htons(port);
  int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  double value = -1;
  /* connect waits no longer either: where nobody takes connections, it would
   * for two minutes. */
  struct timeval most = {.tv_sec = TIMEOUT_NS / 1000000000};
  if (file >= 0)
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  gl_print(request, sizeof request,
           "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", path);
  if (file >= 0 && connect(file, (struct sockaddr *)&to, sizeof to) == 0 &&
      send(file, request, strlen(request), MSG_NOSIGNAL) > 0 &&
      read_all(file, text, sizeof text))
    value = sum_of(text, name);
  if (file >= 0)
    close(file);
  return value;
}

/* Counts calls by a breakpoint of the kernel's (uprobe): about 1 µs per call in
 * a guest. On each CPU, for every process that runs the program: an event of
 * one process would have to be inherited by its threads, and the kernel then
 * reads the path anew in the memory of the thread that makes them, so that
 * clone fails with EFAULT. */
static const char *count_calls(struct gl_progress *progress, const char *what,
                               const struct gl_cpus *cpus) {
  char path[512], type[32];
  const char *colon = strrchr(what, ':');
  if (!colon || !gl_print(path, sizeof path, "%.*s", (int)(colon - what), what))
    return "it must be PROGRAM:FUNCTION";
  uint64_t offset = gl_function_offset(path, colon + 1);
  if (offset == 0)
    return "the program has no such function in its symbol tables";
  if (gl_read_file("/sys/bus/event_source/devices/uprobe/type", type,
                   sizeof type) <= 0)
    return "the kernel has no uprobes";
  struct perf_event_attr event = {
      .size = sizeof event,
      .type = (uint32_t)atoi(type),
      .config1 = (uint64_t)(uintptr_t)path,
      .config2 = offset,
  };
  for (unsigned cpu = 0; cpu < GL_MOST_CPUS; ++cpu) {
    if (!gl_has_cpu(cpus, cpu))
      continue;
    int counter = (int)syscall(SYS_perf_event_open, &event, -1, (int)cpu, -1,
                               PERF_FLAG_FD_CLOEXEC);
    if (counter < 0)
      return strerror(errno);
    gl_add_id(&progress->counters, counter);
  }
  return NULL;
}

static double read_calls(const struct gl_progress *progress) {
  double calls = 0;
  for (size_t i = 0; i < progress->counters.n; ++i) {
    uint64_t count;
    if (read(progress->counters.id[i], &count, sizeof count) != sizeof count)
      return -1;
    calls += (double)count;
  }
  return calls;
}

const char *gl_progress_open(struct gl_progress *progress,
                             enum gl_metric metric, const char *what,
                             const struct gl_cpus *cpus) {
  *progress = (struct gl_progress){.metric = metric, .what = what};
  char path[512], name[512];
  uint16_t port;
  switch (metric) {
  case GL_METRIC_COMMAND:
    progress->least_window_s = COMMAND_WINDOW_S;
    return NULL;
  case GL_METRIC_URL:
    progress->least_window_s = URL_WINDOW_S;
    return split(what, &port, path, name, sizeof path)
               ? NULL
               : "it must be http://127.0.0.1:PORT/PATH#NAME";
  case GL_METRIC_CALLS:
    return count_calls(progress, what, cpus);
  case GL_NO_METRIC:
    break;
  }
  return NULL;
}

double gl_progress_read(struct gl_progress *progress) {
  switch (progress->metric) {
  case GL_METRIC_COMMAND:
    return of_command(progress->what);
  case GL_METRIC_URL:
    return of_url(progress->what);
  case GL_METRIC_CALLS:
    return read_calls(progress);
  case GL_NO_METRIC:
    break;
  }
  return -1;
}
