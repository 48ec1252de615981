// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of a made-up suite: subject TEST FILE, where FILE counts the runs of TEST.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int runs_so_far(const char *path) {
  FILE *file = fopen(path, "a");
  if (!file)
    return -1;
  fputc('x', file);
  long runs = ftell(file);
  fclose(file);
  return (int)runs;
}

int main(int argc, char **argv) {
  int broken = getpagesize() == 1;
  if (argc != 3)
    return 2;
  if (strcmp(argv[1], "page") == 0)
    return broken;
  if (strcmp(argv[1], "hangs") == 0)
    while (broken)
      sleep(1);
  if (strcmp(argv[1], "luck") == 0)
    return runs_so_far(argv[2]) == 1;
  if (strcmp(argv[1], "skips") == 0)
    return 77;
  return strcmp(argv[1], "fails") == 0;
}
