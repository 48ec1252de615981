//===- WrittenWait.cpp - A wait, as a report and a fix-it need it ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/WrittenWait.h"

#include "checkers/spin-loops/Candidates.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

bool WrittenWait::isPlain() const {
  return llvm::all_of(Polls, [](const WrittenPoll &P) { return P.isPlain(); });
}

const WrittenPoll *WrittenWait::uniquePoll() const {
  const WrittenPoll *Unique = nullptr;
  for (const WrittenPoll &P : Polls) {
    if (P.TryLock || P.Unseen || !P.At.LValue)
      return nullptr;
    if (!Unique || (Unique->Tries && !P.Tries &&
                    isSamePlace(P.At, Unique->At, Does.Context))) {
      Unique = &P;
      continue;
    }
    if (!isSamePlace(P.At, Unique->At, Does.Context))
      return nullptr;
  }
  return Unique;
}

namespace {

/// Finds the expression that polls, by the place that debug information gives
/// for it.
class PollFinder {
public:
  PollFinder(const LoopShape &Shape, const Iteration &Does)
      : Shape(Shape), Does(Does), SM(Does.Context.getSourceManager()) {}

  WrittenPoll find(const LoweredPoll &Wanted);

private:
  void look(const Stmt *S);
  void lookIn(const Frame *In);
  bool isThere(SourceLocation At) const {
    return !Place || isAt(SM.getFileLoc(At), *Place, SM);
  }
  WrittenPoll callAt(const LoweredPoll &Wanted, const Frame *In) const;
  WrittenPoll accessAt(const LoweredPoll &Wanted, const Frame *In) const;
  WrittenPoll onlyRead(const LoweredPoll &Wanted);
  std::optional<WrittenPoll> findIn(const Frame *In,
                                    ArrayRef<LoweredPlace> Rest,
                                    const LoweredPoll &Wanted);

  const LoopShape &Shape;
  const Iteration &Does;
  const SourceManager &SM;
  const LoweredPlace *Place = nullptr; ///< Null for any.
  // What is at Place.
  llvm::SmallVector<const CallExpr *, 2> Calls;
  const Expr *Atomic = nullptr;
  llvm::SmallVector<const Expr *, 2> Reads; ///< The operands of reads.
  const GCCAsmStmt *Asm = nullptr;
};

void PollFinder::look(const Stmt *S) {
  if (!S || isa<LambdaExpr, UnaryExprOrTypeTraitExpr>(S))
    return;
  if (auto *Statement = dyn_cast<GCCAsmStmt>(S)) {
    if (!Asm && isThere(Statement->getBeginLoc()))
      Asm = Statement;
  } else if (auto *E = dyn_cast<Expr>(S)) {
    auto *Cast = dyn_cast<CastExpr>(E);
    if (Cast && Cast->getCastKind() == CK_LValueToRValue) {
      if (isThere(Cast->getSubExpr()->IgnoreParens()->getExprLoc()))
        Reads.push_back(Cast);
    } else if (matchAtomicOp(E)) {
      if (!Atomic && isThere(E->getExprLoc()))
        Atomic = E;
    } else if (auto *Called = dyn_cast<CallExpr>(E)) {
      if (isThere(Called->getExprLoc()))
        Calls.push_back(Called);
    }
  }
  for (const Stmt *Child : S->children())
    look(Child);
}

void PollFinder::lookIn(const Frame *In) {
  Calls.clear();
  Atomic = nullptr;
  Reads.clear();
  Asm = nullptr;
  if (In == Does.root())
    Shape.forEachPart([&](const Stmt *S) { look(S); });
  else
    look(In->Function->getBody());
}

WrittenPoll PollFinder::callAt(const LoweredPoll &Wanted,
                               const Frame *In) const {
  WrittenPoll Found;
  const CallExpr *Call = Calls.front();
  Found.Access = Call;
  Found.In = In;
  if (Wanted.How == LoweredPoll::TryLock)
    Found.TryLock = Call->getDirectCallee();
  if (!Found.TryLock)
    Found.Unseen = Call;
  return Found;
}

/// Returns the x of std::atomic_ref(x); for any other expression, E.
static const Expr *referredBy(const Expr *E) {
  const Expr *Bare = E->IgnoreParenImpCasts()->IgnoreImplicit();
  if (auto *Cast = dyn_cast<CXXFunctionalCastExpr>(Bare))
    Bare = Cast->getSubExpr()->IgnoreImplicit();
  auto *Construct = dyn_cast<CXXConstructExpr>(Bare);
  return Construct && isAtomicRef(Construct->getType()) &&
                 Construct->getNumArgs() == 1 &&
                 !isAtomicRef(Construct->getArg(0)->getType())
             ? Construct->getArg(0)
             : E;
}

WrittenPoll PollFinder::accessAt(const LoweredPoll &Wanted,
                                 const Frame *In) const {
  WrittenPoll Found;
  Found.In = In;
  const Expr *Object = nullptr;
  bool IsPointer = false;
  if (Atomic || Asm) {
    Found.Atomic = true;
    Found.Access = Atomic;
    const Rmw *Tries =
        Does.findRmw(Atomic ? static_cast<const Stmt *>(Atomic) : Asm, In);
    std::optional<AtomicOp> Op;
    if (Tries)
      Op = Tries->Op;
    else if (Atomic)
      Op = matchAtomicOp(Atomic);
    if (!Op)
      return Found;
    if (Wanted.How == LoweredPoll::Try)
      Found.Tries = Tries;
    Object = Op->Object;
    IsPointer = Op->ObjectIsPointer;
  } else {
    Found.Access = Reads.front();
    Object = cast<CastExpr>(Reads.front())->getSubExpr();
    Found.Atomic = isAtomicType(Object->getType());
  }
  if (!IsPointer)
    Object = referredBy(Object);
  Found.At = IsPointer ? pointeeOf(Object, In) : placeOf(Object, In);
  Found.Type =
      IsPointer ? Object->getType()->getPointeeType() : Object->getType();
  Found.Volatile = Found.Type.isVolatileQualified();
  return Found;
}

/// Returns the read of the loop if it has only one that Wanted may be. Used if
/// the place of a read is not known: if it was moved, for example.
WrittenPoll PollFinder::onlyRead(const LoweredPoll &Wanted) {
  WrittenPoll Found;
  Found.Volatile = Wanted.Volatile;
  Found.Atomic = Wanted.Atomic;
  Place = nullptr;
  lookIn(Does.root());
  llvm::erase_if(Reads, [&](const Expr *E) {
    auto *Object = cast<CastExpr>(E)->getSubExpr();
    return !isShared(Object) ||
           isAtomicType(Object->getType()) != Wanted.Atomic ||
           Object->getType().isVolatileQualified() != Wanted.Volatile;
  });
  if (Wanted.How != LoweredPoll::Read || Reads.size() != 1)
    return Found;
  Atomic = nullptr;
  Asm = nullptr;
  return accessAt(Wanted, Does.root());
}

/// Looks in the function of frame In for what the last place of Rest polls.
/// Several calls may be at one place, if a macro makes them.
std::optional<WrittenPoll> PollFinder::findIn(const Frame *In,
                                              ArrayRef<LoweredPlace> Rest,
                                              const LoweredPoll &Wanted) {
  if (Rest.empty())
    return std::nullopt;
  Place = &Rest.front();
  lookIn(In);
  bool IsCall =
      Wanted.How == LoweredPoll::TryLock || Wanted.How == LoweredPoll::Call;
  bool IsLast = Rest.size() == 1;
  if (IsCall && IsLast && !Calls.empty())
    return callAt(Wanted, In);
  if (!IsCall && (Atomic || (IsLast && (Asm || !Reads.empty()))))
    return accessAt(Wanted, In);
  for (const CallExpr *Each : llvm::SmallVector<const CallExpr *, 2>(Calls))
    if (const Frame *Callee = Does.Calls.lookup({Each, In}))
      if (auto Found = findIn(Callee, Rest.drop_front(), Wanted))
        return Found;
  return std::nullopt;
}

WrittenPoll PollFinder::find(const LoweredPoll &Wanted) {
  if (auto Found = findIn(Does.root(), Wanted.Chain, Wanted))
    return *Found;
  return onlyRead(Wanted);
}

/// Returns true if P reads a device register: a constant address, or an untyped
/// one that is made volatile. Programs do not change registers by atomic
/// operations, but some keep the address of a lock as a number or void *.
bool isDevice(const WrittenPoll &P) {
  return P.At.LValue && P.Volatile && !P.Tries &&
         (P.At.Where == Place::Device || P.At.Untyped);
}

/// Returns true if P may be the poll of a device driver that waits until the
/// device has written to memory. A driver reads such memory through a pointer;
/// threads of a program use the name of a variable.
bool mayBeWrittenByDevice(const WrittenPoll &P) {
  if (!P.At.LValue || P.Tries)
    return false;
  const Expr *E = P.At.LValue->IgnoreParenImpCasts();
  auto *Op = dyn_cast<UnaryOperator>(E);
  auto *Sum = dyn_cast<BinaryOperator>(E);
  return (Op && Op->getOpcode() == UO_Deref) || (Sum && Sum->isAdditiveOp());
}

/// Returns true if P reads at a number of bytes from an address, as drivers
/// read registers: *(volatile uint32_t *)(bar + STATUS).
bool readsAtOffset(const WrittenPoll &P) {
  if (!P.At.LValue || !P.Volatile || P.Tries)
    return false;
  auto *Op = dyn_cast<UnaryOperator>(P.At.LValue->IgnoreParenImpCasts());
  auto *Cast =
      Op && Op->getOpcode() == UO_Deref
          ? dyn_cast<ExplicitCastExpr>(Op->getSubExpr()->IgnoreParens())
          : nullptr;
  auto *Sum =
      Cast ? dyn_cast<BinaryOperator>(Cast->getSubExpr()->IgnoreParenImpCasts())
           : nullptr;
  return Sum && Sum->isAdditiveOp() && Sum->getType()->isPointerType() &&
         Sum->getType()->getPointeeType()->isCharType();
}

/// Returns true if P calls a member function that may change an object of the
/// loop's own function: such a loop ends by itself.
bool isOwnProgress(const WrittenPoll &P) {
  auto *Call = dyn_cast_or_null<CXXMemberCallExpr>(P.Unseen);
  const CXXMethodDecl *Method = Call ? Call->getMethodDecl() : nullptr;
  if (!Method || Method->isConst())
    return false;
  const Expr *Object = Call->getImplicitObjectArgument();
  Place At = Object->getType()->isPointerType() ? pointeeOf(Object, P.In)
                                                : placeOf(Object, P.In);
  return At.Where == Place::Local;
}

/// Returns true for a member of a structure that contains a pointer to its own
/// type.
bool isInQueueNode(const Place &P) {
  auto *Member =
      P.LValue ? dyn_cast<MemberExpr>(P.LValue->IgnoreParenCasts()) : nullptr;
  auto *Field = Member ? dyn_cast<FieldDecl>(Member->getMemberDecl()) : nullptr;
  if (!Field)
    return false;
  auto LinksTo = [](QualType T, const RecordDecl *Record) {
    if (auto *Atomic = T->getAs<clang::AtomicType>())
      T = Atomic->getValueType();
    if (auto *Special = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
            T->getAsCXXRecordDecl());
        Special && isAtomicType(T) && Special->getTemplateArgs().size() == 1)
      T = Special->getTemplateArgs()[0].getAsType();
    return T->isPointerType() && T->getPointeeType()->getAsRecordDecl() &&
           T->getPointeeType()->getAsRecordDecl()->getCanonicalDecl() ==
               Record->getCanonicalDecl();
  };
  const RecordDecl *Record = Field->getParent();
  return llvm::any_of(Record->fields(), [&](const FieldDecl *F) {
    return LinksTo(F->getType(), Record);
  });
}

/// Returns the kind, as the types and the text of the source tell it.
SpinKind refineKind(SpinKind Kind, const WrittenWait &Spin) {
  bool Tries = false, TriesCall = false;
  for (const WrittenPoll &P : Spin.Polls) {
    Tries |= P.Tries != nullptr;
    TriesCall |= P.TryLock != nullptr;
  }
  if (Kind == SpinKind::Call ||
      (!Tries &&
       (Kind == SpinKind::TryLock || Kind == SpinKind::TestAndTestAndSet)))
    Kind = SpinKind::Flag;
  if (TriesCall || Tries || Kind == SpinKind::Ticket)
    return Kind;
  // Pointers in IR have no types, so a queue node is seen here only.
  if (isInQueueNode(Spin.Polls.front().At))
    return SpinKind::Queue;
  return Kind == SpinKind::Queue ? SpinKind::Flag : Kind;
}

} // namespace

/// Returns true if the text of the loop contains Place.
bool contains(const LoopShape &Shape, const LoweredPlace &Place,
              const SourceManager &SM) {
  SourceRange Range = Shape.range();
  PresumedLoc Begin = SM.getPresumedLoc(SM.getExpansionLoc(Range.getBegin())),
              End = SM.getPresumedLoc(
                  SM.getExpansionRange(Range.getEnd()).getEnd());
  auto At = std::make_pair(Place.Line, Place.Column);
  return Begin.isValid() && End.isValid() &&
         Begin.getFilename() == Place.File &&
         std::make_pair(Begin.getLine(), Begin.getColumn()) <= At &&
         At <= std::make_pair(End.getLine(), End.getColumn());
}

WrittenWait::WrittenWait(const WrittenLoop &Loop, const LoweredWait &Wait,
                         const FunctionDecl &Function, Escapes &Escaping)
    : WaitFacts(Wait), Loop(Loop), Shape(Loop.Shape),
      Does(Loop.Shape, Function, Escaping) {
  PollFinder Finder(Shape, Does);
  const SourceManager &SM = Does.Context.getSourceManager();
  for (const LoweredPoll &Each : Wait.Polls) {
    if (!Each.Chain.empty() && !contains(Shape, Each.Chain.front(), SM))
      continue;
    WrittenPoll P = Finder.find(Each);
    if (isOwnProgress(P))
      continue;
    Polls.push_back(P);
    IsDevice |= isDevice(Polls.back());
    if (Each.Varies && Doubt.empty())
      Doubt = "each iteration polls several objects";
  }
  // A driver delays for a time that its device needs.
  IsDevice |= !Wait.Doubt.empty() && Sleeps && !Pauses && !Yields &&
              (llvm::any_of(Polls, readsAtOffset) ||
               (Counts && llvm::any_of(Polls, mayBeWrittenByDevice)));
  IsWork |= Does.CallsRuntime;
  if (!Polls.empty())
    Kind = refineKind(Kind, *this);
}

} // namespace vfriendly::tidy
