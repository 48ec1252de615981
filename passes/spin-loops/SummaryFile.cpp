//===- SummaryFile.cpp - Effects of functions across units ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/SummaryFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace llvm;

namespace vfriendly {

/// The first line. The number changes when files of older versions can no
/// longer be read.
static constexpr StringLiteral Header = "vfriendly summary 1\n";

/// Serializes the threads of a parallel link. File locks cannot serialize
/// threads: a file lock excludes only other processes, and a process loses its
/// lock when any of its threads closes the file.
static std::mutex FileMutex;

static Error fileError(StringRef Path, const Twine &What) {
  return createStringError(inconvertibleErrorCode(), Path + ": " + What);
}

Expected<SummaryFile> SummaryFile::parse(StringRef Path, StringRef Text) {
  SummaryFile File;
  if (Text.empty())
    return File;
  if (!Text.consume_front(Header))
    return fileError(Path, "not a summary that this version of vfriendly "
                           "wrote; delete it, or name another file");
  for (unsigned Number = 2; !Text.empty(); ++Number) {
    size_t End = Text.find('\n');
    auto [Word, Rest] = Text.take_front(End).split(' ');
    auto [Name, Unit] = Rest.split(' ');
    std::optional<CallEffect> Effect = effectFor(Word);
    if (End == StringRef::npos || !Effect || Name.empty() || Unit.empty())
      return fileError(Path, "line " + Twine(Number) +
                                 " is not a record; delete the file, and the "
                                 "next builds will recreate it");
    File.Records[{Name.str(), Unit.str()}] = *Effect;
    Text = Text.drop_front(End + 1);
  }
  return File;
}

Expected<SummaryFile> SummaryFile::read(StringRef Path) {
  std::lock_guard<std::mutex> Guard(FileMutex);
  auto Buffer = MemoryBuffer::getFile(Path);
  if (Buffer.getError() == std::errc::no_such_file_or_directory)
    return SummaryFile();
  if (!Buffer)
    return fileError(Path, Buffer.getError().message());
  return parse(Path, (*Buffer)->getBuffer());
}

bool SummaryFile::replace(StringRef Unit, const Effects &New) {
  auto Before = Records;
  for (auto It = Records.begin(); It != Records.end();)
    It = It->first.second == Unit ? Records.erase(It) : std::next(It);
  for (const auto &[Name, Effect] : New)
    // Omits names that contain a space or unprintable characters, because they
    // would not be read back as written.
    if (all_of(Name, [](char C) { return isPrint(C) && C != ' '; }))
      Records[{Name, Unit.str()}] = Effect;
  return Records != Before;
}

void SummaryFile::print(raw_ostream &OS) const {
  OS << Header;
  for (const auto &[Key, Effect] : Records)
    OS << wordFor(Effect) << ' ' << Key.first << ' ' << Key.second << '\n';
}

namespace {
/// A file that this process has opened and locked.
class LockedFile {
public:
  LockedFile() = default;
  LockedFile(const LockedFile &) = delete;
  ~LockedFile() { close(); }

  /// Opens the file, creates it if necessary, and waits for its lock.
  std::error_code open(StringRef Path) {
    while (true) {
      if (auto Error = sys::fs::openFileForReadWrite(
              Path, FD, sys::fs::CD_OpenAlways, sys::fs::OF_None))
        return Error;
      sys::fs::file_status Opened, Now;
      if (auto Error = sys::fs::lockFile(FD))
        return Error;
      if (auto Error = sys::fs::status(FD, Opened))
        return Error;
      // Opens the file again if the previous holder of the lock has replaced it
      // by a new file.
      if (!sys::fs::status(Path, Now) &&
          Opened.getUniqueID() == Now.getUniqueID())
        return {};
      close();
    }
  }

  /// Reads through the open descriptor, because closing another descriptor of
  /// the same file would release the lock.
  ErrorOr<std::unique_ptr<MemoryBuffer>> read(StringRef Path) const {
    return MemoryBuffer::getOpenFile(sys::fs::convertFDToNativeFile(FD), Path,
                                     /*FileSize=*/-1);
  }

private:
  void close() {
    if (FD >= 0)
      sys::Process::SafelyCloseFileDescriptor(FD);
    FD = -1;
  }

  int FD = -1;
};
} // namespace

Error SummaryFile::update(StringRef Path, StringRef Unit,
                          function_ref<Effects(const SummaryFile &)> Record) {
  if (Unit.contains('\n'))
    return Error::success();
  // Usually the file already contains the records. In this case the file is not
  // locked, and need not be writable.
  Expected<SummaryFile> File = read(Path);
  if (!File)
    return File.takeError();
  if (!File->replace(Unit, Record(*File)))
    return Error::success();

  std::lock_guard<std::mutex> Guard(FileMutex);
  LockedFile Locked;
  if (std::error_code Error = Locked.open(Path))
    return fileError(Path, Error.message());
  auto Buffer = Locked.read(Path);
  if (!Buffer)
    return fileError(Path, Buffer.getError().message());
  File = parse(Path, (*Buffer)->getBuffer());
  if (!File)
    return File.takeError();
  if (!File->replace(Unit, Record(*File)))
    return Error::success();
  return writeToOutput(Path, [&](raw_ostream &OS) {
    File->print(OS);
    return Error::success();
  });
}

CallEffect SummaryFile::effectOf(StringRef Name) const {
  std::optional<CallEffect> Agreed;
  for (auto It = Records.lower_bound({Name.str(), ""});
       It != Records.end() && It->first.first == Name; ++It) {
    if (Agreed && *Agreed != It->second)
      return CallEffect::Other;
    Agreed = It->second;
  }
  return Agreed.value_or(CallEffect::Other);
}

bool SummaryFile::isRecordedBesides(StringRef Name, StringRef Unit) const {
  for (auto It = Records.lower_bound({Name.str(), ""});
       It != Records.end() && It->first.first == Name; ++It)
    if (It->first.second != Unit && It->second != CallEffect::Other)
      return true;
  return false;
}

} // namespace vfriendly
