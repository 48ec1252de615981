// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each library has its report, however many copies of another one are loaded before it.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined \
// RUN:   -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include -I %vf_src/runtime \
// RUN:   %s %vf_src/runtime/common/report.c %vf_src/runtime/common/environment.c \
// RUN:   %vf_src/runtime/common/process_wide.c -o %t
// RUN: %t

#include "check.h"
#include "common/report.h"

static int printed[12];

#define PRINT(n)                                                                                                       \
  static void print##n(void) { printed[n]++; }
PRINT(0)
PRINT(1)
PRINT(2)
PRINT(3)
PRINT(4)
PRINT(5)
PRINT(6)
PRINT(7)
PRINT(8)
PRINT(9)
PRINT(10)

static void (*const prints[])(void) = {print0, print1, print2, print3, print4, print5, print6, print7, print8, print9};

int main(void) {
  for (int i = 0; i < 10; ++i)
    vf_report_register("copied", prints[i]);
  vf_report_register("other", print10);
  for (int i = 9; i >= 0; --i)
    vf_report_at_exit(prints[i]);
  vf_report_at_exit(print10);
  int copies = 0;
  for (int i = 0; i < 10; ++i)
    copies += printed[i];
  CHECK(copies == 1 && printed[0] == 1 && printed[10] == 1);
  /* All entries are free again. */
  vf_report_register("copied", print1);
  vf_report_register("other", print10);
  vf_report_at_exit(print1);
  vf_report_at_exit(print10);
  CHECK(printed[1] == 1 && printed[10] == 2);
}
