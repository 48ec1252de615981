// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What jemalloc's tests are linked with: theirs needs jemalloc built.

#include "test/jemalloc_test.h"
#include <stdarg.h>

static test_status_t now, all;
static const char *name;

/* "arena.0.purge", and how many sizes there are: one, see below. */
int mallctl(const char *what, void *old, size_t *size, void *value, size_t value_size) {
  (void)what, (void)size, (void)value, (void)value_size;
  if (old)
    *(unsigned *)old = 1;
  return 0;
}

int mallctlnametomib(const char *what, size_t *mib, size_t *length) {
  return (void)what, (void)mib, (void)length, 0;
}

/* The largest block of any malloc. */
int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *size, void *value,
                 size_t value_size) {
  (void)mib, (void)length, (void)size, (void)value, (void)value_size;
  *(size_t *)old = PTRDIFF_MAX;
  return 0;
}

static void end_as(test_status_t how, const char *format, va_list arguments) {
  vprintf(format, arguments);
  printf("\n");
  now = how;
}

void test_skip(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  end_as(test_status_skip, format, arguments);
  va_end(arguments);
}

void test_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  end_as(test_status_fail, format, arguments);
  va_end(arguments);
}

bool test_is_reentrant() { return false; }

void p_test_init(const char *begins) {
  name = begins;
  now = test_status_pass;
}

void p_test_fini(void) {
  printf("%s: %s\n", name, now == test_status_pass ? "pass" : now == test_status_skip ? "skip" : "fail");
  if (all < now)
    all = now;
}

void p_test_fail(const char *prefix, const char *message) {
  printf("%s%s\n", prefix, message);
  now = test_status_fail;
}

test_status_t p_test(test_t *t, ...) {
  va_list tests;
  va_start(tests, t);
  for (; t; t = va_arg(tests, test_t *))
    t();
  va_end(tests);
  return all;
}
