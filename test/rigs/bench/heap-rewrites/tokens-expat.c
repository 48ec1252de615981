//===- tokens-expat.c - Expat, which calls back for each tag
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "documents.h"

#include <expat.h>

static void begin(void *sum, const XML_Char *name, const XML_Char **pairs) {
  uint64_t *to = sum;
  for (; *pairs; ++pairs)
    *to = *to * 31 + strlen(*pairs);
  *to += strlen(name);
}

static void end(void *sum, const XML_Char *name) {
  *(uint64_t *)sum += strlen(name);
}

static uint64_t treat(const char *text, size_t size) {
  uint64_t sum = 0;
  XML_Parser parser = XML_ParserCreate(NULL);
  if (!parser)
    abort();
  XML_SetUserData(parser, &sum);
  XML_SetElementHandler(parser, begin, end);
  if (XML_Parse(parser, text, (int)size, 1) != XML_STATUS_OK)
    abort();
  XML_ParserFree(parser);
  return sum;
}

static void write_element(char to[MAX_ENTRY], unsigned i) {
  snprintf(
      to, MAX_ENTRY,
      "<record id=\"%u\" name=\"&quot;%u&quot;\">%u &lt; %u<none/></record>", i,
      i * 7919, i, i + 1);
}

int main(int argc, char **argv) {
  return run_threads(argc, argv, "<all>", write_element, "\n", "</all>\n");
}
