/*===- spin-unmodified/emulate.h - Execution without effects --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct vf_machine machine;
 *   vf_machine_start(&machine, &memory, cache, reads);
 *   ... registers, flags, ip, thread pointer ...
 *   machine.stack_low = ..., machine.stack_high = ...;
 *   while (vf_step(&machine)) ...
 *   puts(machine.why);
 *
 * Executes instructions on a copy of a thread's registers. It loads from the
 * program's memory, and keeps what it stores to itself, so the program cannot
 * notice. The loads are those that the thread would make next, in the same
 * order: what is emulated is what the thread would have done if it had run so
 * far, as long as it stores nothing that other threads may see.
 *
 * A taint of each value tells where it comes from. The prover (prove.h) sets
 * the initial ones and judges by what they have become.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_EMULATE_H
#define VFRIENDLY_SPIN_UNMODIFIED_EMULATE_H

#include "spin-unmodified/decode.h"
#include "spin-unmodified/memory.h"

enum {
  VF_FLAG_C = 1,
  VF_FLAG_P = 4,
  VF_FLAG_Z = 64,
  VF_FLAG_S = 128,
  VF_FLAG_O = 2048,
  /* The adjust flag is left out: no instruction known here reads it. */
  VF_FLAGS = VF_FLAG_C | VF_FLAG_P | VF_FLAG_Z | VF_FLAG_S | VF_FLAG_O
};

/* Where a value comes from. */
enum {
  VF_LOADED = 1,    /* memory that other threads may write */
  VF_TIMED = 2,     /* the processor's clock */
  VF_CARRIED = 4,   /* what an earlier iteration left, and was changed by it */
  VF_MIXED = 8,     /* a carried value, changed by more than adding constants */
  VF_INITIAL = 16,  /* what an earlier iteration left */
  VF_OF_BEFORE = 32 /* flags that an earlier iteration left */
};

/* Maximum number of different words that a wait reads, and that it stores. A
 * lock's slow path with -O0 stores some ten. */
#define VF_READS 24
#define VF_WORDS 48
#define VF_DECODED 64

/* What was loaded, in the order of the first loads. */
struct vf_read {
  uint64_t address, value;
  uint32_t size;
};
struct vf_reads {
  unsigned n;
  struct vf_read of[VF_READS];
};

/* Instructions that were decoded. One for each thread, zeroed at first. */
struct vf_decoded {
  uint32_t serial; /* of the last machine */
  struct {
    uint64_t address;
    uint32_t serial; /* of the machine that has compared the code */
    unsigned char code[VF_CODE_MAX + 1];
    struct vf_instruction in;
  } of[VF_DECODED];
};

/* An aligned word that was stored to. */
struct vf_word {
  uint64_t address, value, was;
  uint8_t mask;     /* of bytes that were stored */
  uint8_t taint[8]; /* of each byte: variables may share the word */
};

struct vf_machine {
  uint64_t reg[VF_REGISTERS], ip, flags, thread;
  uint64_t unknown_flags; /* flags that the processor leaves undefined */
  /* Stores to this range are the thread's own business; others must not change
   * memory, unless stores_anything. */
  uint64_t stack_low, stack_high;
  uint8_t taint[VF_REGISTERS], flags_taint;
  bool stores_anything;
  /* What has happened since they were last cleared: */
  bool carried_branch;  /* a branch by a carried value */
  bool polled_branch;   /* a branch by what was loaded, and nothing carried */
  bool branch_before;   /* a branch by VF_OF_BEFORE */
  bool carried_address; /* a load from a carried address */
  bool shared_store;    /* a plain store outside of the stack */
  bool yields, pauses;
  uint32_t written; /* registers, one bit each */

  const struct vf_memory *memory;
  struct vf_decoded *cache;
  struct vf_reads *reads;
  const char *why; /* the last step failed */
  unsigned words;
  struct vf_word word[VF_WORDS];
};

/* Clears everything but the words, of which there are none. */
void vf_machine_start(struct vf_machine *machine,
                      const struct vf_memory *memory, struct vf_decoded *cache,
                      struct vf_reads *reads);

/* Executes one instruction. Returns false, and says in `why` what it was, if it
 * is unknown, its memory cannot be read, or another thread would see its
 * effect; the machine must not be used any more then, except that after
 * "memory changed" the new value is in `reads`. Async-signal-safe. */
bool vf_step(struct vf_machine *machine);

/* Returns true if a read's value is not what it was, or it cannot be read. */
bool vf_read_changed(const struct vf_memory *memory,
                     const struct vf_read *read);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_EMULATE_H */
