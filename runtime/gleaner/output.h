/*===- gleaner/output.h - A run in Prometheus' format and as JSON ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_OUTPUT_H
#define VFRIENDLY_GLEANER_OUTPUT_H

#include "gleaner/record.h"
#include <stdio.h>

/* Writes the run's state to the file in Prometheus' text format, for the
 * textfile collector of its node exporter: readers see the old or the new
 * content. Returns 0 or an errno value. */
int gl_write_prometheus(const struct gl_record *record, const char *path);

/* Prints one JSON object on a line: time, decision, reason and measures.
 * Returns 0 or an errno value. */
int gl_print_json(const struct gl_record *record, FILE *to);

/* Writes the text between double quotes, as JSON and Prometheus want it:
 * control characters and what is no UTF-8 become question marks. */
void gl_print_quoted(const char *text, FILE *to);

#endif /* VFRIENDLY_GLEANER_OUTPUT_H */
