// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that are written for their scope and run once, as macros of tests have them, and loops that look like them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <cstdio>
#include <cstdlib>
#include <string>

void use(void *memory);
void use(const std::string &text);
bool passes(void *memory);

// Prints so much that no compiler inlines it.
static bool report(bool passed, const char *name) {
  if (!passed)
    std::fprintf(stderr, "%s: failed in %s, line %d\n", name, __FILE__, __LINE__);
  else
    std::fprintf(stderr, "%s: passed in %s, line %d\n", name, __FILE__, __LINE__);
  std::fprintf(stderr, "%s: end of the case of %s\n", name, __FILE__);
  std::fprintf(stderr, "%s: next case of %s\n", name, __FILE__);
  return true;
}

// As report, but says whether it has failed, so that the loop tries again.
static bool report_and_tell(bool passed, const char *name) {
  report(passed, name);
  std::fprintf(stderr, "%s: end of the case of %s\n", name, __FILE__);
  if (!passed)
    return false;
  return true;
}

#define CASE(NAME, REPORT)                                                     \
  for (bool done = false, result = true; !done; done = REPORT(result, NAME))

void cases() {
  CASE("small", report) {
    void *p = std::malloc(32);
    result = passes(p);
    std::free(p);
  }
  CASE("text", report) {
    std::string text(100, 'x');
    use(text);
  }
  do {
    std::string text(100, 'x');
    use(text);
  } while (0);
  while (true) {
    std::string text(100, 'x');
    use(text);
    break;
  }
}

void cases_again() {
  CASE("small", report_and_tell) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'malloc' and released in each iteration of a loop
    void *p = std::malloc(32);
    result = passes(p);
    std::free(p);
  }
}
