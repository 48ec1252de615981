//===- json-nlohmann.cpp - nlohmann-json, which only looks
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "json.h"

#include <nlohmann/json.hpp>

static uint64_t treat(const char *text, size_t size) {
  if (!nlohmann::json::accept(text, text + size))
    abort();
  return size;
}

int main(int argc, char **argv) { return run_json(argc, argv); }
