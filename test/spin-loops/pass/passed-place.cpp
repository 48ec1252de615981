// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded queue whose cells have numbers (Vyukov's). If the cell's number is greater than the place
// read, other threads have taken that place: a retry. If it is smaller, the queue is full or empty: a
// wait, unless the loop ends. Check and pass agree on each loop.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++20 2>&1 | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <cstddef>
#include <cstdint>

struct Cell {
  std::atomic<size_t> sequence;
  int data;
};
struct Queue {
  Cell cells[1024];
  std::atomic<size_t> next{0};
  std::atomic<size_t> limit{0};
};

// The usual form: the place is kept, and read again on the third way.
static inline bool dequeue(Queue &q, int &out) {
  size_t place = q.next.load(std::memory_order_relaxed);
  for (;;) {
    Cell &cell = q.cells[place & 1023];
    intptr_t ahead = (intptr_t)cell.sequence.load(std::memory_order_acquire) - (intptr_t)(place + 1);
    if (ahead == 0) {
      if (q.next.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) {
        out = cell.data;
        cell.sequence.store(place + 1024, std::memory_order_release);
        return true;
      }
    } else if (ahead < 0) {
      return false;
    } else {
      place = q.next.load(std::memory_order_relaxed);
    }
  }
}
int dequeue_waiting(Queue &q) {
  int v;
  // expected-remark@+4 {{(lock-free retry)}}
  // expected-remark@+3 {{(try-lock) on atomic memory at offset 16384 of 'struct.Queue' wastes}}
  // expected-remark@+2 {{link with libvfrt}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on a try-lock
  while (!dequeue(q, v))
    __builtin_ia32_pause();
  return v;
}

// The order of the tests does not matter: whether the place was passed on is known after both.
bool dequeue_mostly_empty(Queue &q, int &out) {
  size_t place = q.next.load(std::memory_order_relaxed);
  for (;;) {
    Cell &cell = q.cells[place & 1023];
    intptr_t ahead = (intptr_t)cell.sequence.load(std::memory_order_acquire) - (intptr_t)(place + 1);
    if (ahead < 0) [[likely]]
      return false;
    if (ahead == 0) {
      if (q.next.compare_exchange_strong(place, place + 1, std::memory_order_relaxed)) {
        out = cell.data;
        cell.sequence.store(place + 1024, std::memory_order_release);
        return true;
      }
    } else {
      place = q.next.load(std::memory_order_relaxed);
    }
  }
}

// The place is read in each iteration, and the difference wraps.
bool enqueue(Queue &q, int value) {
  size_t place;
  // expected-remark@+1 {{(lock-free retry)}}
  for (;;) {
    place = q.next.load(std::memory_order_acquire);
    Cell &cell = q.cells[place & 1023];
    int64_t ahead = (int64_t)(cell.sequence.load(std::memory_order_acquire) - place);
    if (ahead == 0) {
      if (q.next.compare_exchange_strong(place, place + 1, std::memory_order_relaxed)) {
        cell.data = value;
        cell.sequence.store(place + 1, std::memory_order_release);
        return true;
      }
    } else if (ahead < 0) {
      return false;
    }
  }
}

// The retry comes first; nothing compares for equality.
struct SmallCell {
  std::atomic<unsigned> sequence;
  int data;
};
bool dequeue_small(std::atomic<unsigned> &next, SmallCell *cells, int &out) {
  unsigned place;
  // expected-remark@+1 {{(lock-free retry)}}
  for (;;) {
    place = next.load();
    SmallCell &cell = cells[place & 63];
    int ahead = (int)(cell.sequence.load(std::memory_order_acquire) - (place + 1));
    if (ahead > 0)
      continue;
    if (ahead < 0)
      return false;
    if (next.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) {
      out = cell.data;
      cell.sequence.store(place + 64, std::memory_order_release);
      return true;
    }
  }
}

// Twin: reads the place again while the queue is full, so it waits for room.
void enqueue_waiting(Queue &q, int value) {
  size_t place;
  Cell *cell;
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    place = q.next.load(std::memory_order_acquire);
    cell = &q.cells[place & 1023];
    int64_t ahead = (int64_t)(cell->sequence.load(std::memory_order_acquire) - place);
    if (ahead == 0 && q.next.compare_exchange_strong(place, place + 1, std::memory_order_relaxed))
      break;
  }
  cell->data = value;
  cell->sequence.store(place + 1, std::memory_order_release);
}

// Twin: gives up if it was overtaken, and waits while the cell is not yet written.
bool read_next(Queue &q, int &out) {
  size_t place;
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    place = q.next.load(std::memory_order_acquire);
    Cell &cell = q.cells[place & 1023];
    int64_t ahead = (int64_t)(cell.sequence.load(std::memory_order_acquire) - (place + 1));
    if (ahead == 0) {
      if (q.next.compare_exchange_strong(place, place + 1, std::memory_order_relaxed)) {
        out = cell.data;
        return true;
      }
    } else if (ahead > 0) {
      return false;
    }
  }
}

// Twin: the number is at one place for all, so others must move `next` on to it.
bool start_at_limit(Queue &q) {
  size_t place;
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    place = q.next.load(std::memory_order_acquire);
    int64_t ahead = (int64_t)(q.limit.load(std::memory_order_acquire) - place);
    if (ahead == 0) {
      if (q.next.compare_exchange_strong(place, place + 1, std::memory_order_relaxed))
        return true;
    } else if (ahead < 0) {
      return false;
    }
  }
}

// Twin: places shrink, so a greater number is of a cell that is still in use.
bool take_down(Queue &q, int &out) {
  size_t place;
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    place = q.next.load(std::memory_order_acquire);
    Cell &cell = q.cells[place & 1023];
    int64_t ahead = (int64_t)(cell.sequence.load(std::memory_order_acquire) - place);
    if (ahead == 0) {
      if (q.next.compare_exchange_strong(place, place - 1, std::memory_order_relaxed)) {
        out = cell.data;
        return true;
      }
    } else if (ahead < 0) {
      return false;
    }
  }
}

// Twin: keeps the place, so the cell's number must change.
bool take_same(Queue &q, int &out) {
  size_t place = q.next.load(std::memory_order_acquire);
  Cell &cell = q.cells[place & 1023];
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    int64_t ahead = (int64_t)(cell.sequence.load(std::memory_order_acquire) - place);
    if (ahead == 0) {
      size_t expected = place;
      if (q.next.compare_exchange_strong(expected, place + 1)) {
        out = cell.data;
        return true;
      }
    } else if (ahead < 0) {
      return false;
    }
  }
}

// Twin: goes on while the queue is shut, whether or not the place was passed on.
bool dequeue_when_open(Queue &q, std::atomic<bool> &open, int &out) {
  size_t place;
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    place = q.next.load(std::memory_order_acquire);
    Cell &cell = q.cells[place & 1023];
    int64_t ahead = (int64_t)(cell.sequence.load(std::memory_order_acquire) - (place + 1));
    if (ahead < 0)
      return false;
    if (open.load() && q.next.compare_exchange_strong(place, place + 1, std::memory_order_relaxed)) {
      out = cell.data;
      return true;
    }
  }
}
