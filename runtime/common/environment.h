/*===- common/environment.h - Reading VF_* variables ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   uint64_t n = 50;
 *   bool is_set = vf_env_number("VF_THING_NS", 0, 1000, 50, &n);
 *   bool on = vf_env_choice("VF_THING", "off", "on", true);
 *
 * A value out of range is reported on stderr in one line that names variable,
 * value and what is allowed, and counts as unset. For constructors: call
 * once per variable, before other threads may change the environment.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_ENVIRONMENT_H
#define VFRIENDLY_COMMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the value of a variable, and NULL if it is unset or the process is
 * privileged (privilege.h). Everything that the libraries learn from variables
 * of their own they learn by this function. */
const char *vf_env_get(const char *name);

/* Reads a decimal number between low and high from the environment variable.
 * Returns false and leaves *result unchanged if the variable is unset or its
 * value is no such number. Reports such a value, with preset as the number that
 * is used instead. */
bool vf_env_number(const char *name, uint64_t low, uint64_t high,
                   uint64_t preset, uint64_t *result);

/* Returns the index of the variable's value among n words, and preset if it is
 * unset. pre: the words take at most 40 bytes in all. */
int vf_env_word(const char *name, const char *const *words, int n, int preset);

/* Returns true if the variable is `yes`, false if it is `no`, and preset if it
 * is unset. */
bool vf_env_choice(const char *name, const char *no, const char *yes,
                   bool preset);

/* Reports that the value of a variable is not what is allowed; for variables
 * that are neither numbers nor words. A long value is cut. */
void vf_env_complain(const char *name, const char *value, const char *allowed,
                     const char *preset);

/* Reports in one line each variable VF_* that no part of the project reads,
 * once for a process and its children: VF_NAMES_CHECKED marks the environment.
 * Names that begin with VF_TEST_ belong to the tests. */
void vf_env_check_names(void);

#endif /* VFRIENDLY_COMMON_ENVIRONMENT_H */
