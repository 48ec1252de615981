//===- WaitKeys.cpp - Keys that waits sleep on ----------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/WaitKeys.h"

#include "passes/spin-loops/Describe.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Metadata.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace vfriendly {

/// Returns the global variable that contains the words of all Polls; null if
/// they are not in one variable.
static GlobalVariable *commonGlobal(ArrayRef<const Poll *> Polls) {
  GlobalVariable *Common = nullptr;
  for (const Poll *P : Polls) {
    auto *Global = dyn_cast<GlobalVariable>(
        getUnderlyingObject(P->Address, /*MaxLookup=*/16));
    // Excludes thread-local variables: the waiter and the writer would each
    // compute the address of their own copy.
    if (!Global || Global->isThreadLocal() || (Common && Common != Global))
      return nullptr;
    Common = Global;
  }
  return Common;
}

/// Returns the distance in bytes from the word that First polls to the word
/// that P polls; nullopt if the distance is not constant.
static std::optional<int64_t> distanceOf(const Poll &P, const Poll &First) {
  if (P.Varies || First.Varies)
    return std::nullopt;
  const DataLayout &DL = P.Access->getDataLayout();
  unsigned Bits = DL.getIndexTypeSizeInBits(P.Address->getType());
  APInt To(Bits, 0), From(Bits, 0);
  if (P.Address->stripAndAccumulateConstantOffsets(DL, To,
                                                   /*AllowNonInbounds=*/true) !=
      First.Address->stripAndAccumulateConstantOffsets(
          DL, From, /*AllowNonInbounds=*/true))
    return std::nullopt;
  return (To - From).getSExtValue();
}

/// Returns a key made from the names of the globals or types that contain Words
/// and from the offsets in them, so that all files compute the same key. The
/// highest bit of the key is set, so it differs from all addresses in user
/// space.
static Constant *keyByName(ArrayRef<std::pair<Location, NotifyKey>> Words,
                           LLVMContext &Context) {
  std::string Names;
  raw_string_ostream OS(Names);
  for (const auto &[Where, Key] : Words) {
    auto *Tag = dyn_cast_or_null<MDNode>(Where.Tag);
    auto *TagName = Tag && Tag->getNumOperands() != 0
                        ? dyn_cast_or_null<MDString>(Tag->getOperand(0).get())
                        : nullptr;
    if (Where.Global)
      OS << Where.Global->getName();
    else if (TagName)
      OS << TagName->getString() << '+' << Where.TagOffset;
    else if (Where.Struct && Where.Struct->hasName())
      OS << Where.Struct->getName() << '+' << Where.StructOffset.value_or(0);
    OS << ' ' << Where.Size << ' ';
  }
  uint64_t Hash = xxh3_64bits(Names) | UINT64_C(1) << 63;
  return ConstantExpr::getIntToPtr(
      ConstantInt::get(Type::getInt64Ty(Context), Hash),
      PointerType::getUnqual(Context));
}

WaitKey keyOf(const SpinLoop &S) {
  WaitKey Key;
  if (const Poll *Unique = S.uniquePoll()) {
    Key.Address = Unique->Address;
    Key.Words.push_back({locatePoll(*Unique), NotifyKey()});
    return Key;
  }
  SmallVector<const Poll *, 4> Polls;
  for (const Poll &P : S.Polls) {
    if (P.OnlyLocates)
      continue;
    if (!P.Address) // A library's lock, whose release does not notify.
      return Key;
    Polls.push_back(&P);
  }
  if (Polls.empty())
    return Key;

  Key.Several = true;
  if (GlobalVariable *Global = commonGlobal(Polls)) {
    Key.Address = Global;
    for (const Poll *P : Polls)
      Key.Words.push_back({locatePoll(*P), NotifyKey{Global, 0}});
    return Key;
  }
  Key.Address = Polls.front()->Address;
  for (const Poll *P : Polls) {
    std::optional<int64_t> Distance = distanceOf(*P, *Polls.front());
    if (!Distance)
      Key.Address = nullptr;
    Key.Words.push_back(
        {locatePoll(*P), NotifyKey{nullptr, Distance.value_or(0)}});
  }
  if (Key.Address)
    return Key;
  Constant *Name = keyByName(Key.Words, S.L->getHeader()->getContext());
  Key.Address = Name;
  for (auto &Word : Key.Words)
    Word.second = NotifyKey{Name, 0};
  return Key;
}

} // namespace vfriendly
