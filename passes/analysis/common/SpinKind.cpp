//===- SpinKind.cpp - Kinds of waits --------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/SpinKind.h"

#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace vfriendly {

namespace {
struct KindTexts {
  StringLiteral Name, Phrase;
};
} // namespace

static constexpr KindTexts textsOf(SpinKind Kind) {
  switch (Kind) {
  case SpinKind::Flag:
    return {"flag poll", ""};
  case SpinKind::TryLock:
    return {"try-lock", "on a try-lock, "};
  case SpinKind::TestAndTestAndSet:
    return {"test-and-test-and-set", "on a test-and-test-and-set lock, "};
  case SpinKind::Ticket:
    return {"ticket lock", "on a ticket lock, "};
  case SpinKind::Queue:
    return {"queue lock", "on a queue node, "};
  case SpinKind::Barrier:
    return {"barrier", "at a barrier on "};
  case SpinKind::SeqLock:
    return {"seqlock reader", "on a seqlock's version, "};
  case SpinKind::TryLockCall:
    return {"trylock calls", ""};
  case SpinKind::Call:
    return {"repeated call", ""};
  case SpinKind::Retry:
    return {"lock-free retry", ""};
  case SpinKind::Device:
    return {"device register", ""};
  }
  llvm_unreachable("all kinds named above");
}

StringRef toString(SpinKind Kind) { return textsOf(Kind).Name; }

StringRef phraseOf(SpinKind Kind) { return textsOf(Kind).Phrase; }

} // namespace vfriendly
