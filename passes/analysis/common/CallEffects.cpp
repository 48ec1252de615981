//===- CallEffects.cpp - Calls and assembly in a waiting loop -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/CallEffects.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

#include <string>

using namespace llvm;

namespace vfriendly {

CallEffect effectOfLibraryFunction(StringRef Name) {
  return StringSwitch<CallEffect>(Name)
#define VF_NEUTRAL(NAME, WHAT) .Case(#NAME, CallEffect::WHAT)
#include "passes/analysis/common/WaitNeutral.def"
      .Default(CallEffect::Other);
}

static constexpr std::pair<CallEffect, StringLiteral> Words[] = {
    {CallEffect::None, "none"},   {CallEffect::Pause, "pause"},
    {CallEffect::Yield, "yield"}, {CallEffect::Sleep, "sleep"},
    {CallEffect::Clock, "clock"}, {CallEffect::Reads, "reads"},
    {CallEffect::Other, "other"}};

StringRef wordFor(CallEffect Effect) {
  for (const auto &[E, Word] : Words)
    if (E == Effect)
      return Word;
  llvm_unreachable("a summary file has no word for this effect");
}

std::optional<CallEffect> effectFor(StringRef Word) {
  for (const auto &[Effect, W] : Words)
    if (W == Word)
      return Effect;
  return std::nullopt;
}

namespace {

/// Returns the mnemonics of an assembly text. A prefix (rep, lock) counts as a
/// mnemonic; labels, directives and operands are omitted.
class Mnemonics {
public:
  explicit Mnemonics(StringRef Text) : Lower(Text.lower()) {
    SmallVector<StringRef, 4> Lines, Statements;
    StringRef(Lower).split(Lines, '\n');
    for (StringRef Line : Lines)
      Line.split(Statements, ';');
    for (StringRef S : Statements)
      for (S = S.trim(); !S.empty();) {
        StringRef Word = S.take_until(isSpace);
        S = S.drop_front(Word.size()).ltrim();
        if (Word.ends_with(":"))
          continue;
        Words.push_back(Word);
        if (Word != "rep" && Word != "lock")
          break;
      }
  }

  using List = std::initializer_list<StringLiteral>;
  bool all(List Allowed) const {
    return all_of(Words, [&](StringRef W) { return is_contained(Allowed, W); });
  }
  bool any(List Wanted) const {
    return any_of(Words, [&](StringRef W) { return is_contained(Wanted, W); });
  }
  bool allStartWith(List Prefixes) const {
    return all_of(Words, [&](StringRef W) { return startsWith(W, Prefixes); });
  }
  bool anyStartsWith(List Prefixes) const {
    return any_of(Words, [&](StringRef W) { return startsWith(W, Prefixes); });
  }

private:
  static bool startsWith(StringRef Word, List Prefixes) {
    return any_of(Prefixes, [&](StringRef P) { return Word.starts_with(P); });
  }

  std::string Lower;
  SmallVector<StringRef, 4> Words;
};

} // namespace

CallEffect effectOfAsm(StringRef Text, AsmOperands Has) {
  Mnemonics Words(Text);
  // Fences have no effect, nor has an empty text, which is a compiler barrier
  // and for which all() returns true.
  if (Words.all({"mfence", "lfence", "sfence", "dmb", "dsb", "fence"}))
    return CallEffect::None;
  // Prefetches change no memory, whatever their operands are.
  if (Words.allStartWith({"prefetch", "prfm"}))
    return CallEffect::None;
  // These only arm the monitor for the next umwait or mwaitx.
  if (Words.all({"umonitor", "monitorx"}))
    return CallEffect::None;
  if (Words.all({"pause", "rep", "nop", "yield", "isb", "wfe", "sevl", "tpause",
                 "umonitor", "umwait", "monitorx", "mwaitx"}))
    return CallEffect::Pause;
  if (Words.any({"rdtsc", "rdtscp", "rdtime", "mrs"}) &&
      Words.all({"rdtsc", "rdtscp", "lfence", "mfence", "rdtime", "isb", "mrs",
                 "shl", "shlq", "sal", "salq", "or", "orq"}))
    return CallEffect::Clock;
  // Recognizes a client request to Valgrind: rotations of a register that
  // cancel out.
  if (!Has.HasMemory && !Has.IsOpaque &&
      Text.find_first_of("([") == Text.npos && Words.anyStartsWith({"rol"}) &&
      Words.allStartWith({"rol", "xchg"}))
    return CallEffect::None;
  if (!Has.HasMemory && !Has.HasPointer)
    return CallEffect::Other;

  // Recognizes read-modify-writes that are idempotent, so that repeating one
  // leaves memory as it is: exchange, compare-and-exchange, bit test and set,
  // and the instructions `or` and `and` if they have the prefix `lock`, which
  // makes them atomic. xadd, inc and dec are not idempotent.
  bool Tries = Words.anyStartsWith({"xchg", "cmpxchg", "bts"}) ||
               (Words.any({"lock"}) && Words.anyStartsWith({"or", "and"}));
  if (Tries && Words.allStartWith({"lock", "xchg", "cmpxchg", "bts", "or",
                                   "and", "set", "sbb", "mov", "xor", "test"}))
    return CallEffect::AsmTry;
  if (Words.anyStartsWith({"xadd", "add", "sub", "inc", "dec"}) &&
      Words.allStartWith(
          {"lock", "xadd", "add", "sub", "inc", "dec", "set", "sbb", "mov"}))
    return CallEffect::AsmAdd;
  bool OnlyMoves = Words.allStartWith({"mov"});
  // Compares whole mnemonics of AArch64, Arm and RISC-V instead of their first
  // letters: ldadd and ldclr begin with ld, but also write memory.
  bool OnlyLoads = Words.all(
      {"ldr",   "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrsw",  "ldar",   "ldarb",
       "ldarh", "lda",  "ldab", "ldah",  "ldapr", "ldaprb", "ldaprh", "ld",
       "lw",    "lwu",  "lh",   "lhu",   "lb",    "lbu"});
  if ((OnlyMoves && !Has.WritesMemory) || OnlyLoads)
    return Has.HasResult ? CallEffect::AsmLoad : CallEffect::Other;
  return OnlyMoves && !Has.HasResult ? CallEffect::AsmStore : CallEffect::Other;
}

AsmSum sumOfAsm(StringRef Text) {
  Mnemonics Words(Text);
  bool Decrements = Words.anyStartsWith({"dec"});
  return {Decrements || Words.anyStartsWith({"sub"}),
          Decrements || Words.anyStartsWith({"inc"})};
}

} // namespace vfriendly
