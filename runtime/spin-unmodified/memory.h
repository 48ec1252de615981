/*===- spin-unmodified/memory.h - Reading memory of the program -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct vf_memory memory = {.access = VF_MEMORY_GUARDED};
 *   uint64_t value = 0;
 *   if (vf_memory_read(&memory, address, &value, 8)) ...
 *
 * The emulator reads what the program is about to read, in the same order. It
 * may nevertheless meet a page that must not be read: Java's threads stop at
 * such a page and expect a signal there. A guarded load that faults fails, as
 * signals.c handles SIGSEGV and SIGBUS. Where these handlers are not in force,
 * the kernel copies the memory, which never faults but takes 0.5 us.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_MEMORY_H
#define VFRIENDLY_SPIN_UNMODIFIED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vf_memory_access {
  VF_MEMORY_COPIED,  /* by process_vm_readv */
  VF_MEMORY_GUARDED, /* by loads; faults are handled */
};

/* The clock's data, which the kernel maps into each process and lets nobody
 * copy: `size` bytes from `there` in the other process are those from `here` in
 * this one, and `ends` are those of a pipe, through which they are read without
 * a fault. */
struct vf_clock_pages {
  uint64_t there, here, size;
  int ends[2];
};

struct vf_memory {
  int process; /* of VF_MEMORY_COPIED; 0: this one */
  enum vf_memory_access access;
  struct vf_clock_pages clock; /* of another process; size 0: not known */
};

/* Copies n <= 16 bytes at `from` to *to. Returns false if they cannot be read.
 * Async-signal-safe, preserves errno. A guarded read of 1, 2, 4 or 8 bytes is
 * one load. */
bool vf_memory_read(const struct vf_memory *memory, uint64_t from, void *to,
                    size_t n);

/* Copies as many of n <= 16 bytes of code as can be read; returns their number.
 */
size_t vf_memory_code(const struct vf_memory *memory, uint64_t from, void *to,
                      size_t n);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_MEMORY_H */
