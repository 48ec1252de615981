//===- TellingNames.h - Functions whose names suggest waiting ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function's name proves nothing, so no rewrite depends on it. But a loop
// that calls, for example, rte_delay_us between its polls is reported. The pass
// and the check share this list.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_TELLINGNAMES_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_TELLINGNAMES_H

#include "llvm/ADT/StringRef.h"

namespace vfriendly {

enum class NameTells {
  Nothing,
  Pauses,     ///< Pauses briefly or yields the CPU: cpu_relax, my_yield.
  Delays,     ///< Waits for a time: delay_us, msleep.
  Fails,      ///< Does not return: throw_exception, fatal.
  ReadsClock, ///< get_cycles, my_rdtsc, now.
  ReadsWord,  ///< Reads memory that threads share: my_atomic_read32.
  Tries,      ///< Tries to take something: my_trylock, atomic_cas, offer.
  Locks,      ///< Takes or releases a lock: mutex_lock, ao2_unlock.
  Prints,     ///< Prints a message: log_error, fprintf.
};

/// Classifies a function by its name. pre: Name is not mangled and contains
/// neither namespaces nor classes.
NameTells whatNameTells(llvm::StringRef Name);

/// Returns true if the name of a function that tries something suggests that
/// its result is not null if it succeeds: try_push, offer.
bool namesOffer(llvm::StringRef Name);

/// Returns true if the name suggests that each call of the function does work,
/// as in run_tasks or progress, or makes something, as in mutex_init. A loop
/// that calls such a function is not an idle wait.
bool namesWork(llvm::StringRef Name);

/// Returns true if the name suggests that the function ends or stops something,
/// which happens seldom.
bool namesEnd(llvm::StringRef Name);

/// Returns true if the name suggests that the function works on a device:
/// delay_us, read_reg. A loop that calls it and sleeps gives the device
/// time, and waits for no thread.
bool namesDevice(llvm::StringRef Name);

/// Returns true if the name says that the function accesses registers:
/// mmio_read32.
bool namesRegisters(llvm::StringRef Name);

/// Returns true if a function of this name may block until it is woken:
/// cond_wait, waitFor, park.
bool namesBlocking(llvm::StringRef Name);

} // namespace vfriendly

#endif
