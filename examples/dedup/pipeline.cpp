// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// The compressor as a pipeline, the way PARSEC's dedup is built: six stages
// with a bounded queue between each two, THREADS threads in each stage that can
// have more than one.
//
//   read -> search -> cut -> digest -> pack -> write
//     1      n         1       n    \   n     / 1
//                                    repeats
//
// The queue is that of the step: -DQUEUE='"queue-broadcast.h"'.

#include "dedup.h"
#include QUEUE

#include <map>
#include <thread>
#include <unordered_map>

using namespace dedup;

namespace {

constexpr size_t QueueCapacity = 256;

struct Slice {
  uint64_t Begin, End;
  std::vector<uint64_t> Boundaries;
};

/// What is known of all chunks with the same content. A pack thread fills
/// Packed; the rest is the writer's.
struct Content {
  Bytes Packed;
  bool Ready = false, Written = false;
  uint64_t Index = 0;
};

struct Chunk {
  uint64_t Number;
  Bytes Data;
  Digest D;
  Content *Same = nullptr;
  bool First = false; // seen: the one that is packed
};
using ChunkPtr = std::unique_ptr<Chunk>;

/// The contents seen so far.
class Contents {
public:
  /// Returns the content with this digest, and whether it was not known before.
  std::pair<Content *, bool> find(const Digest &D) {
    std::lock_guard<std::mutex> Lock(Mutex);
    auto [Where, New] = Known.try_emplace(D);
    if (New)
      Where->second = std::make_unique<Content>();
    return {Where->second.get(), New};
  }

private:
  std::mutex Mutex;
  std::unordered_map<Digest, std::unique_ptr<Content>, DigestHash> Known;
};

class Pipeline {
public:
  Pipeline(const Bytes &Input, unsigned Threads, Sink &Out)
      : Input(Input), Slices(QueueCapacity, 1),
        Searched(QueueCapacity, Threads), Chunks(QueueCapacity, 1),
        Fresh(QueueCapacity, Threads),
        // Both those that digest and those that pack send to the writer.
        Done(QueueCapacity, 2 * Threads), Writer(Out, Input.size()) {}

  void run(unsigned Threads) {
    start([this] { read(); });
    start([this] { cut(); });
    for (unsigned I = 0; I < Threads; ++I) {
      start([this] { search(); });
      start([this] { digest(); });
      start([this] { pack(); });
    }
    write();
    for (std::thread &T : Workers)
      T.join();
  }

private:
  template <typename StageT> void start(StageT Stage) {
    Workers.emplace_back([Stage] {
      try {
        Stage();
      } catch (const std::exception &Why) {
        die(Why.what());
      }
    });
  }

  void read() {
    Sender<Slice> To(Slices);
    for (uint64_t At = 0; At < Input.size(); At += SliceSize)
      To.push({At, std::min<uint64_t>(At + SliceSize, Input.size()), {}});
  }

  void search() {
    Receiver<Slice> From(Slices);
    Sender<Slice> To(Searched);
    for (Slice S; From.pop(S);) {
      S.Boundaries = boundaries(Input.data(), S.Begin, S.End);
      To.push(std::move(S));
    }
  }

  void cut() {
    Receiver<Slice> From(Searched);
    Sender<ChunkPtr> To(Chunks);
    std::map<uint64_t, Slice> Waiting; // for those before them
    Cutter Cut;
    uint64_t Reached = 0, Number = 0;
    auto Emit = [&](uint64_t Begin, size_t Size) {
      auto C = std::make_unique<Chunk>();
      C->Number = Number++;
      C->Data.assign(Input.data() + Begin, Input.data() + Begin + Size);
      To.push(std::move(C));
    };
    for (Slice S; From.pop(S);) {
      uint64_t Begin = S.Begin;
      Waiting.emplace(Begin, std::move(S));
      for (auto I = Waiting.begin(); I != Waiting.end() && I->first == Reached;
           I = Waiting.erase(I)) {
        Reached = I->second.End;
        Cut.slice(I->second.Boundaries, Reached, Emit);
      }
    }
    Cut.finish(Input.size(), Emit);
  }

  void digest() {
    Receiver<ChunkPtr> From(Chunks);
    Sender<ChunkPtr> ToPack(Fresh), ToWrite(Done);
    for (ChunkPtr C; From.pop(C);) {
      C->D = sha256(C->Data.data(), C->Data.size());
      std::tie(C->Same, C->First) = Known.find(C->D);
      (C->First ? ToPack : ToWrite).push(std::move(C));
    }
  }

  void pack() {
    Receiver<ChunkPtr> From(Fresh);
    Sender<ChunkPtr> To(Done);
    Compressor Pack;
    for (ChunkPtr C; From.pop(C);) {
      Pack.append(C->Same->Packed, C->Data.data(), C->Data.size());
      To.push(std::move(C));
    }
  }

  /// Writes chunks in order. The first that was seen of equal chunks need not
  /// be the first in the file, so a repeat may have to wait until the other one
  /// is packed. This stage never waits for anything but its queue, so stages
  /// before it never wait for long.
  void write() {
    Receiver<ChunkPtr> From(Done);
    std::map<uint64_t, ChunkPtr> Waiting;
    uint64_t Next = 0, Written = 0;
    for (ChunkPtr C; From.pop(C);) {
      if (C->First)
        C->Same->Ready = true;
      uint64_t Number = C->Number;
      Waiting.emplace(Number, std::move(C));
      for (auto I = Waiting.begin();
           I != Waiting.end() && I->first == Next && I->second->Same->Ready;
           I = Waiting.erase(I), ++Next) {
        Chunk &Now = *I->second;
        Content &Same = *Now.Same;
        if (Same.Written) {
          Writer.repeat(Same.Index);
          continue;
        }
        Writer.fresh(Now.Data.size(), Now.D, Same.Packed.data(),
                     Same.Packed.size());
        Same.Written = true;
        Same.Index = Written++;
        Same.Packed = Bytes();
      }
    }
    Writer.end();
  }

  const Bytes &Input;
  Queue<Slice> Slices, Searched;
  Queue<ChunkPtr> Chunks, Fresh, Done;
  Contents Known;
  ArchiveWriter Writer;
  std::vector<std::thread> Workers;
};

} // namespace

void dedup::encode(const Bytes &Input, unsigned Threads, Sink &Out) {
  Pipeline(Input, Threads, Out).run(Threads);
}
