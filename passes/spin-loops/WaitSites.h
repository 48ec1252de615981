//===- WaitSites.h - The waits of a module and their notifies ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   WaitSites Waits;
//   Waits.add(Call, Where, Key);     // for each word of each rewritten wait
//   Waits.addEarlier(M, FAM);        // those of earlier runs
//   Waits.notify(AllWriters, MayChange);
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_WAITSITES_H
#define VFRIENDLY_PASSES_SPINLOOPS_WAITSITES_H

#include "passes/spin-loops/Writers.h"

#include "llvm/IR/PassManager.h"

namespace vfriendly {

class WaitSites {
public:
  /// Adds a word, at Where, for which Call waits. Call is null for a poll that
  /// only pauses.
  void add(llvm::CallInst *Call, const Location &Where, const NotifyKey &Key) {
    Sites.push_back({Call, Where, Key});
  }

  /// Adds the waits of M, of an earlier run, that are not notified yet, or for
  /// a variable of which it is known only now that no other code writes it.
  void addEarlier(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

  struct Outcome {
    /// The functions that now notify.
    llvm::SmallSetVector<llvm::Function *, 4> Changed;
    /// The waits whose known writers all notify, and the others.
    llvm::SmallVector<llvm::CallInst *, 4> Covered, Uncovered;
  };
  /// Makes the known writers notify, except in functions for which MayChange
  /// returns false. Sets VF_SPIN_NOTIFIED in each covered wait, with
  /// VF_SPIN_UNSEEN unless no other code can write its words.
  Outcome
  notify(Writers &AllWriters,
         llvm::function_ref<bool(const llvm::Function &)> MayChange) const;

private:
  /// A call that waits and a word that it waits for; one entry for each word.
  struct Site {
    llvm::CallInst *Call;
    Location Where;
    NotifyKey Key;
  };
  llvm::SmallVector<Site, 4> Sites;
};

/// Returns the waits of M that notify, but that other code may end, too.
llvm::SmallVector<llvm::CallInst *, 4> waitsEndedBySome(llvm::Module &M);

} // namespace vfriendly

#endif
