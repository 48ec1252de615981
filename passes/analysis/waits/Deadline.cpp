//===- Deadline.cpp - Waits that give up at a time ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Deadline.h"

#include "passes/analysis/common/WaitNeutral.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace vfriendly {

/// Returns true if Call, which reads a clock, reads one of the time of day, the
/// time since boot, or the processor's cycles. A function that the summary file
/// describes may read any clock.
static bool readsWallClock(const CallBase &Call) {
  if (Call.isInlineAsm())
    return true;
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || summarizedCallee(Call) || Callee->getName() == "clock")
    return false;
  if (Callee->getName() != "clock_gettime")
    return true;
  // CLOCK_PROCESS_CPUTIME_ID is 2, CLOCK_THREAD_CPUTIME_ID is 3; clocks of
  // other processes and threads are negative. 11 is the last, CLOCK_TAI.
  auto *Id = dyn_cast<ConstantInt>(Call.getArgOperand(0));
  return Id && Id->getValue().ule(11) && Id->getZExtValue() != 2 &&
         Id->getZExtValue() != 3;
}

StringRef whyNotUntil(const SpinLoop &S) {
  if (S.Yields)
    return "it gives up at a time, and yields already";
  for (const BasicBlock *B : S.L->blocks())
    for (const Instruction &I : *B)
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (classifyCall(*Call).Effect == CallEffect::Clock &&
            !readsWallClock(*Call))
          return "it may give up after a CPU time, which would hardly pass in "
                 "yields";
  return "";
}

} // namespace vfriendly
