// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded spin in front of a blocking call: a count of thousands waits in the runtime.
//
// RUN: %spin_exec --tsan clean

#define TRIES 4000
#include "bounded.c"
