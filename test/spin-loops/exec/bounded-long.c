// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded spin in front of a blocking call: a count that takes longer than a context switch waits in the runtime.
//
// RUN: %spin_exec --tsan clean

#define TRIES 40000
#include "bounded.c"
