/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * metric PORT DEAF: reads metrics of a server on PORT, of one on DEAF that
 * accepts nothing, of commands and of calls. */

#include "check.h"
#include "gleaner/function_offset.h"
#include "gleaner/progress.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) void counted(void) { __asm__ volatile(""); }

static const char *port;

static double read_url(const char *rest) {
  static char url[256];
  gl_print(url, sizeof url, "http://127.0.0.1:%s%s", port, rest);
  struct gl_progress progress;
  CHECK(!gl_progress_open(&progress, GL_METRIC_URL, url, NULL));
  return gl_progress_read(&progress);
}

static double read_command(const char *command) {
  struct gl_progress progress;
  CHECK(!gl_progress_open(&progress, GL_METRIC_COMMAND, command, NULL));
  return gl_progress_read(&progress);
}

static void *call(void *data) {
  for (int i = 0; i < 1000; ++i)
    counted();
  return data;
}

/* Where the kernel lets us count. Threads must start all the same: see
 * count_calls. */
static void calls(const char *self) {
  char what[600];
  struct gl_cpus cpus;
  struct gl_progress progress;
  CHECK(gl_function_offset(self, "counted") > 0);
  CHECK(gl_function_offset(self, "no_such_function") == 0);
  CHECK(gl_function_offset("/etc/passwd", "counted") == 0);
  gl_get_affinity(0, &cpus);
  gl_print(what, sizeof what, "%s:counted", self);
  const char *wrong = gl_progress_open(&progress, GL_METRIC_CALLS, what, &cpus);
  if (wrong) {
    printf("calls not counted: %s\n", wrong);
    return;
  }
  double before = gl_progress_read(&progress);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, call, NULL) == 0);
  pthread_join(thread, NULL);
  CHECK(gl_progress_read(&progress) == before + 1000);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  port = argv[1];
  CHECK(read_url("/metrics#requests_total") == 12.5); /* of two lines */
  CHECK(read_url("/metrics#requests") == -1);         /* a prefix of a name */
  CHECK(read_url("/metrics#plain") == 7);
  CHECK(read_url("/slow#plain") == -1); /* no answer in a second */
  CHECK(read_url("/none#plain") == -1);
  alarm(60); /* instead of minutes */
  port = argv[2]; /* where nobody takes connections, and no more fit */
  CHECK(read_url("/metrics#plain") == -1);
  port = "1";
  CHECK(read_url("/metrics#plain") == -1);
  CHECK(read_command("echo 42.5") == 42.5);
  CHECK(read_command("echo 42; exit 3") == -1);
  CHECK(read_command("echo words") == -1);
  CHECK(read_command("sleep 5; echo 1") == -1);
  CHECK(read_command("echo 1; exec >&-; exec sleep 1000") == -1);
  CHECK(read_command("head -c 100000 /dev/zero | tr '\\0' 1 | head -c 3; head -c "
                     "100000 /dev/zero | tr '\\0' ' '") == 111);
  struct gl_progress progress;
  CHECK(gl_progress_open(&progress, GL_METRIC_URL, "http://127.0.0.1", NULL));
  CHECK(gl_progress_open(&progress, GL_METRIC_URL, "http://127.0.0.1.example/x#n",
                         NULL));
  CHECK(gl_progress_open(&progress, GL_METRIC_CALLS, "no colon", NULL));
  calls(argv[0]);
  return 0;
}
