// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of a pipeline. One thread that moves items is none, and neither is one that puts
// an item back where it came from, takes a free buffer for each item that it has, or puts its
// answer where it is told to end.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-pipeline' %s -- -std=c++17 -DSECOND 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-pipeline' %s -- -std=c++17 2>&1 | count 0

#include <condition_variable>
#include <deque>
#include <mutex>

class Queue {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    NotEmpty.notify_one();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    while (Items.empty())
      NotEmpty.wait(Lock);
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};
// Its definition is in another file.
struct Ring;
int dequeue(Ring *From);
void enqueue(Ring *To, int Item);
int enlarge(int);

// example: stage
void enlargeAll(Ring *From, Ring *To) {
  // CHECK: :[[@LINE+1]]:21: warning: 'enlargeAll' is a stage of a pipeline: {{.*}}; process independent items in one parallel loop (guidelines/blocking-sync.md) [vfriendly-blocking-sync-pipeline]
  while (int Item = dequeue(From))
    enqueue(To, enlarge(Item));
}
// example end

#ifdef SECOND
void second(Ring *From, Ring *To) {
  for (;;) {
    // CHECK: :[[@LINE+1]]:16: warning: 'second' is a stage of a pipeline
    int Item = dequeue(From);
    if (Item < 0)
      break;
    enqueue(To, Item);
  }
}
#endif

// Named as queues are in C.
Ring *queue_get(Ring *From);
void seq_queue_put(Ring *To, Ring *Item);
int queue_get_size(Ring *From);
int queue_forget(Ring *From);
#ifdef SECOND
void third(Ring *From, Ring *To) {
  for (;;) {
    // CHECK: :[[@LINE+1]]:18: warning: 'third' is a stage of a pipeline
    Ring *Item = queue_get(From);
    seq_queue_put(To, Item);
  }
}
#endif
// Asks how long the queue is.
void measure(Ring *From, Ring *To) {
  while (queue_get_size(From) || queue_forget(From))
    seq_queue_put(To, From);
}

// Moves what is there, and waits for nothing.
bool queue_empty(Ring *From);
void drain(Ring *From, Ring *To) {
  while (!queue_empty(From))
    seq_queue_put(To, queue_get(From));
}

void again(Queue &Same) {
  for (;;) {
    int Item = Same.pop();
    if (!Item)
      return;
    Same.push(Item - 1);
  }
}
// Once, at the end.
void last(Queue &From, Queue &To) {
  int Sum = 0;
  while (int Item = From.pop())
    Sum += Item;
  To.push(Sum);
}
// A free buffer for each item: the loop decides how many it takes.
void fill(Ring *Free, Ring *To, int N) {
  for (int I = 0; I < N; ++I) {
    int Buffer = dequeue(Free);
    enqueue(To, Buffer + I);
  }
}
// The last stage, which says when it has written all.
void write(int);
void writeAll(Ring *From, Ring *Done) {
  int Failed = 0;
  for (;;) {
    int Item = dequeue(From);
    if (!Item) {
      enqueue(Done, Failed);
      continue;
    }
    write(Item);
  }
}
void writeBlocks(Ring *From, Ring *Done) {
  int Item;
  for (;;) {
    Item = dequeue(From);
    if (Item == 0)
      enqueue(Done, 1);
    else
      write(Item);
  }
}
