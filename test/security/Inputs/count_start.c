/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * count_start LIBRARY...: counts the instructions that `sh -c :` executes,
 * alone and with each library preloaded, by single steps: these need no counter
 * of the processor, and do not depend on what else runs. Prints a line for
 * each. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Addresses are the same in each run: sums of hashes and lengths of searches
 * depend on them. */
static long count(const char *library) {
  char *environment[] = {"PATH=/usr/bin:/bin", NULL, NULL};
  char preload[4096];
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library ? library : "");
  environment[1] = preload;
  pid_t child = fork();
  if (child == 0) {
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
      _exit(126);
    execle("/bin/sh", "sh", "-c", ":", (char *)NULL, environment);
    _exit(127);
  }
  long steps = 0;
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
    return -1;
  ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL);
  for (;; ++steps) {
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 ||
        waitpid(child, &status, 0) != child)
      return -1;
    if (WIFEXITED(status))
      return WEXITSTATUS(status) == 0 ? steps : -1;
    if (!WIFSTOPPED(status))
      return -1;
  }
}

int main(int argc, char **argv) {
  long alone = count(NULL);
  if (alone < 0 || count(NULL) != alone)
    return 1; /* It cannot be counted, or is not the same twice. */
  printf("alone %ld\n", alone);
  for (int i = 1; i < argc; ++i)
    printf("%s %ld\n", argv[i], count(argv[i]));
  return 0;
}
