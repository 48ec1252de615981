//===- Devices.h - Memory of devices ----------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_DEVICES_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_DEVICES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace vfriendly {

/// Returns true if Address is a constant number or in another address space: it
/// may be a device register, but is not an object of the program.
bool isDeviceAddress(const llvm::Value *Address);

/// How a function of the library helps to find memory of a device.
enum class FindsPlace { Nothing, Maps, Opens, OpensAt };
FindsPlace placesOf(llvm::StringRef Function);

/// Marks the reads of F, which is about to be inlined: they are those of
/// registers, by the name of F. Returns those that had no mark.
llvm::SmallVector<llvm::Instruction *, 4> markReadsOfDevice(llvm::Function &F);
/// Removes the marks: the copies keep theirs.
void unmarkReads(llvm::ArrayRef<llvm::Instruction *> Marked);

/// Returns true if Access, at Address, accesses a device: by such an address,
/// or as a read that is marked, or of memory that the module maps from a
/// device.
bool accessesDevice(const llvm::Instruction &Access,
                    const llvm::Value *Address);

} // namespace vfriendly

#endif
