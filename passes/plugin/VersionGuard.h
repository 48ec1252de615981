//===- VersionGuard.h - Check of the loading tool's LLVM --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PLUGIN_VERSIONGUARD_H
#define VFRIENDLY_PASSES_PLUGIN_VERSIONGUARD_H

namespace vfriendly {

/// Ends the process with one line and status 1 if the tool that loaded this
/// plugin has another LLVM. Also runs by itself, before the plugin's other
/// static constructors: registering an option with another LLVM crashes.
void requireMatchingLLVM();

} // namespace vfriendly

#endif
