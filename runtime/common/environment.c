/*===- common/environment.c - Reading VF_* variables ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include "common/environment.h"
#include "platform/linux/privilege.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <unistd.h>

/* Names of all variables that the runtime's libraries, the passes in a linker,
 * or programs that embed the runtime read. */
static const char *const known_names[] = {"VF_STATS",
                                          "VF_SPIN_BUDGET_NS",
                                          "VF_SPIN_NOTIFY",
                                          "VF_NUMA",
                                          "VF_NUMA_MIN",
                                          "VF_NUMA_PIN",
                                          "VF_NUMA_OPAQUE",
                                          "VF_NUMA_OMP_PLACES",
                                          "VF_MALLOC_TUNE_PERCENT",
                                          "VF_MALLOC_FLOOR",
                                          "VF_PTHREAD",
                                          "VF_OMP",
                                          "VF_CPUS",
                                          "VF_MALLOC_HOLD_PRICE",
                                          "VF_MALLOC_SHOOTDOWN",
                                          "VF_PTHREAD_CROWDS",
                                          "VF_SLICE",
                                          "VF_SPIN",
                                          "VF_SPIN_UNMODIFIED",
                                          "VF_HINTS",
                                          "VF_HEAP",
                                          "VF_NUMA_PASS",
                                          "VF_SUMMARY",
                                          "VF_LLVM_DIR",
                                          "VF_BUILD",
                                          "VF_NAMES_CHECKED"};

/* Prints a message with one write, so that lines of several processes are not
 * mixed. A value too long for the line is cut. */
void vf_env_complain(const char *name, const char *value, const char *allowed,
                     const char *preset) {
  char line[256];
  int n = snprintf(line, sizeof line,
                   "vfriendly: %s='%.60s' is not %s; using the default, %s\n",
                   name, value, allowed, preset);
  int saved = errno;
  if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
    errno = saved; /* A failed write to stderr is ignored: there is nowhere to
                      report it. */
}

const char *vf_env_get(const char *name) {
  const char *value = getenv(name);
  return value && !vf_is_privileged() ? value : NULL;
}

bool vf_env_number(const char *name, uint64_t low, uint64_t high,
                   uint64_t preset, uint64_t *result) {
  const char *value = vf_env_get(name);
  if (!value)
    return false;
  uint64_t number = 0;
  bool good = *value != '\0';
  for (const char *c = value; *c && good; ++c) {
    good = *c >= '0' && *c <= '9' && number <= high / 10;
    number = number * 10 + (uint64_t)(*c - '0');
  }
  if (good && number >= low && number <= high) {
    *result = number;
    return true;
  }
  char allowed[64], standard[24];
  snprintf(allowed, sizeof allowed, "a number in %" PRIu64 "..%" PRIu64, low,
           high);
  snprintf(standard, sizeof standard, "%" PRIu64, preset);
  vf_env_complain(name, value, allowed, standard);
  return false;
}

int vf_env_word(const char *name, const char *const *words, int n, int preset) {
  const char *value = vf_env_get(name);
  char allowed[64] = "";
  size_t length = 0;
  if (!value)
    return preset;
  for (int i = 0; i < n; ++i) {
    if (strcmp(value, words[i]) == 0)
      return i;
    const char *before = i == 0 ? "" : i == n - 1 ? " or " : ", ";
    if (length < sizeof allowed)
      length += (size_t)snprintf(allowed + length, sizeof allowed - length,
                                 "%s%s", before, words[i]);
  }
  vf_env_complain(name, value, allowed, words[preset]);
  return preset;
}

bool vf_env_choice(const char *name, const char *no, const char *yes,
                   bool preset) {
  const char *const words[] = {no, yes};
  return vf_env_word(name, words, 2, preset) == 1;
}

static bool is_known(const char *name, size_t length) {
  if (strncmp(name, "VF_TEST_", 8) == 0)
    return true;
  for (size_t i = 0; i < sizeof known_names / sizeof *known_names; ++i)
    if (strlen(known_names[i]) == length &&
        strncmp(name, known_names[i], length) == 0)
      return true;
  return false;
}

void vf_env_check_names(void) {
  bool any = false;
  if (!environ || getenv("VF_NAMES_CHECKED") || vf_is_privileged())
    return;
  for (char **entry = environ; *entry; ++entry) {
    const char *end = strchr(*entry, '=');
    if (strncmp(*entry, "VF_", 3) != 0 || !end ||
        is_known(*entry, (size_t)(end - *entry)))
      continue;
    char line[256];
    int saved = errno;
    int n = snprintf(line, sizeof line,
                     "vfriendly: unknown environment variable %.*s; is the "
                     "name misspelt?\n",
                     (int)(end - *entry > 60 ? 60 : end - *entry), *entry);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
      errno = saved;
    any = true;
  }
  /* Calls setenv only while there is a single thread, because another thread
   * may be reading the environment. */
  if (any && __libc_single_threaded)
    setenv("VF_NAMES_CHECKED", "1", 1);
}
