//===- LoweredHeap.cpp - Analysis of heap use in LLVM IR ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/LoweredHeap.h"

#include "checkers/common/ClangVersions.h"
#include "checkers/heap-churn/HeapReach.h"
#include "passes/heap-churn/IterationBlocks.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclGroup.h"
#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LowerExpectIntrinsic.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Marks functions as used while code is generated, so that those with internal
/// linkage and inline ones are emitted too.
class Used {
public:
  explicit Used(ArrayRef<const FunctionDecl *> Functions) {
    for (const FunctionDecl *Each : Functions) {
      if (Each->hasAttr<UsedAttr>())
        continue;
      Marked.push_back(const_cast<FunctionDecl *>(Each));
      Marked.back()->addAttr(UsedAttr::CreateImplicit(Each->getASTContext()));
    }
  }
  Used(const Used &) = delete;
  Used &operator=(const Used &) = delete;
  ~Used() {
    for (FunctionDecl *Each : Marked)
      Each->dropAttr<UsedAttr>();
  }

private:
  SmallVector<FunctionDecl *, 8> Marked;
};

class Lowering {
public:
  Lowering(ASTContext &Context, HeapCalls &Heap)
      : Context(Context), Heap(Heap) {
    LLVM.setDiscardValueNames(true);
    Options.OptimizationLevel = 2; // At 0 all functions get optnone.
    Options.setInlining(CodeGenOptions::NormalInlining);
    Options.setDebugInfo(llvm::codegenoptions::LocTrackingOnly);
    Options.DebugColumnInfo = true;
    // Sets a folder that is no prefix of any path. The debug information then
    // contains file names exactly as the SourceManager presumes them.
    Options.DebugCompilationDir = "/vfriendly";
    Options.DiscardValueNames = true;
    Options.EmitLLVMUseLists = false;
    Diags.Engine.setSourceManager(&Context.getSourceManager());
    Generator = std::unique_ptr<CodeGenerator>(CreateLLVMCodeGen(
        Diags.Engine, "heap-churn",
        &Context.getSourceManager().getFileManager().getVirtualFileSystem(),
        Headers, Preprocessing, Options, LLVM));
  }

  /// Generates IR for the functions Definitions. Uncalled are those of them to
  /// examine; these are emitted even without a caller. Returns false if clang
  /// cannot generate the IR.
  bool generate(ArrayRef<const FunctionDecl *> Uncalled,
                ArrayRef<const FunctionDecl *> Definitions) {
    Roots.insert(Uncalled.begin(), Uncalled.end());
    Used Marks(Uncalled);
    Generator->Initialize(Context);
    // Emits callees before their callers, because a call can use only functions
    // that have been declared by then.
    for (const FunctionDecl *Each : llvm::reverse(Definitions))
      Generator->HandleTopLevelDecl(
          DeclGroupRef(const_cast<FunctionDecl *>(Each)));
    Generator->HandleTranslationUnit(Context);
    return Generator->GetModule() != nullptr;
  }

  std::vector<LoweredBlock> judge() {
    llvm::Module &M = *Generator->GetModule();
    for (llvm::Function &F : M)
      if (F.isDeclaration())
        tellHeap(F);
      else if (!rootOf(F))
        makeInternal(F);

    llvm::PassBuilder PB;
    llvm::LoopAnalysisManager LAM;
    llvm::FunctionAnalysisManager FAM;
    llvm::CGSCCAnalysisManager CGAM;
    llvm::ModuleAnalysisManager MAM;
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
    simplification().run(M, MAM);

    std::vector<LoweredBlock> Found;
    for (llvm::Function &F : M)
      if (const FunctionDecl *In = F.isDeclaration() ? nullptr : rootOf(F))
        for (const IterationBlock &Each : findIterationBlocks(F, FAM))
          if (isOwn(*Each.L))
            Found.push_back({In, placeOf(*Each.Call), placeOf(*Each.Free)});
    return Found;
  }

private:
  const FunctionDecl *declOf(const llvm::Function &F) {
    return dyn_cast_or_null<FunctionDecl>(
        Generator->GetDeclForMangledName(F.getName()));
  }

  const FunctionDecl *rootOf(const llvm::Function &F) {
    const FunctionDecl *D = declOf(F);
    return Roots.contains(D) ? D : nullptr;
  }

  /// Gives F the LLVM attributes of an allocation or release function if
  /// HeapCalls knows F as one.
  void tellHeap(llvm::Function &F) {
    const FunctionDecl *D = declOf(F);
    const HeapFunction *Does = D ? Heap.find(*D) : nullptr;
    if (!Does)
      return;
    bool Takes =
             Does->Op == HeapOp::Allocate && F.getReturnType()->isPointerTy(),
         Gives = Does->Op == HeapOp::Release && Does->Pointer &&
                 *Does->Pointer < F.arg_size() &&
                 F.getArg(*Does->Pointer)->getType()->isPointerTy();
    if (Takes || Gives) {
      F.addFnAttrs(llvm::AttrBuilder(LLVM).addAllocKindAttr(
          Takes ? llvm::AllocFnKind::Alloc : llvm::AllocFnKind::Free));
      // All functions share one allocation family: a program that allocates
      // with one family and releases with another has a bug.
      F.addFnAttr("alloc-family", "malloc");
    }
    if (Gives)
      F.addParamAttr(*Does->Pointer, llvm::Attribute::AllocatedPointer);
  }

  /// Lets the inliner delete F once all its calls are inlined.
  static void makeInternal(llvm::Function &F) {
    F.setComdat(nullptr);
    F.setLinkage(llvm::GlobalValue::InternalLinkage);
    F.setVisibility(llvm::GlobalValue::DefaultVisibility);
    F.setDLLStorageClass(llvm::GlobalValue::DefaultStorageClass);
  }

  /// Returns the passes that make the flow of blocks visible: they inline
  /// callees and replace local variables by SSA values.
  static llvm::ModulePassManager simplification() {
    auto Simplify = [] {
      llvm::FunctionPassManager FPM;
      FPM.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
      FPM.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
      FPM.addPass(llvm::SimplifyCFGPass());
      // Uses InstSimplify and not InstCombine, which deletes allocations of
      // blocks that are only written.
      FPM.addPass(llvm::InstSimplifyPass());
      return FPM;
    };
    llvm::FunctionPassManager First;
    // Removes calls of llvm.expect, which hide comparisons with null.
    First.addPass(llvm::LowerExpectIntrinsicPass());
    First.addPass(Simplify());
    llvm::ModulePassManager MPM;
    MPM.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(First)));
    llvm::ModuleInlinerWrapperPass Inliner(llvm::getInlineParams(2, 0));
    // Infers which memory each callee writes: all other memory still has its
    // known values after a call.
    Inliner.getPM().addPass(llvm::PostOrderFunctionAttrsPass());
    Inliner.getPM().addPass(llvm::createCGSCCToFunctionPassAdaptor(Simplify()));
    MPM.addPass(std::move(Inliner));
    return MPM;
  }

  /// Returns true if L is a loop of the function itself. A loop that was
  /// inlined from another function is examined in that function.
  static bool isOwn(const llvm::Loop &L) {
    llvm::DebugLoc Begin = L.getStartLoc();
    return Begin && !Begin.getInlinedAt();
  }

  static LoweredPlace placeOf(const llvm::Instruction &I) {
    llvm::DebugLoc Place = I.getDebugLoc();
    while (Place && Place.getInlinedAt())
      Place = Place.getInlinedAt();
    if (!Place)
      return {};
    return {Place->getFilename().str(), Place.getLine(), Place.getCol()};
  }

  ASTContext &Context;
  HeapCalls &Heap;
  SilentDiagnostics Diags;
  HeaderSearchOptions Headers;
  PreprocessorOptions Preprocessing;
  CodeGenOptions Options;
  llvm::LLVMContext LLVM;
  std::unique_ptr<CodeGenerator> Generator;
  llvm::SmallPtrSet<const FunctionDecl *, 8> Roots;
};

} // namespace

std::optional<std::vector<LoweredBlock>>
findLoweredBlocks(ASTContext &Context, HeapCalls &Heap,
                  ArrayRef<const FunctionDecl *> Functions) {
  HeapReach Reach(Context, Heap);
  std::vector<const FunctionDecl *> Roots;
  llvm::copy_if(Functions, std::back_inserter(Roots),
                [&](const FunctionDecl *Each) { return Reach.churns(*Each); });
  if (Roots.empty())
    return std::vector<LoweredBlock>();
  Lowering Lower(Context, Heap);
  if (Context.getDiagnostics().hasUncompilableErrorOccurred() ||
      !Lower.generate(Roots, Reach.withInlined(Roots)))
    return std::nullopt;
  return Lower.judge();
}

} // namespace vfriendly::tidy
