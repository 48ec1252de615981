//===- PipelineCheck.cpp - vfriendly-blocking-sync-pipeline ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
enum class Role { None, Takes, Puts };
} // namespace

/// Returns true if a word of Name begins at the offset At. The words of
/// `getItem`, `get_item` and `GetItem` begin at 0 and at the I of Item.
static bool beginsWord(StringRef Name, size_t At) {
  return At == 0 || !isalpha(Name[At - 1]) || isupper(Name[At]);
}

/// Returns true if one of the words of a name is one of Words.
static bool hasWord(StringRef Name, ArrayRef<StringRef> Words) {
  std::string Lower = Name.lower();
  for (StringRef Word : Words) {
    for (size_t At = Lower.find(Word.str()); At != std::string::npos;
         At = Lower.find(Word.str(), At + 1)) {
      size_t End = At + Word.size();
      if (beginsWord(Name, At) && (End == Name.size() || !islower(Name[End])))
        return true;
    }
  }
  return false;
}

/// Returns true if the last word of a name is one of Words.
static bool endsWithWord(StringRef Name, ArrayRef<StringRef> Words) {
  return llvm::any_of(Words, [&](StringRef Word) {
    return Name.ends_with_insensitive(Word) &&
           beginsWord(Name, Name.size() - Word.size());
  });
}

static constexpr StringRef TakeWords[] = {"pop",     "get",   "take",
                                          "receive", "fetch", "remove"};
static constexpr StringRef PutWords[] = {"push", "put",    "send",
                                         "add",  "insert", "append"};

/// Returns whether a call takes an item from a queue or puts one into it. If
/// the definition of the callee is not visible, only unambiguous names are
/// accepted, such as enqueue and queue_put.
static Role roleOf(const CallSite &C, const SyncModel &Model) {
  StringRef Name = identifierOf(C.Callee);
  if (Name.empty())
    return Role::None;
  if (hasWord(Name, {"dequeue"}))
    return Role::Takes;
  if (hasWord(Name, {"enqueue"}))
    return Role::Puts;
  if (!Model.of(C.Callee) && hasWord(Name, {"queue"}))
    return endsWithWord(Name, TakeWords)  ? Role::Takes
           : endsWithWord(Name, PutWords) ? Role::Puts
                                          : Role::None;
  if (!Model.mayWait(C.Callee))
    return Role::None;
  return hasWord(Name, TakeWords)  ? Role::Takes
         : hasWord(Name, PutWords) ? Role::Puts
                                   : Role::None;
}

/// Returns the queue that Call uses: the object of a member call, or the first
/// argument of another call.
static const ValueDecl *queueOf(const CallExpr &Call) {
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call))
    return objectOf(Member->getImplicitObjectArgument());
  return Call.getNumArgs() ? objectOf(Call.getArg(0)) : nullptr;
}

/// Returns true if Loop takes items only until the queue is empty. Unlike a
/// pipeline stage, such a loop never waits for an item.
static bool drains(const Stmt *Loop, const CallExpr &Take) {
  auto *While = dyn_cast<WhileStmt>(Loop);
  bool Asks = false;
  if (While)
    forEachStmt(While->getCond(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
      Asks |= hasWord(identifierOf(calleeOf(S)), {"empty"}) &&
              queueOf(*cast<CallExpr>(S)) == queueOf(Take);
    });
  return Asks;
}

/// Returns the variable that the result of a call is stored in; null if there
/// is none.
static const ValueDecl *resultOf(const CallSite &C) {
  if (const ValueDecl *Declared = declaredAt(C.Parents))
    return Declared;
  for (const Stmt *S : llvm::reverse(C.Parents))
    if (auto *Assignment = dyn_cast<BinaryOperator>(S);
        Assignment && Assignment->getOpcode() == BO_Assign)
      return objectOf(Assignment->getLHS());
  return nullptr;
}

/// Returns true if the condition holds where Item is null or zero.
static bool isEndMarker(const Expr *Condition, const ValueDecl *Item) {
  Condition = Condition->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(Condition))
    return Not->getOpcode() == UO_LNot && objectOf(Not->getSubExpr()) == Item;
  auto *Equal = dyn_cast<BinaryOperator>(Condition);
  if (!Equal || Equal->getOpcode() != BO_EQ)
    return false;
  const ValueDecl *Sides[] = {objectOf(Equal->getLHS()),
                              objectOf(Equal->getRHS())};
  return (Sides[0] == Item && !Sides[1]) || (Sides[1] == Item && !Sides[0]);
}

/// Returns true if Put is executed only where Take has returned the end marker.
/// Put then reports the end, and does not pass an item on.
static bool isAnswerToEnd(const CallSite &Put, const CallSite &Take) {
  const ValueDecl *Item = resultOf(Take);
  return Item && llvm::any_of(Put.Parents, [&](const Stmt *S) {
           auto *If = dyn_cast<IfStmt>(S);
           return If && isEndMarker(If->getCond(), Item) &&
                  (If->getThen() == Put.Call ||
                   llvm::is_contained(Put.Parents, If->getThen()));
         });
}

namespace {
struct Stage {
  const CallExpr *Take;
  const Stmt *Loop;
  const FunctionDecl *Function;
};
} // namespace

/// If F is a pipeline stage, returns the stage's call, loop and function. A
/// stage takes items from one queue in a loop and puts them into another queue.
static std::optional<Stage> stageOf(const FunctionSync &F,
                                    const SyncModel &Model) {
  for (const CallSite &Take : F.Calls) {
    if (roleOf(Take, Model) != Role::Takes)
      continue;
    const Stmt *Loop = nullptr;
    for (const Stmt *Parent : Take.Parents)
      if (!Loop && innermostLoop(Parent))
        Loop = Parent;
    // Excludes loops over known items: there Take fetches something else for
    // each item, such as a free buffer. A pipeline stage does not know an item
    // before it takes the item.
    const Stmt *Innermost = innermostLoop(Take.Parents);
    if (!Loop || isOverKnownItems(Innermost) || drains(Innermost, *Take.Call))
      continue;
    for (const CallSite &Put : F.Calls)
      if (roleOf(Put, Model) == Role::Puts &&
          llvm::is_contained(Put.Parents, Loop) &&
          queueOf(*Put.Call) != queueOf(*Take.Call) &&
          !isAnswerToEnd(Put, Take))
        return Stage{Take.Call, Loop, F.Function};
  }
  return std::nullopt;
}

void PipelineCheck::inspect(const SyncModel &Model, const ASTContext &Context) {
  SmallVector<Stage, 8> Stages;
  for (const FunctionSync &F : Model.functions())
    if (std::optional<Stage> Found = stageOf(F, Model))
      Stages.push_back(*Found);
  // A single function that moves items is no pipeline.
  if (Stages.size() < 2)
    return;
  for (auto [Take, Loop, Function] : Stages)
    if (claim(Take->getExprLoc(), Function, Context))
      report(*Take, *Loop, *Function,
             "'" + Function->getNameAsString() + "' is a stage of a pipeline",
             "process independent items in one parallel loop");
}

} // namespace vfriendly::tidy
