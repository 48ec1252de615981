//===- SummaryFile.h - Effects of functions across units --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file of the option -vf-summary. It records which effects functions have
// on a waiting loop that calls them; the compilation of a unit writes the
// records of the functions that the unit defines. It is a text file with one
// record per line, sorted by name and unit:
//
//   vfriendly summary 1
//   pause proc_yield /src/thread.c
//   reads is_ready /src/queue.c
//
// The code that a record describes may have changed since. A reader may
// therefore rely on a record only where a wrong one costs nothing but time.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_SUMMARYFILE_H
#define VFRIENDLY_PASSES_SPINLOOPS_SUMMARYFILE_H

#include "passes/analysis/common/CallEffects.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <utility>

namespace vfriendly {

class SummaryFile {
public:
  using Effects = std::map<std::string, CallEffect>;

  /// Reads the file. A file that does not exist or is empty has no records.
  static llvm::Expected<SummaryFile> read(llvm::StringRef Path);

  /// Replaces the records of Unit by those that Record returns when it is
  /// passed the current contents of the file. The update is atomic, and is
  /// omitted if the file already has these records; concurrent updates by other
  /// processes and threads wait for each other. If this version of vfriendly
  /// did not write the file, returns an error and does not change the file.
  static llvm::Error
  update(llvm::StringRef Path, llvm::StringRef Unit,
         llvm::function_ref<Effects(const SummaryFile &)> Record);

  /// Returns the effect that all units with a record for Name agree on; Other
  /// if they do not agree or if no unit has a record.
  CallEffect effectOf(llvm::StringRef Name) const;

  /// Returns true if a unit other than Unit records an effect for Name that is
  /// not Other.
  bool isRecordedBesides(llvm::StringRef Name, llvm::StringRef Unit) const;

private:
  static llvm::Expected<SummaryFile> parse(llvm::StringRef Path,
                                           llvm::StringRef Text);
  bool replace(llvm::StringRef Unit, const Effects &New);
  void print(llvm::raw_ostream &OS) const;

  /// By name and unit.
  std::map<std::pair<std::string, std::string>, CallEffect> Records;
};

} // namespace vfriendly

#endif
