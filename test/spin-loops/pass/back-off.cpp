// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits whose back-off is an object: a step pauses for a counted time, and later
// yields by a function of another file. Check and pass report them in doubt.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <thread>

struct ThisThread {
  static void yield();
};
bool hasWaitPackage();
void log(int);
std::atomic<int> Busy;
int Ticks;

struct Backoff {
  unsigned Count = 1, SoFar = 0;
  void tick() {
    if (SoFar < 10000) {
      for (unsigned I = 0; I < Count; I++)
        __builtin_ia32_pause();
      SoFar += Count;
      Count *= 2;
      return;
    }
    ThisThread::yield();
  }
};
void leave() {
  Backoff Wait;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'Busy'{{.*}}it calls 'yield', whose effects are unknown
  // expected-remark@+1 {{it calls 'yield', whose effects are unknown}}
  while (Busy.load(std::memory_order_acquire) > 0)
    Wait.tick();
}

// The delay is a function of its own, and tells whether it has yielded.
inline void spin(int Count) {
  if (!hasWaitPackage())
    for (int I = 0; I <= Count; ++I)
      __builtin_ia32_pause();
  else
    for (int I = 0; I <= Count; ++I)
      __builtin_ia32_pause();
}
template <bool Yields> class Growing {
public:
  bool tick() {
    if (SoFar < 1000) {
      spin(Count);
      SoFar += Count;
      Count += 1;
      return false;
    }
    if (Yields)
      ThisThread::yield();
    return true;
  }

private:
  unsigned SoFar = 0;
  int Count = 1;
};
void join(std::atomic<bool> &Done) {
  Growing<true> Wait;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'Done'{{.*}}it calls 'yield', whose effects are unknown
  // expected-remark@+1 {{some of its iterations do more than poll}}
  do
    Wait.tick();
  while (!Done.load(std::memory_order_acquire));
}

// The count is behind a reference, where others may see it. The pass, which sees
// these loops only when they have been optimized, is silent.
struct Doubling {
  unsigned N = 1;
  void operator()() {
    if (N <= 1024) {
      for (unsigned I = 0; I < N; I++)
        __builtin_ia32_pause();
      N *= 2;
    } else {
      std::this_thread::yield();
    }
  }
};
void waitBy(std::atomic<int> &Flag, Doubling &Step) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'Flag'{{.*}}it keeps a count in shared memory
  while (!Flag.load())
    Step();
}
struct Spinner {
  Doubling Step;
  void until(std::atomic<int> &Flag) {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'Flag'{{.*}}it keeps a count in shared memory
    while (!Flag.load())
      Step();
  }
};
void waitIn(std::atomic<int> &Flag, Spinner &S) { S.until(Flag); }

// What others wait for is no count: a number of polls, bits, a hand-over.
void publish(std::atomic<int> &Flag, unsigned &Last) {
  unsigned Polls = 0;
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Last ^= Polls += 3;
  }
}
void clear(std::atomic<int> &Flag, unsigned &Bits) {
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Bits &= ~4u;
  }
}
void set(std::atomic<int> &Flag, unsigned &Bits) {
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Bits |= 4;
  }
}
void toggle(std::atomic<int> &Flag, unsigned &Bits) {
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Bits ^= 1;
  }
}
void handOver(std::atomic<int> &Flag, unsigned &Turn) {
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Turn = Turn ? 0 : 1;
  }
}
void reset(std::atomic<int> &Flag, unsigned &Turn) {
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Turn = Turn < 8 ? Turn + 1 : 0;
  }
}
// With a cap it is one.
void capped(std::atomic<int> &Flag, unsigned &Pauses) {
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'Flag'{{.*}}it keeps a count in shared memory
  // expected-remark@+1 {{it keeps a count in shared memory}}
  while (!Flag.load()) {
    __builtin_ia32_pause();
    Pauses = Pauses < 64 ? Pauses * 2 : 64;
  }
}

// Not a step of a back-off: other threads see what it counts.
struct Ticker {
  void tick() {
    for (int I = 0; I < 10; ++I)
      __builtin_ia32_pause();
    ++Ticks;
    log(Ticks);
  }
};
void count(std::atomic<bool> &Stop) {
  Ticker T;
  while (!Stop.load(std::memory_order_relaxed))
    T.tick();
}

// The called function waits by itself, so the loop around it works.
struct Lock {
  std::atomic<bool> Held{false};
  void take() {
    // CHECK: :[[@LINE+3]]:5: warning: loop spins on a try-lock
    // expected-remark@+2 {{now wait in the runtime}}
    // expected-remark@+1 {{link with libvfrt}}
    while (Held.exchange(true, std::memory_order_acquire))
      __builtin_ia32_pause();
    log(0);
  }
};
void serve(std::atomic<bool> &Stop, Lock &L) {
  while (!Stop.load(std::memory_order_relaxed))
    L.take();
}
