// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same lock with the waits of LLVM's library, which peers.py compiles it with

#include "atomic-wait.h"

#ifndef _LIBCPP_VERSION
#error "compile this with -stdlib=libc++"
#endif
