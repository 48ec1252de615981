//===- json-jsmn.c - jsmn, which fills tokens that its user provides
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As its manual says: once to count the tokens, once to fill them. With links
// to parents, or it would search lists backwards for each element.

#include "json.h"

#define JSMN_PARENT_LINKS
#define JSMN_STATIC
#include <jsmn.h>

static uint64_t treat(const char *text, size_t size) {
  jsmn_parser parser;
  jsmn_init(&parser);
  int count = jsmn_parse(&parser, text, size, NULL, 0);
  if (count <= 0)
    abort();
  jsmntok_t *tokens = malloc((size_t)count * sizeof *tokens);
  if (!tokens)
    abort();
  jsmn_init(&parser);
  if (jsmn_parse(&parser, text, size, tokens, (unsigned)count) != count)
    abort();
  uint64_t sum = 0;
  for (int i = 0; i != count; ++i)
    sum = sum * 31 + (uint64_t)(tokens[i].end - tokens[i].start) +
          (uint64_t)tokens[i].type;
  free(tokens);
  return sum;
}

int main(int argc, char **argv) { return run_json(argc, argv); }
