// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// count STEP THREADS PROGRAM [ARGUMENT...]: in a nested guest, runs a program
// between two marks, and prints how often its threads gave up their CPU.

#include "mark.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "count: usage: count STEP THREADS PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  mark(1);
  pid_t child = fork();
  if (child < 0) {
    perror("count: fork");
    return 1;
  }
  if (child == 0) {
    // What it prints would be exits, and is no result.
    int null = open("/dev/null", O_WRONLY);
    if (null < 0 || dup2(null, 1) < 0)
      _exit(126);
    execv(argv[3], argv + 3);
    _exit(127);
  }
  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) {
    perror("count: wait4");
    return 1;
  }
  mark(2);
  if (status != 0) {
    printf("count: %s: status %#x\n", argv[3], status);
    return 1;
  }
  printf("{\"step\": \"%s\", \"threads\": %d, \"voluntary\": %ld, "
         "\"involuntary\": %ld}\n",
         argv[1], atoi(argv[2]), usage.ru_nvcsw, usage.ru_nivcsw);
  return 0;
}
