//===- Devices.h - Memory of devices ----------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_DEVICES_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_DEVICES_H

namespace llvm {
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace vfriendly {

/// Returns true if Address is a constant number or in another address space: it
/// may be a device register, but is not an object of the program.
bool isDeviceAddress(const llvm::Value *Address);

/// Marks the reads of F, which is about to be inlined: they are those of
/// registers, by the name of F.
void markReadsOfDevice(llvm::Function &F);

/// Returns true if Access, at Address, accesses a device: by such an address,
/// or as a read that is marked, or of memory that the module maps from a
/// device.
bool accessesDevice(const llvm::Instruction &Access,
                    const llvm::Value *Address);

} // namespace vfriendly

#endif
