// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The condition is a member of a class that wraps a plain bool, two calls deep.
//
// RUN: %spin_exec

static int threads;
class Event {
  int Last = 0;

public:
  bool isAt(int Round) const { return Last == Round; }
  void set(int Round) { Last = Round; }
};
struct Holder {
  Event E;
  const Event &event() const { return E; }
};
static Holder holder;
static void raise_flag(int round) { holder.E.set(round); }
static void await(int round) {
  while (!holder.event().isAt(round)) {}
}

#define KIND_FLAG
#include "harness.h"
