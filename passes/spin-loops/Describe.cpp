//===- Describe.cpp - Descriptions of spin loops --------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Describe.h"

#include "passes/analysis/common/WaitNeutral.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace vfriendly {

Location locatePoll(const Poll &P) {
  return locate(*P.Access, P.Address, P.Size, P.isPlain());
}

std::string describe(const Poll &P) {
  std::string Text;
  raw_string_ostream OS(Text);
  if (!P.Address) {
    auto &Call = cast<CallBase>(*P.Access);
    if (classifyCall(Call).Effect == CallEffect::TryLock)
      return "a lock";
    std::string Name = calledName(Call);
    return Name.empty() ? "what a call returns" : "what '" + Name + "' returns";
  }
  if (P.FilledBy) {
    std::string Name = calledName(*P.FilledBy);
    return Name.empty() ? "what a call writes" : "what '" + Name + "' writes";
  }
  OS << (P.isPlain() ? "plain " : P.Volatile ? "volatile " : "atomic ");
  Location Where = locatePoll(P);
  if (Where.Global)
    OS << '\'' << Where.Global->getName() << '\'';
  else if (Where.Struct && Where.Struct->hasName() && Where.StructOffset)
    OS << "memory at offset " << *Where.StructOffset << " of '"
       << Where.Struct->getName() << '\'';
  else
    OS << "memory behind a pointer";
  return Text;
}

/// Returns the source location of the loop. A loop without a loop ID consists
/// of gotos, or has exits only in inner loops. The start location of such a
/// loop would be that of the code before the loop, so returns the location of
/// the loop's first poll, in the function in which the loop is written. Ignores
/// polls in inner loops unless all polls are there.
DebugLoc locateLoop(const SpinLoop &S) {
  auto IsInside = [&](const Poll &P) {
    return any_of(S.L->getSubLoops(),
                  [&](const Loop *Sub) { return Sub->contains(P.Access); });
  };
  bool AllInside = all_of(S.Polls, IsInside);
  BasicBlock *Latch = S.L->getLoopLatch();
  DebugLoc Loop = Latch ? Latch->getTerminator()->getDebugLoc() : DebugLoc();
  DebugLoc First;
  for (const Poll &P : S.Polls) {
    if (!AllInside && IsInside(P))
      continue;
    DebugLoc Where = P.Access->getDebugLoc();
    while (Where && Where->getInlinedAt() &&
           (!Loop || Where->getInlinedAt() != Loop->getInlinedAt()))
      Where = Where->getInlinedAt();
    if (Where && Where.getLine() &&
        (!First || Where.getLine() < First.getLine()))
      First = Where;
  }
  return S.L->getLoopID() || !First ? S.L->getStartLoc() : First;
}

} // namespace vfriendly
