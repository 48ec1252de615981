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

template <typename T> void put(Sink &Out, T Value) {
  unsigned char Raw[sizeof(T)];
  for (size_t I = 0; I < sizeof(T); ++I)
    Raw[I] = static_cast<unsigned char>(Value >> 8 * I);
  Out.write(Raw, sizeof Raw);
}

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

private:
  const Bytes &From;
  size_t At = 0;
};

std::shared_ptr<void> newDigests() {
  std::shared_ptr<EVP_MD_CTX> Context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!Context || !EVP_DigestInit_ex(Context.get(), EVP_sha256(), nullptr))
    throw Error("OpenSSL cannot begin a SHA-256");
  return Context;
}

void add(const std::shared_ptr<void> &Digests, const Digest &D) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX *>(Digests.get()), D.data(),
                   D.size());
}

Digest result(const std::shared_ptr<void> &Digests) {
  Digest D;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX *>(Digests.get()), D.data(),
                     nullptr);
  return D;
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
    : Out(Out), Digests(newDigests()) {
  Out.write(Magic, sizeof Magic);
  put(Out, Size);
}

void ArchiveWriter::fresh(size_t Size, const Digest &D,
                          const unsigned char *Packed, size_t PackedSize) {
  Out.write("N", 1);
  put(Out, uint32_t(Size));
  put(Out, uint32_t(PackedSize));
  Out.write(D.data(), D.size());
  Out.write(Packed, PackedSize);
  add(Digests, D);
}

void ArchiveWriter::repeat(uint64_t Index, const Digest &D) {
  Out.write("R", 1);
  put(Out, Index);
  add(Digests, D);
}

void ArchiveWriter::end() {
  Out.write("E", 1);
  Digest D = result(Digests);
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
  struct Known {
    Bytes Data;
    Digest D;
  };
  std::vector<Known> Chunks;
  std::shared_ptr<void> Digests = newDigests();
  auto Emit = [&](const Known &K) {
    if (K.Data.size() > Left)
      In.damaged("it has more data than its size says");
    Left -= K.Data.size();
    add(Digests, K.D);
    Out.write(K.Data.data(), K.Data.size());
  };
  for (;;) {
    unsigned char Kind = *In.bytes(1);
    if (Kind == 'E') {
      Digest D = result(Digests);
      if (memcmp(In.bytes(D.size()), D.data(), D.size()) != 0)
        In.damaged("chunks are not those that were packed");
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
    Known K;
    memcpy(K.D.data(), In.bytes(K.D.size()), K.D.size());
    const unsigned char *From = In.bytes(Packed);
    K.Data.resize(Size);
    size_t Got = ZSTD_decompress(K.Data.data(), Size, From, Packed);
    if (Got != Size || sha256(K.Data.data(), Size) != K.D)
      In.damaged("a chunk is not what was packed");
    Emit(K);
    Chunks.push_back(std::move(K));
  }
}
