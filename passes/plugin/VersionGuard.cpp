//===- VersionGuard.cpp - Check of the loading tool's LLVM ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses only constants from LLVM's headers: the tool that loads the plugin may
// contain another version of LLVM, whose functions and types differ.
//
//===----------------------------------------------------------------------===//

#include "passes/plugin/VersionGuard.h"

#include "llvm/Config/llvm-config.h"

#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

namespace vfriendly {

// 101 is the highest constructor priority that is not reserved for the
// implementation, so this runs before all other constructors of the plugin.
__attribute__((constructor(101))) void requireMatchingLLVM() {
  // A function of LLVM's C interface since LLVM 16, so its signature does not
  // change.
  using GetVersion = void (*)(unsigned *, unsigned *, unsigned *);
  auto Get =
      reinterpret_cast<GetVersion>(dlsym(RTLD_DEFAULT, "LLVMGetVersion"));
  unsigned Major = 0, Minor = 0, Patch = 0;
  if (Get)
    Get(&Major, &Minor, &Patch);
  if (Major == LLVM_VERSION_MAJOR)
    return;
  if (Get)
    std::fprintf(stderr,
                 "vfriendly: this plugin is built for LLVM %d, the tool that "
                 "loads it has LLVM %u.%u.%u: use clang-%d, opt-%d or lld-%d\n",
                 LLVM_VERSION_MAJOR, Major, Minor, Patch, LLVM_VERSION_MAJOR,
                 LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR);
  else
    std::fprintf(stderr,
                 "vfriendly: this plugin is built for LLVM %d, the tool that "
                 "loads it has none, or one before 16: use clang-%d\n",
                 LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR);
  // _exit instead of exit, which would run static destructors of a partly
  // loaded plugin.
  _exit(1);
}

} // namespace vfriendly
