/*===- json.h - The JSON parsers' documents: lists of records -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef JSON_H
#define JSON_H

#include "documents.h"

static void write_record(char to[MAX_ENTRY], unsigned i) {
  snprintf(to, MAX_ENTRY,
           "{\"id\": %u, \"name\": \"record \\\"%u\\\"\", \"place\": "
           "[%u.5, -%u.25e1], \"tags\": [\"a\", null, %s], \"next\": {}}",
           i, i * 7919, i % 180, i % 90, i % 3 ? "true" : "false");
}

static int run_json(int argc, char **argv) {
  return run_threads(argc, argv, "[", write_record, ",\n ", "]\n");
}

#endif
