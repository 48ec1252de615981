//===- SmallBound.h - Bounds too small for a yield --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_SMALLBOUND_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_SMALLBOUND_H

#include <cstdint>

namespace vfriendly {

/// Maximum number of polls of a bounded spin that counts as short: a spin of so
/// many polls takes at most 4 us, as long as a yield to another thread and
/// back, so a yield would not pay. SmallBound counts polls of 0.25 ns (a cycle
/// at 4 GHz), SmallSlowBound polls of 25 ns (a PAUSE on the machine measured).
inline constexpr uint64_t SmallBound = 16000, SmallSlowBound = 160;

} // namespace vfriendly

#endif
