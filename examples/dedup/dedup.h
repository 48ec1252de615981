// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// What both forms of the compressor share: the pieces of its work, without
// threads.

#ifndef DEDUP_DEDUP_H
#define DEDUP_DEDUP_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace dedup {

using Bytes = std::vector<unsigned char>;

/// Input or archive that cannot be used; what() is one line for the user.
struct Error : std::runtime_error {
  using runtime_error::runtime_error;
};

//===-- Chunks ------------------------------------------------------------===//

/// A chunk is at least MinChunk long, but for the last of a file. A boundary
/// comes about every 4 KiB after that, where the fingerprint's lowest bits are
/// all ones.
constexpr size_t MinChunk = 1024, MaxChunk = 32 * 1024;
constexpr uint64_t BoundaryMask = 0xfff;
/// How much of the input is searched for boundaries at a time.
constexpr size_t SliceSize = 64 * 1024;

/// Returns the positions in [Begin, End) after which a chunk may end. They
/// depend on the 48 bytes up to each position alone, so slices can be searched
/// in any order.
std::vector<uint64_t> boundaries(const unsigned char *Data, uint64_t Begin,
                                 uint64_t End);

/// Picks ends of chunks from boundaries, which come in order, slice by slice.
class Cutter {
public:
  /// Calls Emit(begin, size) for each chunk that is known once the boundaries
  /// up to End are.
  template <typename EmitT>
  void slice(const std::vector<uint64_t> &Boundaries, uint64_t End,
             EmitT Emit) {
    for (uint64_t Last : Boundaries) {
      force(Last, Emit);
      if (Last + 1 - Start >= MinChunk)
        cut(Last + 1, Emit);
    }
    force(End, Emit);
  }
  /// Calls Emit for what is left before End, the end of the file.
  template <typename EmitT> void finish(uint64_t End, EmitT Emit) {
    if (Start < End)
      cut(End, Emit);
  }

private:
  template <typename EmitT> void cut(uint64_t At, EmitT &Emit) {
    Emit(Start, size_t(At - Start));
    Start = At;
  }
  /// Cuts where no boundary came in time.
  template <typename EmitT> void force(uint64_t Reached, EmitT &Emit) {
    while (Reached - Start >= MaxChunk)
      cut(Start + MaxChunk, Emit);
  }
  uint64_t Start = 0;
};

//===-- Digests -----------------------------------------------------------===//

using Digest = std::array<unsigned char, 32>;
Digest sha256(const unsigned char *Data, size_t Size);

struct DigestHash {
  size_t operator()(const Digest &D) const {
    size_t Hash; // Any bytes of a SHA-256 are as good as others.
    memcpy(&Hash, D.data(), sizeof Hash);
    return Hash;
  }
};

//===-- Compression -------------------------------------------------------===//

/// One thread's compressor. The same bytes give the same result in each of
/// them.
class Compressor {
public:
  Compressor();
  /// Appends the compressed form of Data to Out and returns its size.
  size_t append(Bytes &Out, const unsigned char *Data, size_t Size);

private:
  std::shared_ptr<void> Context;
};

//===-- Files -------------------------------------------------------------===//

/// Reads all of Path. Throws Error.
Bytes readWhole(const std::string &Path);

/// Where bytes go.
struct Sink {
  virtual ~Sink() = default;
  virtual void write(const void *Data, size_t Size) = 0;
};

/// A file that has its name only once it is complete: until commit() it is a
/// temporary file beside it. A device or pipe is written as it is.
class OutputFile : public Sink {
public:
  explicit OutputFile(const std::string &Path);
  ~OutputFile() override;
  void write(const void *Data, size_t Size) override;
  void commit();

private:
  void flush();
  std::string Path;
  Bytes Buffer;
  int File = -1;
  bool Temporary = false;
};

/// Ends the program with one line on stderr, status 1 and no temporary file;
/// from any thread.
[[noreturn]] void die(const std::string &Why);

//===-- The archive -------------------------------------------------------===//
//
//   "VFDEDUP" version:1   size of the original:8
//   'N' size:4 packed:4 digest:32 bytes...   a chunk not seen before
//   'R' index:8                              the index-th of those again
//   'E' digest:32                            of all bytes before it
//
// Numbers are little-endian. A decoder checks each digest. The last one is of
// the packed bytes, as zstd ignores some of their bits: a flipped bit is found
// even where it changes no data.

constexpr unsigned char Version = 2;

/// Writes an archive; calls come in the order of the chunks.
class ArchiveWriter {
public:
  ArchiveWriter(Sink &Out, uint64_t Size);
  void fresh(size_t Size, const Digest &D, const unsigned char *Packed,
             size_t PackedSize);
  void repeat(uint64_t Index);
  void end();

private:
  void put(const void *Data, size_t Size);
  template <typename T> void put(T Value);
  Sink &Out;
  std::shared_ptr<void> State; ///< SHA-256 of what was written so far.
};

/// Writes to Out what Archive was made of. Throws Error if it is no whole
/// archive; Out then has got a part.
void decode(const Bytes &Archive, Sink &Out);

//===-- The two forms -----------------------------------------------------===//

/// Writes the archive of Input with so many threads (a parallel stage); its
/// bytes do not depend on that.
void encode(const Bytes &Input, unsigned Threads, Sink &Out);

} // namespace dedup

#endif
