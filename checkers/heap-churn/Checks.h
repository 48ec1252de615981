//===- Checks.h - The checks vfriendly-heap-churn-* -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check for each behaviour of the heap, each in the file of its name.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_CHECKS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_CHECKS_H

#include "checkers/common/PerUnit.h"
#include "checkers/common/ProgramFacts.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/Lifetimes.h"
#include "checkers/heap-churn/LoweredHeap.h"
#include "checkers/heap-churn/OwnedBlocks.h"

namespace vfriendly::tidy {

/// Reports loops that allocate elements which are released together.
struct ConsecutiveCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports blocks that are resized by constant amounts, and so are copied again
/// and again.
struct GrowthCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports memory that is released only after a long phase that does not use
/// it.
struct HeapChurnHeldCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports memory that a loop allocates and releases in each iteration.
///
/// The check finds such blocks in the IR of the unit (LoweredHeap.h). From the
/// AST it learns whether the loop is worth a report, and what to change.
class LoopAllocationCheck final : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
  void finish(clang::ASTContext &Context) override;
  void reportBlock(const LoweredBlock &Block);
  void reportOfCall(const LoweredBlock &Block);
  bool reportMaker(const clang::Expr &Site, HeapCalls &Heap,
                   llvm::StringRef Often, llvm::StringRef Remedy);
  void reportPair(const clang::FunctionDecl &In, const OwnerPair &Pair);
  void reportLocals(const clang::FunctionDecl &F);
  void reportLifetime(const clang::FunctionDecl &F, const TakenObject &Object);
  bool isReported(const clang::Stmt *Site, const FunctionView &View) const;

  /// What a report about a function says of the loop that calls it.
  struct HotCaller {
    const clang::CallExpr *Call = nullptr; ///< Null if it is not in sight.
    std::string Condition;
  };
  static std::string inEachCall(const clang::FunctionDecl &F,
                                const HotCaller &Caller);
  std::optional<HotCaller> loopThatCalls(const clang::FunctionDecl &F);
  void noteCaller(clang::SourceLocation Where, const HotCaller &Caller);
  const ProgramFacts *askable() const {
    return Program->areWanted() ? Program.get() : nullptr;
  }

  std::shared_ptr<ProgramFacts> Program = perUnit<ProgramFacts>();
  LoweredHeap Lowered;
  std::optional<OwnedBlocks> Owned; ///< Unset before the first function.
  std::vector<const clang::FunctionDecl *> Inspected;
  std::vector<std::pair<const clang::FunctionDecl *, OwnerPair>> Pairs;
  std::vector<std::pair<const clang::FunctionDecl *, TakenObject>> Taken;
  /// Local variables that were reported, and the expressions that allocate
  /// their memory.
  llvm::SmallPtrSet<const void *, 8> Reported;
};

/// Reports loops that release in reverse order what was allocated in ascending
/// order.
struct ReverseFreeCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports system calls in loops that interrupt every CPU of the process each
/// time.
///
/// Finds them in the loop itself and in functions that the loop calls, up to
/// two calls away; a destructor is a call.
class ShootdownCallsCheck final : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
  void finish(clang::ASTContext &Context) override;
  void inspectCallees(FunctionView &View);
  void reportLowLimits(FunctionView &View);

  /// What each call of a function does in any case.
  struct Surely {
    llvm::SmallVector<const clang::CallExpr *, 1> SystemCalls;
    llvm::SmallVector<const clang::FunctionDecl *, 4> Callees;
  };
  void collect(const Surely &Of, unsigned Depth,
               llvm::SmallVectorImpl<const clang::CallExpr *> &Found) const;

  llvm::DenseMap<const clang::FunctionDecl *, Surely> Known;
  struct LoopCall {
    clang::SourceLocation Where;
    const clang::FunctionDecl *In, *Callee;
  };
  std::vector<LoopCall> LoopCalls;
  /// The functions that SystemCalls are in.
  llvm::DenseMap<const clang::CallExpr *, const clang::FunctionDecl *> In;
};

} // namespace vfriendly::tidy

#endif
