// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// Where chunks end: Rabin's fingerprint (Rabin 1981) of the last 48 bytes,
// rolled along byte by byte.

#include "dedup.h"

using namespace dedup;

namespace {

constexpr size_t Window = 48;
// Irreducible over GF(2), of degree 53: what makes it a fingerprint.
constexpr uint64_t Polynomial = 0x3DA3358B4DC173;
constexpr unsigned Degree = 53;

constexpr uint64_t modulo(uint64_t Value) {
  for (int Bit = 63; Bit >= int(Degree); --Bit)
    if (Value >> Bit & 1)
      Value ^= Polynomial << (Bit - Degree);
  return Value;
}

/// What the highest byte, and the byte that leaves the window, add to a
/// fingerprint.
struct Tables {
  uint64_t High[256], Leaving[256];
  constexpr Tables() : High(), Leaving() {
    for (uint64_t Byte = 0; Byte < 256; ++Byte) {
      High[Byte] = modulo(Byte << Degree) | Byte << Degree;
      uint64_t Hash = modulo(Byte);
      for (size_t I = 1; I < Window; ++I)
        Hash = modulo(Hash << 8);
      Leaving[Byte] = Hash;
    }
  }
};
constexpr Tables Table;

uint64_t append(uint64_t Hash, unsigned char Byte) {
  return (Hash << 8 | Byte) ^ Table.High[Hash >> (Degree - 8)];
}

} // namespace

std::vector<uint64_t> dedup::boundaries(const unsigned char *Data,
                                        uint64_t Begin, uint64_t End) {
  std::vector<uint64_t> Found;
  Found.reserve((End - Begin) / BoundaryMask + 1);
  uint64_t Hash = 0;
  for (uint64_t I = Begin < Window ? 0 : Begin - Window; I < Begin; ++I)
    Hash = append(Hash, Data[I]);
  for (uint64_t I = Begin; I < End; ++I) {
    if (I >= Window)
      Hash ^= Table.Leaving[Data[I - Window]];
    Hash = append(Hash, Data[I]);
    if ((Hash & BoundaryMask) == BoundaryMask)
      Found.push_back(I);
  }
  return Found;
}
