//===- json-cjson.c - cJSON, which builds a tree of nodes
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "json.h"

#include <cJSON.h>

static uint64_t treat(const char *text, size_t size) {
  cJSON *root = cJSON_ParseWithLength(text, size);
  if (!root)
    abort();
  uint64_t sum = 0;
  const cJSON *record;
  cJSON_ArrayForEach(record, root) sum =
      sum * 31 +
      (uint64_t)cJSON_GetObjectItemCaseSensitive(record, "id")->valueint;
  cJSON_Delete(root);
  return sum;
}

int main(int argc, char **argv) { return run_json(argc, argv); }
