// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// The archive's form, its decoder, and what OpenSSL and zstd do for both.

#include "dedup.h"

#include <openssl/evp.h>
#include <zstd.h>

using namespace dedup;

namespace {

constexpr unsigned char Magic[] = {'V', 'F', 'D', 'E', 'D', 'U', 'P', Version};

/// Takes an archive apart from its beginning.
class Reader {
public:
  explicit Reader(const Bytes &From) : From(From) {}
  const unsigned char *bytes(size_t Size) {
    if (From.size() - At < Size)
      throw Error("the archive is cut off at byte " +
                  std::to_string(From.size()));
    At += Size;
    return From.data() + At - Size;
  }
  template <typename T> T number() {
    const unsigned char *Raw = bytes(sizeof(T));
    T Value = 0;
    for (size_t I = sizeof(T); I-- > 0;)
      Value = static_cast<T>(Value << 8 | Raw[I]);
    return Value;
  }
  [[noreturn]] void damaged(const char *What) const {
    throw Error("the archive is damaged before byte " + std::to_string(At) +
                ": " + What);
  }
  bool atEnd() const { return At == From.size(); }
  /// Returns the digest of all that was read so far.
  Digest digest() const { return sha256(From.data(), At); }

private:
  const Bytes &From;
  size_t At = 0;
};

EVP_MD_CTX *hash(const std::shared_ptr<void> &State) {
  return static_cast<EVP_MD_CTX *>(State.get());
}

} // namespace

Digest dedup::sha256(const unsigned char *Data, size_t Size) {
  Digest D;
  if (!EVP_Digest(Data, Size, D.data(), nullptr, EVP_sha256(), nullptr))
    throw Error("OpenSSL has no SHA-256");
  return D;
}

Compressor::Compressor()
    : Context(ZSTD_createCCtx(),
              [](void *C) { ZSTD_freeCCtx(static_cast<ZSTD_CCtx *>(C)); }) {
  if (!Context)
    throw std::bad_alloc();
}

size_t Compressor::append(Bytes &Out, const unsigned char *Data, size_t Size) {
  size_t Before = Out.size(), Bound = ZSTD_compressBound(Size);
  Out.resize(Before + Bound);
  size_t Packed = ZSTD_compressCCtx(static_cast<ZSTD_CCtx *>(Context.get()),
                                    Out.data() + Before, Bound, Data, Size,
                                    ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(Packed))
    throw Error(std::string("zstd: ") + ZSTD_getErrorName(Packed));
  Out.resize(Before + Packed);
  return Packed;
}

ArchiveWriter::ArchiveWriter(Sink &Out, uint64_t Size)
    : Out(Out), State(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (!State || !EVP_DigestInit_ex(hash(State), EVP_sha256(), nullptr))
    throw Error("OpenSSL cannot begin a SHA-256");
  put(Magic, sizeof Magic);
  put(Size);
}

void ArchiveWriter::put(const void *Data, size_t Size) {
  EVP_DigestUpdate(hash(State), Data, Size);
  Out.write(Data, Size);
}

template <typename T> void ArchiveWriter::put(T Value) {
  unsigned char Raw[sizeof(T)];
  for (size_t I = 0; I < sizeof(T); ++I)
    Raw[I] = static_cast<unsigned char>(Value >> 8 * I);
  put(Raw, sizeof Raw);
}

void ArchiveWriter::fresh(size_t Size, const Digest &D,
                          const unsigned char *Packed, size_t PackedSize) {
  put('N');
  put(uint32_t(Size));
  put(uint32_t(PackedSize));
  put(D.data(), D.size());
  put(Packed, PackedSize);
}

void ArchiveWriter::repeat(uint64_t Index) {
  put('R');
  put(Index);
}

void ArchiveWriter::end() {
  put('E');
  Digest D;
  EVP_DigestFinal_ex(hash(State), D.data(), nullptr);
  Out.write(D.data(), D.size());
}

void dedup::decode(const Bytes &Archive, Sink &Out) {
  Reader In(Archive);
  const unsigned char *Found = In.bytes(sizeof Magic);
  if (memcmp(Found, Magic, sizeof Magic - 1) != 0)
    throw Error("this is no archive of dedup");
  if (Found[sizeof Magic - 1] != Version)
    throw Error("the archive has version " +
                std::to_string(Found[sizeof Magic - 1]) +
                ", this program reads " + std::to_string(Version));
  uint64_t Left = In.number<uint64_t>();
  std::vector<Bytes> Chunks;
  auto Emit = [&](const Bytes &Data) {
    if (Data.size() > Left)
      In.damaged("it has more data than its size says");
    Left -= Data.size();
    Out.write(Data.data(), Data.size());
  };
  for (;;) {
    unsigned char Kind = *In.bytes(1);
    if (Kind == 'E') {
      Digest D = In.digest();
      if (memcmp(In.bytes(D.size()), D.data(), D.size()) != 0)
        In.damaged("it is not what was written");
      if (Left)
        In.damaged("it has less data than its size says");
      if (!In.atEnd())
        In.damaged("something follows its end");
      return;
    }
    if (Kind == 'R') {
      uint64_t Index = In.number<uint64_t>();
      if (Index >= Chunks.size())
        In.damaged("it repeats a chunk that it does not have");
      Emit(Chunks[Index]);
      continue;
    }
    if (Kind != 'N')
      In.damaged("it has a record of unknown kind");
    uint32_t Size = In.number<uint32_t>(), Packed = In.number<uint32_t>();
    // Limits come before memory is taken.
    if (Size == 0 || Size > MaxChunk)
      In.damaged("a chunk has an impossible size");
    Digest D;
    memcpy(D.data(), In.bytes(D.size()), D.size());
    const unsigned char *From = In.bytes(Packed);
    Bytes Data(Size);
    size_t Got = ZSTD_decompress(Data.data(), Size, From, Packed);
    if (Got != Size || sha256(Data.data(), Size) != D)
      In.damaged("a chunk is not what was packed");
    Emit(Data);
    Chunks.push_back(std::move(Data));
  }
}
