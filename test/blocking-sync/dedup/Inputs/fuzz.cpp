// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer on the decoder of examples/dedup. It decodes damaged archives: what the
// fuzzer gives is a list of changes of a good one, as nobody guesses a SHA-256.

#include "dedup.h"

using namespace dedup;

namespace {
// Repeats make little input much output; that is no fault.
constexpr size_t Enough = 1 << 24;

struct Memory : Sink {
  Bytes Data;
  void write(const void *From, size_t Size) override {
    if (Data.size() + Size > Enough)
      throw Error("enough");
    const auto *Begin = static_cast<const unsigned char *>(From);
    Data.insert(Data.end(), Begin, Begin + Size);
  }
};

Bytes original(unsigned Size) {
  Bytes Data;
  for (unsigned I = 0; I < Size; ++I)
    Data.push_back(static_cast<unsigned char>(I * I / 7 % 251));
  return Data;
}

Bytes twice(const Bytes &Data) {
  Bytes Result = Data;
  Result.insert(Result.end(), Data.begin(), Data.end());
  return Result;
}

Bytes pack(const Bytes &Data) {
  Memory Out;
  encode(Data, 2, Out);
  return Out.Data;
}

// Decodes an archive that should be refused unless it is Good.
void check(const Bytes &Archive, const Bytes &Good, const Bytes &Original) {
  Memory Out;
  try {
    decode(Archive, Out);
  } catch (const Error &) {
    if (Archive == Good)
      __builtin_trap();
    return;
  }
  if (Archive != Good || Out.Data != Original)
    __builtin_trap(); // a change that goes unnoticed
}

} // namespace

// zstd ignores a few bits of what it packed, too few for a fuzzer to find them soon: each
// bit of a small archive is flipped first.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  const Bytes Original = original(700), Good = pack(Original);
  Bytes Archive = Good;
  for (unsigned char &Byte : Archive)
    for (unsigned Bit = 1; Bit < 256; Bit <<= 1) {
      Byte ^= Bit;
      check(Archive, Good, Original);
      Byte ^= Bit;
    }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  static const Bytes Original = twice(original(20000)), Good = pack(Original);
  Bytes Archive;
  if (Size && Data[0] & 1) {
    Archive.assign(Data + 1, Data + Size);
  } else {
    Archive = Good;
    // Each change: where, in two bytes, and what.
    for (size_t I = 1; I + 3 <= Size; I += 3)
      Archive[(Data[I] << 8 | Data[I + 1]) % Archive.size()] ^= Data[I + 2];
  }
  check(Archive, Good, Original);
  return 0;
}
