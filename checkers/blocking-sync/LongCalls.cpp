//===- LongCalls.cpp - What may sleep or take long ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/LongCalls.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/NameWords.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum depth of calls that are followed. What is further away happens
/// seldom: on the way there are conditions.
static constexpr unsigned MaxDepth = 4;

/// Maximum number of statements and expressions of a function that is examined.
static constexpr unsigned MaxNodes = 3000;

static bool isText(QualType T) {
  return T->isPointerType() && T->getPointeeType()->isCharType();
}

/// Returns what the name of a function says that it does; the function's
/// definition is not visible, or calls what is not.
static std::optional<LongKind> byTellingName(const FunctionDecl &Callee) {
  StringRef Name = identifierOf(&Callee);
  SmallVector<std::string, 4> Words = wordsOf(Name);
  // These say for whom it is, not what it does.
  while (Words.size() > 1 && llvm::is_contained({"locked", "unlocked", "nolock",
                                                 "internal", "impl"},
                                                StringRef(Words.back())))
    Words.pop_back();
  if (Words.empty() || Callee.getReturnType()->isFloatingType())
    return std::nullopt; // log2 computes a logarithm.
  auto Has = [&](std::initializer_list<StringRef> Any) {
    return llvm::any_of(
        Words, [&](StringRef W) { return llvm::is_contained(Any, W); });
  };
  auto AtEnd = [&](std::initializer_list<StringRef> Any) {
    return llvm::is_contained(Any, StringRef(Words.front())) ||
           llvm::is_contained(Any, StringRef(Words.back()));
  };
  if (Has({"size", "count", "is", "can", "flags", "index", "trylock"}))
    return std::nullopt;
  // Intrusive containers have other names: lists, trees, queues.
  bool OwnsItems =
      Has({"map", "dict", "hashtable", "htable", "table", "vector", "array",
           "string", "str", "buffer", "pool", "cache", "set", "hash", "heap"});
  if (Has({"malloc", "calloc", "zalloc", "realloc", "strdup", "memalign",
           "kmalloc", "zmalloc", "palloc"}) ||
      AtEnd({"alloc", "allocate", "free", "dealloc", "deallocate", "create",
             "destroy", "new", "dup", "clone", "destruct"}) ||
      (OwnsItems && AtEnd({"clear", "exit", "fini", "cleanup", "resize", "grow",
                           "expand", "rehash", "append"})) ||
      (Has({"map", "dict", "hashtable", "htable", "vector", "array"}) &&
       AtEnd({"insert", "put", "add", "push"})))
    return LongKind::Memory;
  if (Has({"printf", "vlog", "syslog", "elog", "logger", "warning", "warn",
           "dump"}) ||
      AtEnd({"log", "logf", "print", "dbg", "debug"}) ||
      (Has({"json", "stream", "file"}) && Has({"write", "flush", "read"})))
    return LongKind::Output;
  if (Has({"dev", "device"}) &&
      Has({"set", "add", "remove", "start", "stop", "enable", "disable",
           "reset", "configure"}))
    return LongKind::Command;
  if (Has({"mmap", "munmap", "madvise", "ioctl", "fsync", "recvmsg", "sendmsg",
           "sigprocmask", "setitimer"}) ||
      Has({"send", "recv"}) ||
      (Has({"file", "socket", "sock", "db", "fd"}) &&
       AtEnd({"open", "close", "connect", "accept", "unlink", "rename"})) ||
      (Has({"cond", "condition", "event", "sem", "semaphore", "thread"}) &&
       AtEnd({"signal", "broadcast", "post", "notify", "wake", "wakeup"})))
    return LongKind::System;
  if (Has({"mutexlock"}) ||
      (Has({"mutex"}) && Has({"lock", "acquire", "enter"})))
    return LongKind::Wait;
  if (namesBlocking(Name) && !Has({"no", "try", "nowait"}))
    return LongKind::Wait;
  if (whatNameTells(Name) == NameTells::Delays)
    return LongKind::Sleep;
  // A text that is put together from arguments is for somebody to read, unless
  // it is for another text.
  return Callee.isVariadic() && Callee.getNumParams() > 0 &&
                 isText(Callee.getParamDecl(Callee.getNumParams() - 1)
                            ->getType()) &&
                 !Has({"append", "appendf", "format", "fmt", "str", "string",
                       "buf", "buffer", "chunk"})
             ? std::optional(LongKind::Output)
             : std::nullopt;
}

/// Returns true for a container or string that owns memory: of the standard
/// library, or of another whose headers are the system's.
static bool isContainer(const CXXRecordDecl *Class) {
  static const llvm::StringSet<> Names{"basic_string", "vector", "deque",
                                       "function", "any"};
  if (!Class || !Class->getIdentifier())
    return false;
  StringRef Name = Class->getName();
  if (Name == "bitset" || Name == "initializer_list")
    return false;
  return (isOfStd(*Class) ||
          Class->getASTContext().getSourceManager().isInSystemHeader(
              Class->getLocation())) &&
         (Names.contains(Name) || Name.ends_with("map") ||
          Name.ends_with("set") || Name.ends_with("list"));
}

/// Returns true if a method of a container may allocate or release.
static bool grows(const CXXMethodDecl &Method) {
  static const llvm::StringSet<> Growing{
      "push_back", "emplace_back",  "push_front",  "emplace_front",
      "emplace",   "insert",        "resize",      "reserve",
      "append",    "push",          "try_emplace", "insert_or_assign",
      "assign",    "shrink_to_fit", "emplace_hint"};
  const CXXRecordDecl *Class = Method.getParent();
  StringRef Name = identifierOf(&Method), Of = identifierOf(Class);
  if (!isContainer(Class))
    return isOfStd(*Class) && Growing.contains(Name) &&
           !Of.contains("atomic"); // Adaptors, such as std::queue.
  bool HasNodes = Of != "vector" && Of != "basic_string" && Of != "deque";
  if (Name == "erase" || Name == "clear" || Name.starts_with("pop_"))
    return HasNodes;
  if (Method.getOverloadedOperator() == OO_Subscript)
    return Of.contains("map");
  if (Method.getOverloadedOperator() == OO_PlusEqual)
    return Of == "basic_string";
  return Growing.contains(Name);
}

/// Returns true if the construction Made of a container copies or fills it.
static bool fills(const CXXConstructExpr &Made) {
  const CXXConstructorDecl *Constructor = Made.getConstructor();
  if (Constructor->isMoveConstructor() ||
      !isContainer(Constructor->getParent()))
    return false;
  unsigned Given = llvm::count_if(Made.arguments(), [](const Expr *A) {
    return !isa<CXXDefaultArgExpr>(A);
  });
  if (Given == 0)
    return false;
  // Short strings need no memory.
  auto *Literal =
      dyn_cast<StringLiteral>(Made.getArg(0)->IgnoreParenImpCasts());
  return !Literal || Literal->getLength() > 15;
}

/// Returns what a function of the standard library does.
static std::optional<LongKind> ofStd(const FunctionDecl &Callee) {
  StringRef Name = identifierOf(&Callee);
  if (auto *Method = dyn_cast<CXXMethodDecl>(&Callee)) {
    StringRef Class = identifierOf(Method->getParent());
    if (Name == "lock" &&
        (Class.contains("mutex") || Class.contains("unique_lock")))
      return LongKind::Wait;
    if (Class.contains("ostream"))
      return LongKind::Output;
    if (Name.starts_with("notify_") && Class.contains("condition_variable"))
      return LongKind::System;
    if (Class == "function" && Method->getOverloadedOperator() == OO_Call)
      return LongKind::Callback;
  } else if (Callee.getOverloadedOperator() == OO_LessLess &&
             Callee.getNumParams() == 2 &&
             identifierOf(Callee.getParamDecl(0)
                              ->getType()
                              .getNonReferenceType()
                              ->getAsCXXRecordDecl())
                 .contains("ostream")) {
    return LongKind::Output;
  }
  // A new string or container: to_string, substr, operator+.
  return Name == "make_shared" || Name == "make_unique" ||
                 isContainer(Callee.getReturnType()->getAsCXXRecordDecl())
             ? std::optional(LongKind::Memory)
             : std::nullopt;
}

/// Returns true if an argument says that the program ends after this log.
static bool endsProgram(const CallExpr &Call) {
  return llvm::any_of(Call.arguments(), [](const Expr *Arg) {
    auto *Ref = dyn_cast<DeclRefExpr>(Arg->IgnoreParenCasts());
    StringRef Name = Ref ? identifierOf(Ref->getDecl()) : StringRef();
    return Name.contains_insensitive("fatal") ||
           Name.contains_insensitive("panic") ||
           Name.contains_insensitive("crash");
  });
}

/// Returns true if the function that is called, or the type of the pointer to
/// it, says so.
static bool neverReturns(const CallExpr &Call) {
  if (const FunctionDecl *Callee = Call.getDirectCallee())
    return Callee->isNoReturn();
  QualType Type = Call.getCallee()->getType();
  if (!Type->getPointeeType().isNull())
    Type = Type->getPointeeType();
  auto *Called = Type->getAs<FunctionType>();
  return Called && Called->getNoReturnAttr();
}

bool endsProgram(ArrayRef<const Stmt *> Parents) {
  return llvm::any_of(Parents, [](const Stmt *S) {
    auto *Block = dyn_cast<CompoundStmt>(S);
    auto *Comma = dyn_cast<BinaryOperator>(S);
    const Stmt *Last = Block && !Block->body_empty() ? Block->body_back()
                       : Comma && Comma->getOpcode() == BO_Comma
                           ? Comma->getRHS()
                           : nullptr;
    if (auto *E = dyn_cast_or_null<Expr>(Last))
      Last = E->IgnoreParenCasts();
    auto *Call = dyn_cast_or_null<CallExpr>(Last);
    return Call && neverReturns(*Call);
  });
}

/// Returns the number of bytes that a memset or memcpy writes, if it is
/// constant.
static std::optional<uint64_t> bytesOf(const CallExpr &Call,
                                       const ASTContext &Context) {
  Expr::EvalResult Value;
  if (Call.getNumArgs() < 3 || Call.getArg(2)->isValueDependent() ||
      !Call.getArg(2)->EvaluateAsInt(Value, Context))
    return std::nullopt;
  return Value.Val.getInt().getLimitedValue();
}

/// Returns true if a definition that shows nothing long calls another unit: its
/// own name says more than the body.
static bool callsUnseen(const FunctionDecl &Definition) {
  bool Found = false;
  forEachStmt(Definition.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = calleeOf(Call);
    Found |= Callee && !Callee->getBuiltinID() && !Callee->isNoReturn() &&
             !Callee->isDefined() &&
             classifyCall(*Call, *Callee) == CallEffect::Other;
  });
  return Found;
}

std::optional<LongCall> LongCalls::call(const CallExpr &Call, unsigned Depth) {
  const FunctionDecl *Callee = functionOf(Call);
  if (!Callee) {
    // What a pointer leads to shows nowhere. Further down the calls, it is more
    // often a small function of a table than a callback.
    if (Depth > 1 || Call.isTypeDependent() || neverReturns(Call) ||
        isa<CXXPseudoDestructorExpr>(Call.getCallee()->IgnoreParens()))
      return std::nullopt;
    const ValueDecl *Pointer = objectOf(Call.getCallee());
    return LongCall{LongKind::Callback, &Call,
                    Pointer ? "'" + Pointer->getNameAsString() + "'"
                            : "a function pointer"};
  }
  if (Callee->isNoReturn() || endsProgram(Call))
    return std::nullopt;
  StringRef Name = identifierOf(Callee);
  auto Quoted = [&] { return "'" + Callee->getNameAsString() + "'"; };
  if (auto *Method = dyn_cast<CXXMethodDecl>(Callee); Method && grows(*Method))
    return LongCall{LongKind::Memory, &Call, Quoted()};
  bool IsPlain =
      Callee->getIdentifier() &&
      isa<TranslationUnitDecl>(Callee->getDeclContext()->getRedeclContext());
  if (IsPlain)
    if (std::optional<LongKind> Kind = longByName(Name))
      return LongCall{*Kind, &Call, Quoted()};
  if (Name == "memset" || Name == "memcpy" || Name == "bzero" ||
      Name == "__builtin_memset") {
    std::optional<uint64_t> Bytes = bytesOf(Call, Context);
    if (Depth <= 1 && Bytes && *Bytes >= PageSize)
      return LongCall{LongKind::Pages, &Call, Quoted()};
    return std::nullopt;
  }
  if (Callee->getBuiltinID())
    return std::nullopt;
  switch (classifyCall(Call, *Callee)) {
  case CallEffect::Sleep:
  case CallEffect::Yield:
    return LongCall{LongKind::Sleep, &Call, Quoted()};
  case CallEffect::Other:
    break;
  default:
    return std::nullopt;
  }
  // What it does besides taking the lock is its own section.
  if (Locks.of(Callee) == SpinOp::Acquire)
    return std::nullopt;
  if (isOfStd(*Callee)) {
    std::optional<LongKind> Kind = ofStd(*Callee);
    return Kind ? std::optional(LongCall{*Kind, &Call,
                                         *Kind == LongKind::Output ? "a stream"
                                                                   : Quoted()})
                : std::nullopt;
  }
  const FunctionDecl *Definition = nullptr;
  bool IsVisible = Callee->isDefined(Definition);
  if (IsVisible)
    if (std::optional<LongCall> Inside = bodyOf(*Definition, Depth + 1)) {
      LongCall Result{Inside->Kind, &Call, Quoted()};
      Result.Inside = Inside->Inside ? Inside->Inside : Inside->Site;
      Result.InsideWhat = Inside->Inside ? Inside->InsideWhat : Inside->What;
      return Result;
    }
  if (isContainer(Callee->getReturnType()->getAsCXXRecordDecl()))
    return LongCall{LongKind::Memory, &Call, Quoted()};
  auto [Where, IsNew] = Told.try_emplace(Callee->getCanonicalDecl());
  if (IsNew && (!IsVisible || callsUnseen(*Definition)))
    Where->second = byTellingName(*Callee);
  if (Where->second)
    return LongCall{*Where->second, &Call, Quoted()};
  // An interface: what its classes do shows nowhere. They return what they
  // have, or do something.
  return Depth == 0 && Callee->isPureVirtual() &&
                 !cast<CXXMethodDecl>(Callee)->isConst()
             ? std::optional(LongCall{LongKind::Callback, &Call, Quoted()})
             : std::nullopt;
}

std::optional<LongCall> LongCalls::bodyOf(const FunctionDecl &Definition,
                                          unsigned Depth) {
  if (Depth > MaxDepth || Definition.isDependentContext() ||
      Context.getSourceManager().isInSystemHeader(Definition.getLocation()))
    return std::nullopt;
  auto [Where, IsNew] = Known.try_emplace(&Definition);
  if (!IsNew)
    return Where->second;
  std::optional<LongCall> Found;
  unsigned Nodes = 0;
  forEachStmt(Definition.getBody(),
              [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                if (!Found && ++Nodes < MaxNodes && (Found = match(S, Depth)) &&
                    endsProgram(Parents))
                  Found.reset();
              });
  return Known[&Definition] = Found;
}

std::optional<LongCall> LongCalls::match(const Stmt *S, unsigned Depth) {
  if (auto *Call = dyn_cast<CallExpr>(S))
    return call(*Call, Depth);
  if (auto *New = dyn_cast<CXXNewExpr>(S))
    return New->getNumPlacementArgs() == 0
               ? std::optional(LongCall{LongKind::Memory, S, "'new'"})
               : std::nullopt;
  if (isa<CXXDeleteExpr>(S))
    return LongCall{LongKind::Memory, S, "'delete'"};
  if (auto *Made = dyn_cast<CXXConstructExpr>(S)) {
    const CXXConstructorDecl *Constructor = Made->getConstructor();
    const CXXRecordDecl *Class = Constructor->getParent();
    StringRef Name = identifierOf(Class);
    if (fills(*Made))
      return LongCall{LongKind::Memory, S, "a '" + Name.str() + "'"};
    if (isOfStd(*Class)) {
      if (Made->getNumArgs() == 1 &&
          (Name == "lock_guard" || Name == "unique_lock" ||
           Name == "scoped_lock") &&
          !Locks.isGuard(Class))
        return LongCall{LongKind::Wait, S, "'" + Name.str() + "'"};
      return std::nullopt;
    }
    const FunctionDecl *Definition = nullptr;
    if (Locks.isGuard(Class) || Constructor->isTrivial() ||
        !Constructor->isDefined(Definition))
      return std::nullopt;
    if (std::optional<LongCall> Inside = bodyOf(*Definition, Depth + 1)) {
      LongCall Result{Inside->Kind, S,
                      "the constructor of '" + Name.str() + "'"};
      Result.Inside = Inside->Inside ? Inside->Inside : Inside->Site;
      Result.InsideWhat = Inside->Inside ? Inside->InsideWhat : Inside->What;
      return Result;
    }
    return std::nullopt;
  }
  return Depth <= 1 && isLoop(S) ? loop(*S) : std::nullopt;
}

} // namespace vfriendly::tidy
