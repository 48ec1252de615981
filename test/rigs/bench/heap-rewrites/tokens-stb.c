//===- tokens-stb.c - stb_c_lexer, which puts names where its user says
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As its own main does: 64 kB for the names, for each document anew.

#include "documents.h"

#define STB_C_LEXER_IMPLEMENTATION
#include <stb/stb_c_lexer.h>

enum { NAMES = 0x10000 };

static uint64_t treat(const char *text, size_t size) {
  stb_lexer lexer;
  char *names = malloc(NAMES);
  if (!names)
    abort();
  stb_c_lexer_init(&lexer, text, text + size, names, NAMES);
  uint64_t sum = 0;
  while (stb_c_lexer_get_token(&lexer)) {
    sum = sum * 31 + (uint64_t)lexer.token;
    if (lexer.token == CLEX_id)
      sum += strlen(lexer.string);
  }
  free(names);
  return sum;
}

static void write_function(char to[MAX_ENTRY], unsigned i) {
  snprintf(to, MAX_ENTRY,
           "int f%u(int a) { /* no. %u */ return a <= %u ? a + 0x%x : "
           "call(\"x%u\\n\", 'c', %u.5); }",
           i, i, i, i, i, i);
}

int main(int argc, char **argv) {
  return run_threads(argc, argv, "", write_function, "\n", "\n");
}
