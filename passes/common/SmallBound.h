//===- SmallBound.h - Bounds too small to give way --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_SMALLBOUND_H
#define VFRIENDLY_PASSES_COMMON_SMALLBOUND_H

#include <cstdint>

namespace vfriendly {

/// Bounds of spins that are too short to give way: 4 us, which a yield to
/// another thread and back takes, in polls of 0.25 ns (a cycle at 4 GHz) and
/// of 25 ns (a PAUSE here).
inline constexpr uint64_t SmallBound = 16000, SmallSlowBound = 160;

} // namespace vfriendly

#endif
