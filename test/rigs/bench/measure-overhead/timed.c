/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * timed FILE COMMAND...: runs the command, and writes what it took to FILE. It
 * stands between a collector and the program, so that the time of the
 * collector's own process does not count as the program's.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  double began = now();
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    _exit(127);
  }
  int status;
  struct rusage used;
  if (child < 0 || wait4(child, &status, 0, &used) != child)
    return 1;
  FILE *file = fopen(argv[1], "w");
  if (!file)
    return 1;
  fprintf(file, "{\"status\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f}\n", status,
          now() - began,
          used.ru_utime.tv_sec + used.ru_stime.tv_sec +
              (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
  fclose(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
