// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What of the C++ library, and of functions of other units, may take long while a spin lock is held.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <vector>

struct SpinLock {
  void lock(), unlock(), lock_shared(), unlock_shared();
  bool try_lock();
};
SpinLock latch;
std::string name, copy;
std::map<int, int> numbers;
std::condition_variable changed;
std::function<void()> callback;
int count;

void copies() {
  // CHECK: :[[@LINE+1]]:29: warning: holds 'latch' while a 'basic_string' allocates or releases memory
  std::lock_guard<SpinLock> in(latch);
  std::string mine = name;
}
std::string made(const char *p) {
  // CHECK: :[[@LINE+1]]:30: warning: holds 'latch' while 'to_string' allocates or releases memory
  std::unique_lock<SpinLock> in(latch);
  return std::to_string(count);
}
void sums() {
  // CHECK: :[[@LINE+1]]:30: warning: holds 'latch' while 'operator+' allocates or releases memory
  std::shared_lock<SpinLock> in(latch);
  copy = name + "x";
}
void finds() {
  // CHECK: :[[@LINE+1]]:29: warning: holds 'latch' while 'operator[]' allocates or releases memory
  std::lock_guard<SpinLock> in(latch);
  ++numbers[count];
}
void wakes() {
  // CHECK: :[[@LINE+1]]:29: warning: holds 'latch' while 'notify_one' enters the kernel
  std::lock_guard<SpinLock> in(latch);
  changed.notify_one();
}
void calls() {
  // CHECK: :[[@LINE+1]]:29: warning: holds 'latch' while 'operator()' is called through a pointer
  std::lock_guard<SpinLock> in(latch);
  callback();
}
void prints(std::ostringstream &out) {
  // CHECK: :[[@LINE+1]]:29: warning: holds 'latch' while a stream writes or logs
  std::lock_guard<SpinLock> in(latch);
  out << "long";
}
void tries(int *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'delete' allocates or releases memory
  while (!latch.try_lock())
    ;
  delete p;
  latch.unlock();
}

// A guard that a function returns.
std::unique_lock<SpinLock> guarded() { return std::unique_lock<SpinLock>(latch); }
void returned(int *p) {
  // CHECK: :[[@LINE+1]]:13: warning: holds a lock while 'delete' allocates or releases memory
  auto in = guarded();
  delete p;
}

// Not reported: nothing is allocated.
std::string moved() {
  std::lock_guard<SpinLock> in(latch);
  std::string mine = std::move(name);
  mine.swap(copy);
  std::string empty, letter("x");
  count += mine.size() + numbers.count(1) + copy.empty();
  return mine;
}

// Not reported: the lock is not taken.
void deferred() {
  std::unique_lock<SpinLock> in(latch, std::defer_lock);
  ++numbers[count];
}

// Functions of another unit.
struct Map;
struct Error;
extern "C" {
void hash_map_insert(Map *, int), hash_map_exit(Map *), tree_insert(Map *, int), list_clear(Map *);
void *session_new();
void event_post(void *);
int error_set(Error *, const char *, ...), chunk_appendf(void *, const char *, ...);
int file_open(const char *);
}
#define HELD(call) do { latch.lock(); call; latch.unlock(); } while (0)
void others(Map *map, Error *error) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'hash_map_insert' allocates or releases memory
  HELD(hash_map_insert(map, 1));
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'hash_map_exit' allocates or releases memory
  HELD(hash_map_exit(map));
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'session_new' allocates or releases memory
  HELD(session_new());
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'event_post' enters the kernel
  HELD(event_post(map));
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'file_open' enters the kernel
  HELD(file_open("x"));
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'error_set' writes or logs
  HELD(error_set(error, "%d", 1));
  // Not reported: a text for a text, and containers that own no memory.
  HELD(chunk_appendf(map, "%d", 1));
  HELD(tree_insert(map, 1));
  HELD(list_clear(map));
}
