// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// The compressor as loops over independent items, on threads that oneTBB keeps:
//
//   search slices | cut | digest chunks | find repeats | pack new ones | write
//      parallel               parallel                      parallel
//
// A thread waits at the end of each parallel loop only. What is in between is
// short and runs in order, which is also what makes the archive independent of
// the threads.
//
// Step 4 is built with -DOUTPUT_PER_CHUNK; step 5, the result, without.

#include "dedup.h"
#include "parallel_for.h"

#include <tbb/enumerable_thread_specific.h>
#include <unordered_map>

using namespace dedup;

namespace {

struct Chunk {
  uint64_t Begin;
  size_t Size;
  Digest D;
  uint64_t Index; // among those that were not seen before
};

/// One thread's compressor, and all that it packed.
struct Worker {
  Compressor Pack;
  Bytes Out;
};

/// Where the packed form of a chunk is. A worker's buffer moves as it grows.
struct Packed {
#ifdef OUTPUT_PER_CHUNK
  Bytes Own;
#else
  const Worker *By;
  size_t Offset;
#endif
  size_t Size;

  const unsigned char *data() const {
#ifdef OUTPUT_PER_CHUNK
    return Own.data();
#else
    return By->Out.data() + Offset;
#endif
  }
};

void pack(Packed &P, Worker &W, const unsigned char *Data, size_t Size) {
#ifdef OUTPUT_PER_CHUNK
  P.Size = W.Pack.append(P.Own, Data, Size);
#else
  P.By = &W;
  P.Offset = W.Out.size();
  P.Size = W.Pack.append(W.Out, Data, Size);
#endif
}

std::vector<Chunk> cut(const Bytes &Input) {
  std::vector<std::vector<uint64_t>> Found((Input.size() + SliceSize - 1) /
                                           SliceSize);
  auto End = [&](size_t I) {
    return std::min<uint64_t>((I + 1) * SliceSize, Input.size());
  };
  parallelFor(Found.size(), [&](size_t I) {
    Found[I] = boundaries(Input.data(), I * SliceSize, End(I));
  });
  std::vector<Chunk> Chunks;
  Chunks.reserve(Input.size() / MinChunk + 1);
  Cutter Cut;
  auto Emit = [&](uint64_t Begin, size_t Size) {
    Chunks.push_back({Begin, Size, {}, 0});
  };
  for (size_t I = 0; I < Found.size(); ++I)
    Cut.slice(Found[I], End(I), Emit);
  Cut.finish(Input.size(), Emit);
  return Chunks;
}

/// Numbers the chunks by content and returns the first of each.
std::vector<const Chunk *> findRepeats(std::vector<Chunk> &Chunks) {
  std::unordered_map<Digest, uint64_t, DigestHash> Known;
  Known.reserve(Chunks.size());
  std::vector<const Chunk *> Fresh;
  for (Chunk &C : Chunks) {
    auto [Where, New] = Known.try_emplace(C.D, Fresh.size());
    C.Index = Where->second;
    if (New)
      Fresh.push_back(&C);
  }
  return Fresh;
}

} // namespace

void dedup::encode(const Bytes &Input, unsigned Threads, Sink &Out) {
  withThreads(Threads, [&] {
    std::vector<Chunk> Chunks = cut(Input);
    parallelFor(Chunks.size(), [&](size_t I) {
      Chunks[I].D = sha256(Input.data() + Chunks[I].Begin, Chunks[I].Size);
    });
    std::vector<const Chunk *> Fresh = findRepeats(Chunks);
    std::vector<Packed> Results(Fresh.size());
    tbb::enumerable_thread_specific<Worker> Workers;
    parallelFor(Fresh.size(), [&](size_t I) {
      pack(Results[I], Workers.local(), Input.data() + Fresh[I]->Begin,
           Fresh[I]->Size);
    });
    ArchiveWriter Writer(Out, Input.size());
    uint64_t Written = 0;
    for (const Chunk &C : Chunks) {
      if (C.Index < Written) {
        Writer.repeat(C.Index);
        continue;
      }
      const Packed &P = Results[Written++];
      Writer.fresh(C.Size, C.D, P.data(), P.Size);
    }
    Writer.end();
  });
}
