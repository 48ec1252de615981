//===- VersionGuard.cpp - Refuses another version's clang-tidy ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/VersionGuard.h"

#include "clang/Basic/Version.h"
#include <cstdio>
#include <cstdlib>

namespace vfriendly::tidy {

VersionGuard::VersionGuard() {
  const std::string Host = clang::getClangFullVersion();
  // Ignores the patch level: all patch levels of one release have the same
  // interfaces.
  const std::string Built = CLANG_VERSION_STRING;
  const std::string Release = Built.substr(0, Built.rfind('.') + 1);
  const std::string Word = "version ";
  size_t At = Host.find(Word);
  if (At != std::string::npos &&
      Host.compare(At + Word.size(), Release.size(), Release) == 0)
    return;
  std::fprintf(stderr,
               "error: libvfriendly-tidy.so was built for clang-tidy %s and "
               "cannot be loaded into '%s'\n",
               Built.c_str(), Host.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

} // namespace vfriendly::tidy
