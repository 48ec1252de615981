// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address space that runs out: NULL and ENOMEM, bad_alloc, and nothing lost; what is freed
// can be had again, in other sizes and by others than the allocator.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang++ -std=c++17 -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t

#include "check.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

static constexpr size_t Limit = 512u << 20;

static void fill(size_t Size) {
  std::vector<char *> Blocks;
  Blocks.reserve(1 << 20);
  errno = 0;
  while (char *B = static_cast<char *>(malloc(Size))) {
    memset(B, static_cast<int>(Blocks.size()), Size < 64 ? Size : 64);
    Blocks.push_back(B);
    if (Blocks.size() == Blocks.capacity())
      break;
  }
  CHECK(Blocks.size() == Blocks.capacity() || errno == ENOMEM);
  CHECK(Blocks.size() * Size > Limit / 8);
  for (size_t I = 0; I != Blocks.size(); ++I)
    CHECK(Blocks[I][0] == static_cast<char>(I));
  for (char *B : Blocks)
    free(B);
  /* What was freed is there for others as well: for a stack, larger than those that
   * libc has kept. */
  pthread_attr_t Large;
  pthread_t Id;
  pthread_attr_init(&Large);
  CHECK(pthread_attr_setstacksize(&Large, Limit / 16) == 0);
  CHECK(pthread_create(&Id, &Large, [](void *P) { return P; }, nullptr) == 0);
  CHECK(pthread_join(Id, nullptr) == 0);
}

static constexpr int Late = 20;
static pthread_barrier_t UsedUp, Tried, ThereIsSome;
static std::atomic<int> Refused;

/// The first calls of this thread come when memory is used up. They may fail, and succeed
/// once there is memory again.
static void *beginLate(void *) {
  pthread_barrier_wait(&UsedUp);
  for (size_t Size : {16, 5000, 1000000}) {
    void *volatile P = malloc(Size); // Otherwise no call is left.
    CHECK(P || errno == ENOMEM);
    Refused += !P;
    free(P);
  }
  pthread_barrier_wait(&Tried);
  pthread_barrier_wait(&ThereIsSome);
  for (size_t Size : {16, 5000, 1000000}) {
    char *P = static_cast<char *>(malloc(Size));
    CHECK(P);
    memset(P, 1, Size);
    P = static_cast<char *>(realloc(P, 2 * Size));
    CHECK(P && P[Size - 1] == 1);
    free(P);
  }
  return nullptr;
}

/// jemalloc 5.3 alone crashes in threads for whose cache, or arena, there is no memory. What
/// is spared suffices for some caches.
static void beginWithoutMemory(size_t Spared) {
  pthread_t Threads[Late];
  Refused = 0;
  for (pthread_barrier_t *B : {&UsedUp, &Tried, &ThereIsSome})
    CHECK(pthread_barrier_init(B, nullptr, Late + 1) == 0);
  for (pthread_t &T : Threads)
    CHECK(pthread_create(&T, nullptr, beginLate, nullptr) == 0);
  struct Block {
    Block *Next;
  } *Blocks = nullptr;
  void *volatile Spare = malloc(Spared);
  struct rlimit Before, Is;
  CHECK(getrlimit(RLIMIT_AS, &Before) == 0);
  Is = {Limit, Before.rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &Is) == 0);
  for (size_t Size = 1 << 26; Size >= 8; Size /= 2)
    while (auto *B = static_cast<Block *>(malloc(Size))) {
      B->Next = Blocks;
      Blocks = B;
    }
  free(Spare);
  pthread_barrier_wait(&UsedUp);
  pthread_barrier_wait(&Tried);
  CHECK(Refused >= Late);
  while (Block *B = Blocks) {
    Blocks = B->Next;
    free(B);
  }
  CHECK(setrlimit(RLIMIT_AS, &Before) == 0);
  pthread_barrier_wait(&ThereIsSome);
  for (pthread_t T : Threads)
    CHECK(pthread_join(T, nullptr) == 0);
}

/// In several threads at once, whose stacks were there before.
static void fillTogether() {
  std::atomic<bool> Begins = false;
  std::atomic<int> Ready = 0;
  std::vector<std::thread> All;
  for (int I = 0; I != 4; ++I)
    All.emplace_back([&] {
      // Reserved now: under the limit the vector itself could fail to grow.
      std::vector<void *> Blocks;
      Blocks.reserve(300);
      ++Ready;
      while (!Begins)
        std::this_thread::yield();
      for (int Round = 0; Round != 50; ++Round) {
        for (int B = 0; B != 300; ++B)
          if (void *P = malloc(1000000))
            Blocks.push_back(P);
        for (void *P : Blocks)
          free(P);
        Blocks.clear();
      }
    });
  while (Ready != 4)
    std::this_thread::yield();
  struct rlimit Is = {Limit, Limit};
  CHECK(setrlimit(RLIMIT_AS, &Is) == 0);
  Begins = true;
  for (auto &T : All)
    T.join();
}

int main() {
  beginWithoutMemory(200000);
  beginWithoutMemory(0);
  fillTogether();
  for (int Round = 0; Round != 3; ++Round)
    for (size_t Size : {100000u, 1000000u, 4096u, 30000000u})
      fill(Size);
  bool Thrown = false;
  try {
    operator delete(operator new(Limit * 2));
  } catch (const std::bad_alloc &) {
    Thrown = true;
  }
  CHECK(Thrown);
  CHECK(!operator new(Limit * 2, std::nothrow));
  struct alignas(256) Wide {
    char C[256];
  };
  auto *W = new Wide[100];
  CHECK(reinterpret_cast<uintptr_t>(W) % 256 == 0);
  delete[] W;
  void *P = malloc(100000000);
  CHECK(P);
  free(P);
  return 0;
}
