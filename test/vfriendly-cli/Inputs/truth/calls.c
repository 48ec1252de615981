// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes long system calls without libc, and prints the CPU time in the kernel.

#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static char bytes[1 << 16];

int main(void) {
  struct rusage used;
  double seconds;
  do {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getrandom), "D"(bytes), "S"(sizeof bytes), "d"(0) // HERE call
                     : "rcx", "r11", "memory");
    if (result < 0)
      return 1;
    getrusage(RUSAGE_SELF, &used);
    seconds = used.ru_stime.tv_sec + used.ru_stime.tv_usec * 1e-6;
  } while (seconds < 0.5);
  printf("{\"called\": %f}\n", seconds);
  return 0;
}
