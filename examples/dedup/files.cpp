// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
#include "dedup.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dedup;

namespace {

// Of the one output. Whoever ends the program removes it, a signal handler
// among them, so it is no std::string.
char TemporaryPath[4096];

void removeTemporary() {
  if (TemporaryPath[0])
    unlink(TemporaryPath);
}

void onSignal(int Number) {
  removeTemporary();
  _exit(128 + Number);
}

Error failed(const char *What, const std::string &Path) {
  return Error(std::string(What) + " " + Path + ": " + strerror(errno));
}

} // namespace

void dedup::die(const std::string &Why) {
  removeTemporary();
  fprintf(stderr, "dedup: %s\n", Why.c_str());
  _exit(1);
}

Bytes dedup::readWhole(const std::string &Path) {
  int File = open(Path.c_str(), O_RDONLY | O_CLOEXEC);
  if (File < 0)
    throw failed("cannot open", Path);
  Bytes Data;
  struct stat Status;
  // One more than its size, so that the last read finds the end without
  // growing.
  size_t Room = fstat(File, &Status) == 0 && S_ISREG(Status.st_mode)
                    ? Status.st_size + 1
                    : 1 << 20;
  for (size_t Used = 0;;) {
    if (Used == Data.size())
      Data.resize(Used ? 2 * Used : Room);
    ssize_t Got = read(File, Data.data() + Used, Data.size() - Used);
    if (Got < 0 && errno == EINTR)
      continue;
    if (Got < 0) {
      Error Why = failed("cannot read", Path);
      close(File);
      throw Why;
    }
    Used += Got;
    if (Got == 0) {
      Data.resize(Used);
      break;
    }
  }
  close(File);
  return Data;
}

OutputFile::OutputFile(const std::string &Path) : Path(Path) {
  // A limit of the file size is an error as others, no signal.
  signal(SIGXFSZ, SIG_IGN);
  struct stat Status;
  Temporary = stat(Path.c_str(), &Status) != 0 || S_ISREG(Status.st_mode);
  if (!Temporary) {
    File = open(Path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    std::string Name = Path + ".part" + std::to_string(getpid());
    if (Name.size() >= sizeof TemporaryPath)
      throw Error("the name of the output is too long");
    File = open(Name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (File >= 0) {
      memcpy(TemporaryPath, Name.c_str(), Name.size() + 1);
      for (int Number : {SIGINT, SIGTERM, SIGHUP})
        signal(Number, onSignal);
    }
  }
  if (File < 0)
    throw failed("cannot write", Path);
}

OutputFile::~OutputFile() {
  if (File >= 0)
    close(File);
  removeTemporary();
}

void OutputFile::write(const void *Data, size_t Size) {
  const auto *From = static_cast<const unsigned char *>(Data);
  Buffer.insert(Buffer.end(), From, From + Size);
  if (Buffer.size() >= 1 << 20)
    flush();
}

void OutputFile::flush() {
  for (size_t Done = 0; Done < Buffer.size();) {
    ssize_t Wrote = ::write(File, Buffer.data() + Done, Buffer.size() - Done);
    if (Wrote < 0 && errno == EINTR)
      continue;
    if (Wrote < 0)
      throw failed("cannot write", Path);
    Done += Wrote;
  }
  Buffer.clear();
}

void OutputFile::commit() {
  flush();
  int Closed = close(File);
  File = -1;
  if (Closed != 0 || (Temporary && rename(TemporaryPath, Path.c_str()) != 0))
    throw failed("cannot write", Path);
  TemporaryPath[0] = 0;
}
