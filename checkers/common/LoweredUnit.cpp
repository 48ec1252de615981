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
#include "clang/AST/DeclCXX.h"
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

/// Functions have the attribute AttrT while code is generated.
template <typename AttrT> class Marked {
public:
  void add(const FunctionDecl &F) {
    if (F.hasAttr<AttrT>())
      return;
    All.push_back(const_cast<FunctionDecl *>(&F));
    All.back()->addAttr(AttrT::CreateImplicit(F.getASTContext()));
  }
  Marked() = default;
  Marked(const Marked &) = delete;
  Marked &operator=(const Marked &) = delete;
  ~Marked() {
    for (FunctionDecl *Each : All)
      Each->dropAttr<AttrT>();
  }

private:
  SmallVector<FunctionDecl *, 8> All;
};

/// Functions have no bodies while code is generated. Otherwise clang emits each
/// function that is defined in a class and called, which nobody asks for.
class Hidden {
public:
  void add(const FunctionDecl &F) {
    // clang evaluates calls of constexpr functions.
    if (!isa<CXXRecordDecl>(F.getLexicalDeclContext()) || F.isConstexpr() ||
        !F.doesThisDeclarationHaveABody() || F.isLateTemplateParsed())
      return;
    All.push_back({const_cast<FunctionDecl *>(&F), F.getBody()});
    All.back().first->setBody(nullptr);
  }
  Hidden() = default;
  Hidden(const Hidden &) = delete;
  Hidden &operator=(const Hidden &) = delete;
  ~Hidden() {
    for (auto [F, Body] : All)
      F->setBody(Body);
  }

private:
  SmallVector<std::pair<FunctionDecl *, Stmt *>, 0> All;
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
  bool generate(const JudgesByForm &Judges) {
    std::vector<const FunctionDecl *> Definitions;
    DeclSet Known;
    Marked<UsedAttr> Used;
    Marked<NoDebugAttr> Unplaced;
    auto Add = [&](const FunctionDecl *F) {
      if (!Known.insert(F).second)
        return false;
      Definitions.push_back(F);
      return true;
    };
    for (Form Each : {AsWritten, Inlined})
      for (const FunctionDecl *F : rootsOf(Judges[Each])) {
        Add(F);
        Used.add(*F);
      }
    // As written, what the loops call is asked where it reads. Of all other
    // functions only the place of the call in the root counts, once they are
    // inlined, unless they have loops of their own.
    for (const FunctionDecl *F : withInlined(AsWritten, Judges[AsWritten], 0))
      Add(F);
    for (Form Each : {AsWritten, Inlined})
      for (const FunctionDecl *F : withInlined(Each, Judges[Each]))
        if (Add(F) && !Bodies->of(*F).HasLoop)
          Unplaced.add(*F);
    const size_t Looked = Definitions.size();
    for (auto &OfForm : Judges)
      for (const IrJudge *Judge : OfForm)
        for (const FunctionDecl *F : Judge->Beside) {
          Add(F);
          Used.add(*F);
        }
    Hidden Rest;
    for (const FunctionDecl *Each : ArrayRef(Definitions).take_front(Looked))
      for (const FunctionBody::Use &Use : Bodies->of(*Each).Uses)
        if (const FunctionDecl *F = loweredDefinition(*Use.Function);
            F && !Known.contains(F))
          Rest.add(*F);
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
    for (IrJudge *Judge : Judges)
      forJudge(*Judge, &IrJudge::tell);
    std::vector<const FunctionDecl *> All = withInlined(Wanted, Judges);
    DeclSet Needed(All.begin(), All.end());
    if (Wanted == AsWritten)
      simplifyEarly(Needed);
    else
      inlineCallees(rootsOf(Judges), Needed);
    for (IrJudge *Judge : Judges)
      forJudge(*Judge, &IrJudge::judge);
  }

private:
  static std::vector<const FunctionDecl *> rootsOf(ArrayRef<IrJudge *> Judges) {
    std::vector<const FunctionDecl *> Roots;
    for (const IrJudge *Judge : Judges)
      Roots.insert(Roots.end(), Judge->Roots.begin(), Judge->Roots.end());
    return Roots;
  }

  /// Returns the roots of Judges, and the definitions that are looked into. As
  /// written, calls outside of loops stay: what they do with a variable's
  /// address, or whether they add atomically, is asked up to 5 levels deep
  /// (Sharing.cpp, SpinLoops.cpp), and where a mapping is from without a limit.
  std::vector<const FunctionDecl *> withInlined(Form Wanted,
                                                ArrayRef<IrJudge *> Judges,
                                                unsigned DepthOutside = 5) {
    FunctionBodies::LoopSet Loops;
    bool FollowsValues = false;
    for (const IrJudge *Each : Judges) {
      Loops.insert(Each->Loops.begin(), Each->Loops.end());
      FollowsValues |= !Each->Beside.empty();
    }
    return Bodies->withInlined(
        rootsOf(Judges), Wanted == Inlined || FollowsValues ? nullptr : &Loops,
        DepthOutside);
  }

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
  void simplifyEarly(const DeclSet &Needed) {
    llvm::Module &M = *Generator->GetModule();
    llvm::InferFunctionAttrsPass().run(M, MAM);
    llvm::FunctionPassManager FPM;
    FPM.addPass(llvm::LowerExpectIntrinsicPass());
    FPM.addPass(llvm::SimplifyCFGPass());
    FPM.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    FPM.addPass(llvm::EarlyCSEPass());
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

  void inlineCallees(ArrayRef<const FunctionDecl *> Roots,
                     const DeclSet &Needed) {
    llvm::Module &M = *Generator->GetModule();
    DeclSet Judged(Roots.begin(), Roots.end());
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
  if (Judges[AsWritten].empty() && Judges[Inlined].empty())
    return *(Done = true);
  Lowering Lower(Context);
  Done = !Context.getDiagnostics().hasUncompilableErrorOccurred() &&
         Lower.generate(Judges);
  if (!*Done)
    return false;
  // The judges of the IR as written come first, because inlining changes it.
  for (Form Each : {AsWritten, Inlined})
    if (!Judges[Each].empty())
      Lower.judge(Each, Judges[Each]);
  return true;
}

} // namespace vfriendly::tidy
