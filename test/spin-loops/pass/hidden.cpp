// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The condition stands in members, inherited, nested, behind references, in
// lambdas and in wrappers of atomics.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <functional>
#include <memory>

class Plain {
  bool Done = false;

public:
  bool done() const { return Done; }
  void finish() { Done = true; }
};

void member_plain(Plain &p) {
  // expected-remark-re@+1 {{(flag poll) on plain memory {{.*}}wait in the runtime;}}
  while (!p.done()) {}
}
void finish_plain(Plain &p) { p.finish(); }

template <typename T> class Wrapped {
  std::atomic<T> Value{};

public:
  T get() const { return Value.load(std::memory_order_acquire); }
  void set(T V) { Value.store(V, std::memory_order_release); }
  operator T() const { return get(); }
};

struct Base {
  Wrapped<int> Stage;
  bool over() const { return Stage.get() == 2; }
};
struct Middle : Base {};
class Derived : public Middle {
public:
  void wait() const {
    // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
    while (!over()) {}
  }
};
struct Outer {
  Derived Inner;
  Derived &inner() { return Inner; }
};

void inherited(const Derived &d) { d.wait(); }

void nested(Outer &o) {
  // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
  while (!o.inner().over()) {}
}

void converted(const Wrapped<bool> &w) {
  // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
  while (!w) {}
}

void set(Outer &o, Wrapped<bool> &w) {
  o.Inner.Stage.set(2);
  w.set(true);
}

void by_reference(const std::atomic<bool> &flag) {
  const auto &again = flag;
  // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
  while (!again) {}
}

void lambda(std::atomic<int> &word) {
  auto ready = [&] { return word.load() == 7; };
  // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
  while (!ready()) {}
}

template <typename F> static void spin_until(F f) {
  // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
  while (!f()) {}
}
void passed_lambda(std::atomic<int> &word) {
  spin_until([&] { return word.load() > 7; });
}
void write(std::atomic<int> &word) { word = 9; }

void shared_pointer(const std::shared_ptr<std::atomic<int>> &p) {
  // expected-remark-re@+1 {{(flag poll) on {{.*}}atomic memory {{.*}}wait in the runtime}}
  while (p->load() == 0) {}
}

// Why not: which function runs is decided by the object.
struct Virtual {
  virtual bool done() const;
  virtual ~Virtual();
};
void not_virtual(const Virtual &v) {
  while (!v.done()) {}
}

// Why not: what the function object does is not known.
void not_function(const std::function<bool()> &f) {
  while (!f()) {}
}

// Why not: each call takes one more step.
struct Stepper {
  int N = 0;
  bool step() { return ++N > 100; }
};
void not_stepper(Stepper &s) {
  while (!s.step()) {}
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
