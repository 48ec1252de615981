//===- LoweredHeap.cpp - Analysis of heap use in LLVM IR ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/LoweredHeap.h"

#include "checkers/common/PerUnit.h"
#include "passes/analysis/heap/IterationBlocks.h"

#include "clang/AST/DeclCXX.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace clang;

namespace vfriendly::tidy {

LoweredHeap::LoweredHeap()
    : Unit(perUnit<LoweredUnit>()), Bodies(perUnit<FunctionBodies>()) {
  Unit->add(LoweredUnit::Inlined, *this);
}

void LoweredHeap::consider(const FunctionDecl &Function, HeapCalls &Heap) {
  if (!Reach)
    Reach.emplace(Heap, *Bodies);
  this->Heap = &Heap;
  if (Reach->churns(Function))
    Roots.push_back(&Function);
  if (Reach->churnsInCall(Function))
    Called.push_back(&Function);
  for (const FunctionBody::Use &Each : Bodies->of(Function).Uses)
    if (Each.Loop)
      Callers[Each.Function->getCanonicalDecl()].push_back(&Function);
}

bool LoweredHeap::run(ASTContext &Context, bool AnyCaller) {
  // A small function is inlined into the loop, which then has the block.
  llvm::SmallPtrSet<const FunctionDecl *, 16> Known(Roots.begin(), Roots.end());
  for (const FunctionDecl *Each : Called)
    if (AnyCaller ||
        (!loopingCallers(*Each).empty() && !Bodies->of(*Each).isSmall()))
      if (Known.insert(Each).second)
        Roots.push_back(Each);
  return Roots.empty() || Unit->judge(Context);
}

static bool isOfPointer(QualType T) {
  return T->isPointerType() && T->getPointeeType()->isPointerType();
}

/// Gives F the LLVM attributes of an allocation or release function if
/// HeapCalls knows D as one.
void LoweredHeap::tellHeap(llvm::Function &F, const FunctionDecl &D) {
  const HeapFunction *Does = Heap->find(D);
  if (!Does)
    return;
  auto *Method = dyn_cast<CXXMethodDecl>(&D);
  unsigned Pointer =
      Does->Pointer.value_or(0) + (Method && Method->isInstance() ? 1 : 0);
  // void frame_free(struct frame **): what the variable holds is released.
  if (Does->Op == HeapOp::Release && Does->Pointer &&
      Does->Pointer < D.getNumParams() &&
      isOfPointer(D.getParamDecl(*Does->Pointer)->getType())) {
    F.addParamAttr(
        Pointer, llvm::Attribute::get(F.getContext(), vfriendly::FreesTarget));
    return;
  }
  bool Takes = Does->Op == HeapOp::Allocate && F.getReturnType()->isPointerTy(),
       Gives = Does->Op == HeapOp::Release && Does->Pointer &&
               Pointer < F.arg_size() &&
               F.getArg(Pointer)->getType()->isPointerTy();
  if (Takes || Gives) {
    F.addFnAttrs(llvm::AttrBuilder(F.getContext())
                     .addAllocKindAttr(Takes ? llvm::AllocFnKind::Alloc
                                             : llvm::AllocFnKind::Free));
    // All functions share one allocation family: a program that allocates
    // with one family and releases with another has a bug.
    F.addFnAttr("alloc-family", "malloc");
  }
  if (Gives)
    F.addParamAttr(Pointer, llvm::Attribute::AllocatedPointer);
}

/// Gives the same attributes to calls in F: those through global pointers, and
/// `app_realloc(NULL, n)`.
void LoweredHeap::tellCalls(llvm::Function &F,
                            const LoweredFunctions &Functions) {
  for (llvm::Instruction &I : llvm::instructions(F)) {
    auto *Call = dyn_cast<llvm::CallBase>(&I);
    if (!Call)
      continue;
    auto *Loaded = dyn_cast<llvm::LoadInst>(Call->getCalledOperand());
    auto *Pointer =
        Loaded ? dyn_cast<llvm::GlobalVariable>(Loaded->getPointerOperand())
               : nullptr;
    const llvm::Function *Callee = Call->getCalledFunction();
    const FunctionDecl *D =
        Callee && Callee->isDeclaration() ? Functions.DeclOf(*Callee) : nullptr;
    const HeapFunction *Does = Pointer ? Heap->findPointer(Pointer->getName())
                               : D     ? Heap->find(*D)
                                       : nullptr;
    unsigned Given = Does ? Does->Pointer.value_or(0) : 0;
    bool IsNew = Does && Does->Op == HeapOp::Resize &&
                 Given < Call->arg_size() &&
                 isa<llvm::ConstantPointerNull>(Call->getArgOperand(Given));
    if (!Does || (!Pointer && !IsNew) || (Does->Op == HeapOp::Resize && !IsNew))
      continue;
    bool Takes = Does->Op != HeapOp::Release;
    llvm::AttrBuilder Kind(F.getContext());
    Kind.addAllocKindAttr(Takes ? llvm::AllocFnKind::Alloc
                                : llvm::AllocFnKind::Free);
    Kind.addAttribute("alloc-family", "malloc");
    Call->setAttributes(
        Call->getAttributes().addFnAttributes(F.getContext(), Kind));
    if (!Takes && Given < Call->arg_size())
      Call->addParamAttr(Given, llvm::Attribute::AllocatedPointer);
  }
}

void LoweredHeap::tell(const LoweredFunctions &Functions) {
  for (llvm::Function &F : Functions.M)
    if (!F.isDeclaration())
      tellCalls(F, Functions);
    else if (const FunctionDecl *D = Functions.DeclOf(F))
      tellHeap(F, *D);
}

/// Returns true if L is a loop of the function itself. A loop that was inlined
/// from another function is examined in that function.
static bool isOwn(const llvm::Loop &L) {
  llvm::DebugLoc Begin = L.getStartLoc();
  return Begin && !isInlined(Begin);
}

void LoweredHeap::judge(const LoweredFunctions &Functions) {
  for (llvm::Function &F : Functions.M) {
    const FunctionDecl *In = Functions.RootOf(F);
    if (!In)
      continue;
    for (const IterationBlock &Each : findIterationBlocks(F, Functions.FAM))
      if (isOwn(*Each.L))
        Blocks.push_back({In, loweredPlaceOf(Each.Call->getDebugLoc()),
                          loweredPlaceOf(Each.Free->getDebugLoc())});
    // A region or a task is a part of a loop, if it is in one.
    bool IsRegion = F.getName().contains(".omp_");
    if (!IsRegion && !llvm::is_contained(Called, In))
      continue;
    for (const IterationBlock &Each : findCallBlocks(F, Functions.FAM)) {
      LoweredBlock Block{In, loweredPlaceOf(Each.Call->getDebugLoc()),
                         loweredPlaceOf(Each.Free->getDebugLoc()), !IsRegion};
      // A block of an inlined callee is examined there.
      if (Block.Allocated.Line != Block.Released.Line ||
          Block.Allocated.Column != Block.Released.Column)
        Blocks.push_back(std::move(Block));
    }
  }
}

} // namespace vfriendly::tidy
