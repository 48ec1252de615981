//===- LoweredUnit.cpp - The LLVM IR of a translation unit ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/LoweredUnit.h"

#include "checkers/common/ClangVersions.h"
#include "checkers/common/PerUnit.h"

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
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/InferFunctionAttrs.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LowerExpectIntrinsic.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace clang;

namespace vfriendly::tidy {

IrJudge::~IrJudge() = default;

bool isInlined(const llvm::DebugLoc &At) {
  llvm::DebugLoc Call = At.getInlinedAt();
  auto *In = Call ? llvm::getDISubprogram(Call.getScope()) : nullptr;
  return In && !In->getLinkageName().starts_with(".omp_task_entry.");
}

LoweredPlace loweredPlaceOf(const llvm::DebugLoc &At) {
  llvm::DebugLoc Place = At;
  while (Place && isInlined(Place))
    Place = Place.getInlinedAt();
  if (!Place)
    return {};
  return {Place->getFilename().str(), Place.getLine(), Place.getCol()};
}

namespace {

/// Marks functions as used while code is generated, so that those with internal
/// linkage and inline ones are emitted too.
class Used {
public:
  void add(ArrayRef<const FunctionDecl *> Functions) {
    for (const FunctionDecl *Each : Functions) {
      if (Each->hasAttr<UsedAttr>())
        continue;
      Marked.push_back(const_cast<FunctionDecl *>(Each));
      Marked.back()->addAttr(UsedAttr::CreateImplicit(Each->getASTContext()));
    }
  }
  Used() = default;
  Used(const Used &) = delete;
  Used &operator=(const Used &) = delete;
  ~Used() {
    for (FunctionDecl *Each : Marked)
      Each->dropAttr<UsedAttr>();
  }

private:
  SmallVector<FunctionDecl *, 8> Marked;
};

using DeclSet = llvm::SmallPtrSet<const FunctionDecl *, 16>;

} // namespace

class LoweredUnit::Lowering {
public:
  explicit Lowering(ASTContext &Context) : Context(Context) {
    LLVM.setDiscardValueNames(true);
    Options.OptimizationLevel = 2; // At 0 all functions get optnone.
    Options.setInlining(CodeGenOptions::NormalInlining);
    Options.CXXCtorDtorAliases = true; // As the driver: one level of calls.
    Options.setDebugInfo(llvm::codegenoptions::LocTrackingOnly);
    Options.DebugColumnInfo = true;
    // Sets a folder that is no prefix of any path. The debug information then
    // contains file names exactly as the SourceManager presumes them.
    Options.DebugCompilationDir = "/vfriendly";
    Options.DiscardValueNames = true;
    Options.EmitLLVMUseLists = false;
    Diags.Engine.setSourceManager(&Context.getSourceManager());
    Generator = std::unique_ptr<CodeGenerator>(CreateLLVMCodeGen(
        Diags.Engine, "vfriendly",
        &Context.getSourceManager().getFileManager().getVirtualFileSystem(),
        Headers, Preprocessing, Options, LLVM));
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  }

  /// Generates IR for the roots of all judges and the definitions that may be
  /// inlined into them. Returns false if clang cannot generate the IR.
  bool generate(ArrayRef<IrJudge *> Judges) {
    std::vector<const FunctionDecl *> Roots;
    DeclSet Seen;
    for (const IrJudge *Judge : Judges)
      llvm::copy_if(
          Judge->Roots, std::back_inserter(Roots),
          [&](const FunctionDecl *F) { return Seen.insert(F).second; });
    std::vector<const FunctionDecl *> Definitions = Bodies->withInlined(Roots);
    Used Marks;
    Marks.add(Roots);
    for (const IrJudge *Judge : Judges) {
      Marks.add(Judge->Beside);
      llvm::copy_if(Judge->Beside, std::back_inserter(Definitions),
                    [&](const FunctionDecl *F) {
                      return !llvm::is_contained(Definitions, F);
                    });
    }
    Generator->Initialize(Context);
    // Emits callees before their callers, because a call can use only functions
    // that have been declared by then.
    for (const FunctionDecl *Each : llvm::reverse(Definitions))
      Generator->HandleTopLevelDecl(
          DeclGroupRef(const_cast<FunctionDecl *>(Each)));
    Generator->HandleTranslationUnit(Context);
    return Generator->GetModule() != nullptr;
  }

  /// Simplifies the functions that Judges need, and calls Judges.
  void judge(Form Wanted, ArrayRef<IrJudge *> Judges) {
    std::vector<const FunctionDecl *> Roots;
    for (IrJudge *Judge : Judges) {
      Roots.insert(Roots.end(), Judge->Roots.begin(), Judge->Roots.end());
      forJudge(*Judge, &IrJudge::tell);
    }
    if (Wanted == AsWritten)
      simplifyEarly(Roots);
    else
      inlineCallees(Roots);
    for (IrJudge *Judge : Judges)
      forJudge(*Judge, &IrJudge::judge);
  }

private:
  /// Returns the declaration of F, or of the function around the OpenMP region
  /// or task that clang has made F of.
  const FunctionDecl *declOf(const llvm::Function &F) {
    if (F.getName().starts_with(".omp_")) // A task, or what it calls.
      for (const llvm::User *Each : F.users())
        if (auto *Creates = dyn_cast<llvm::Instruction>(Each))
          return declOf(*Creates->getFunction());
    StringRef Name = F.getName().split(".omp_outlined").first;
    return dyn_cast_or_null<FunctionDecl>(
        Generator->GetDeclForMangledName(Name));
  }

  void forJudge(IrJudge &Judge,
                void (IrJudge::*Does)(const LoweredFunctions &)) {
    DeclSet Roots(Judge.Roots.begin(), Judge.Roots.end());
    auto DeclOf = [&](const llvm::Function &F) { return declOf(F); };
    auto RootOf = [&](const llvm::Function &F) -> const FunctionDecl * {
      const FunctionDecl *D = F.isDeclaration() ? nullptr : declOf(F);
      return Roots.contains(D) ? D : nullptr;
    };
    (Judge.*Does)({*Generator->GetModule(), FAM, DeclOf, RootOf});
  }

  /// Runs what clang runs before the plugin's early passes.
  void simplifyEarly(ArrayRef<const FunctionDecl *> Roots) {
    llvm::Module &M = *Generator->GetModule();
    llvm::InferFunctionAttrsPass().run(M, MAM);
    llvm::FunctionPassManager FPM;
    FPM.addPass(llvm::LowerExpectIntrinsicPass());
    FPM.addPass(llvm::SimplifyCFGPass());
    FPM.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    FPM.addPass(llvm::EarlyCSEPass());
    DeclSet Needed = neededFor(Roots);
    for (llvm::Function &F : M)
      if (!F.isDeclaration() && Needed.contains(declOf(F)))
        FAM.invalidate(F, FPM.run(F, FAM));
  }

  /// Returns the passes that make the flow of values visible: they replace
  /// local variables by SSA values.
  static llvm::FunctionPassManager simplify() {
    llvm::FunctionPassManager FPM;
    FPM.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    FPM.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    FPM.addPass(llvm::SimplifyCFGPass());
    // Uses InstSimplify and not InstCombine, which deletes allocations of
    // blocks that are only written.
    FPM.addPass(llvm::InstSimplifyPass());
    return FPM;
  }

  void inlineCallees(ArrayRef<const FunctionDecl *> Roots) {
    llvm::Module &M = *Generator->GetModule();
    DeclSet Needed = neededFor(Roots), Judged(Roots.begin(), Roots.end());
    for (llvm::Function &F : M)
      if (!F.isDeclaration() && !Judged.contains(declOf(F))) {
        if (Needed.contains(declOf(F)))
          makeInternal(F);
        else
          F.deleteBody();
      }
    llvm::FunctionPassManager First;
    // Removes calls of llvm.expect, which hide comparisons with null.
    First.addPass(llvm::LowerExpectIntrinsicPass());
    First.addPass(simplify());
    llvm::ModulePassManager MPM;
    MPM.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(First)));
    llvm::ModuleInlinerWrapperPass Inliner(llvm::getInlineParams(2, 0));
    // Infers which memory each callee writes: all other memory still has its
    // known values after a call.
    Inliner.getPM().addPass(llvm::PostOrderFunctionAttrsPass());
    Inliner.getPM().addPass(llvm::createCGSCCToFunctionPassAdaptor(simplify()));
    MPM.addPass(std::move(Inliner));
    MPM.run(M, MAM);
  }

  DeclSet neededFor(ArrayRef<const FunctionDecl *> Roots) {
    std::vector<const FunctionDecl *> All = Bodies->withInlined(Roots);
    return DeclSet(All.begin(), All.end());
  }

  /// Lets the inliner delete F once all its calls are inlined.
  static void makeInternal(llvm::Function &F) {
    F.setComdat(nullptr);
    F.setLinkage(llvm::GlobalValue::InternalLinkage);
    F.setVisibility(llvm::GlobalValue::DefaultVisibility);
    F.setDLLStorageClass(llvm::GlobalValue::DefaultStorageClass);
  }

  ASTContext &Context;
  std::shared_ptr<FunctionBodies> Bodies = perUnit<FunctionBodies>();
  SilentDiagnostics Diags;
  HeaderSearchOptions Headers;
  PreprocessorOptions Preprocessing;
  CodeGenOptions Options;
  llvm::LLVMContext LLVM;
  std::unique_ptr<CodeGenerator> Generator;
  llvm::PassBuilder PB;
  llvm::LoopAnalysisManager LAM;
  llvm::FunctionAnalysisManager FAM;
  llvm::CGSCCAnalysisManager CGAM;
  llvm::ModuleAnalysisManager MAM;
};

LoweredUnit::LoweredUnit() = default;
LoweredUnit::~LoweredUnit() = default;

void LoweredUnit::add(Form Wanted, IrJudge &Judge) {
  Judges[Wanted].push_back(&Judge);
}

bool LoweredUnit::judge(ASTContext &Context) {
  if (Done)
    return *Done;
  for (auto &Each : Judges)
    llvm::erase_if(Each, [](IrJudge *Judge) { return Judge->Roots.empty(); });
  SmallVector<IrJudge *, 2> All = Judges[AsWritten];
  All.append(Judges[Inlined]);
  if (All.empty())
    return *(Done = true);
  Lowering Lower(Context);
  Done = !Context.getDiagnostics().hasUncompilableErrorOccurred() &&
         Lower.generate(All);
  if (!*Done)
    return false;
  // The judges of the IR as written come first, because inlining changes it.
  for (Form Each : {AsWritten, Inlined})
    if (!Judges[Each].empty())
      Lower.judge(Each, Judges[Each]);
  return true;
}

} // namespace vfriendly::tidy
