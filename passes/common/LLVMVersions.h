//===- LLVMVersions.h - Differences between LLVM 19 and 22 ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Besides PassPlugin.h and ClangVersions.h of the checks, this is the only file
// that tests LLVM's version. It declares, in namespace vfriendly, the names
// that an older version lacks, so all other files are written for LLVM 22.
// Where an older LLVM provides less information, these functions return the
// conservative answer. The code for LLVM 21 follows that version's headers but
// has not been compiled, because Debian 12 has no LLVM 21. LLVM 20 is not in
// Debian.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_LLVMVERSIONS_H
#define VFRIENDLY_PASSES_COMMON_LLVMVERSIONS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsRISCV.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Pass.h"
#include "llvm/Passes/OptimizationLevel.h"

#include <functional>

namespace llvm {
class SCEVExpander;
}

namespace vfriendly {

#if LLVM_VERSION_MAJOR < 22
/// In LLVM 19 there is no PtrToAddrInst: isa<PtrToIntInst, PtrToAddrInst> then
/// tests for PtrToIntInst alone.
using PtrToAddrInst = llvm::PtrToIntInst;
#endif

/// Calls Set.insert_range(Range) by other means, because LLVM 19 does not have
/// it.
template <typename SetT, typename RangeT>
void insertRange(SetT &Set, const RangeT &Range) {
  Set.insert(llvm::adl_begin(Range), llvm::adl_end(Range));
}

/// Returns an expander for SE. Its header, which the caller includes, takes
/// long to compile.
template <typename ExpanderT = llvm::SCEVExpander>
ExpanderT expanderOf(llvm::ScalarEvolution &SE) {
#if LLVM_VERSION_MAJOR >= 22
  return ExpanderT(SE, "vf");
#else
  return ExpanderT(SE, SE.getDataLayout(), "vf");
#endif
}

#if LLVM_VERSION_MAJOR >= 22
inline void
findDebugValues(llvm::Value &V,
                llvm::SmallVectorImpl<llvm::DbgVariableRecord *> &Records) {
  llvm::findDbgValues(&V, Records);
}
#else
inline void
findDebugValues(llvm::Value &V,
                llvm::SmallVectorImpl<llvm::DbgVariableRecord *> &Records) {
  llvm::SmallVector<llvm::DbgValueInst *, 2> Calls;
  llvm::findDbgValues(Calls, &V, &Records);
}
#endif

#if LLVM_VERSION_MAJOR >= 21
inline constexpr llvm::Intrinsic::ID RiscvPause = llvm::Intrinsic::riscv_pause;
inline constexpr llvm::Intrinsic::ID FakeUse = llvm::Intrinsic::fake_use;
using llvm::CmpPredicate;

/// Returns true if capturing these components of an address reveals more than
/// whether the address is null. Code that learns only whether an address is
/// null does not prevent a rewrite, because a rewrite does not make the address
/// null.
inline bool tellsPlace(llvm::CaptureComponents Of) {
  return capturesAnything(Of & ~llvm::CaptureComponents::AddressIsNull);
}

/// Returns true if the callee may keep the address that is its argument Number.
inline bool mayKeepArgument(const llvm::CallBase &Call, unsigned Number) {
  return tellsPlace(Call.getCaptureInfo(Number).getOtherComponents());
}

/// Returns true if the call's result may contain the address that is its
/// argument Number.
inline bool mayReturnArgument(const llvm::CallBase &Call, unsigned Number) {
  return tellsPlace(Call.getCaptureInfo(Number).getRetComponents());
}

/// Returns true if the user of U computes another address within the object
/// that U points to.
inline bool isPassthrough(const llvm::Use &U) {
  return DetermineUseCaptureKind(U, /*Base=*/nullptr).isPassthrough();
}

/// Returns true if other code may learn the address U from its user. pre:
/// !isPassthrough(U).
inline bool mayTellPlace(const llvm::Use &U) {
  return tellsPlace(DetermineUseCaptureKind(U, /*Base=*/nullptr));
}
// Makes the reference to this vtable of LLVM weak. It is the only variable to
// which the plugin refers and which some versions of LLVM lack. With a strong
// reference, loading the plugin into another version would fail before the
// version guard can print its message. Each source file whose object refers to
// the vtable includes this header.
__asm__(".weak _ZTVN4llvm21SimpleCaptureAnalysisE");
#else
// Makes the reference to this vtable weak, for the same reason as the reference
// to the vtable of SimpleCaptureAnalysis above.
__asm__(".weak _ZTVN4llvm17SimpleCaptureInfoE");

/// Placeholders for identifiers that LLVM 19 lacks. No call has such an
/// identifier, so comparisons with the placeholders are false.
inline constexpr llvm::Intrinsic::ID RiscvPause = ~0u, FakeUse = ~0u - 1;
inline constexpr auto LibFunc_reallocarray =
    static_cast<llvm::LibFunc>(llvm::NotLibFunc + 1);
inline constexpr auto LibFunc_cxa_throw = LibFunc_reallocarray;
inline constexpr auto LibFunc_terminate = LibFunc_reallocarray;
inline constexpr auto LibFunc_exit = LibFunc_reallocarray;
using CmpPredicate = llvm::CmpInst::Predicate;

/// Returns true if the callee may keep the address. In LLVM 19, `nocapture`
/// means that neither memory nor the result holds the address.
inline bool mayKeepArgument(const llvm::CallBase &Call, unsigned Number) {
  return !Call.doesNotCapture(Number);
}

inline bool mayReturnArgument(const llvm::CallBase &Call, unsigned Number) {
  return !Call.doesNotCapture(Number);
}

inline bool isPassthrough(const llvm::Use &U) {
  return DetermineUseCaptureKind(U, nullptr) ==
         llvm::UseCaptureKind::PASSTHROUGH;
}

inline bool mayTellPlace(const llvm::Use &U) {
  // A comparison reveals the address, unless it compares a newly allocated
  // address with null. Later versions of LLVM have the same rule;
  // DetermineUseCaptureKind of LLVM 19 ignores more comparisons.
  if (auto *Compare = llvm::dyn_cast<llvm::ICmpInst>(U.getUser()))
    return !Compare->isEquality() || !isNoAliasCall(U.get()) ||
           !llvm::isa<llvm::ConstantPointerNull>(
               Compare->getOperand(1 - U.getOperandNo()));
  return DetermineUseCaptureKind(U, nullptr) !=
         llvm::UseCaptureKind::NO_CAPTURE;
}
#endif

using PhaseCallback =
    std::function<void(llvm::ModulePassManager &, llvm::OptimizationLevel,
                       llvm::ThinOrFullLTOPhase)>;

#if LLVM_VERSION_MAJOR >= 21
inline PhaseCallback withPhase(PhaseCallback Callback) { return Callback; }

/// Returns true if a linker may inline functions of M into functions of other
/// modules after a pipeline of this phase has processed M.
inline bool isBeforeLink(const llvm::Module &M,
                         llvm::ThinOrFullLTOPhase Phase) {
  return Phase == llvm::ThinOrFullLTOPhase::ThinLTOPreLink ||
         Phase == llvm::ThinOrFullLTOPhase::FullLTOPreLink;
}
#else
/// Returns a callback for an extension point of LLVM 19, which does not pass
/// the phase of an LTO build: Callback gets the phase None. Extension points
/// that are used only in the link step of full LTO do not need this function,
/// because their phase is known.
inline auto withPhase(PhaseCallback Callback) {
  return
      [Callback](llvm::ModulePassManager &MPM, llvm::OptimizationLevel Level) {
        Callback(MPM, Level, llvm::ThinOrFullLTOPhase::None);
      };
}

/// Returns true if M has the flag EnableSplitLTOUnit, which clang sets in LTO
/// builds before the passes run. M still has the flag in the link step of
/// ThinLTO. There the result is true, which is conservative, whereas it is
/// false with later versions of LLVM.
inline bool isBeforeLink(const llvm::Module &M,
                         llvm::ThinOrFullLTOPhase Phase) {
  return Phase == llvm::ThinOrFullLTOPhase::None &&
         M.getModuleFlag("EnableSplitLTOUnit");
}
#endif

} // namespace vfriendly

#endif
