/*===- spin-unmodified/decode.h - Instructions as the emulator takes them -===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   if (vf_decoder_start()) ...          once, in ordinary code
 *   struct vf_instruction in;
 *   vf_decode(bytes, 15, address, &in);  also in signal handlers
 *   if (in.op != VF_OP_UNKNOWN) ...
 *
 * The decoder of a processor is one file, decode_PROCESSOR.c. It knows the
 * instructions of which loops that wait consist: moves between general
 * registers and memory, arithmetic, compares, branches, calls and atomic
 * operations. Everything else is VF_OP_UNKNOWN, at which the emulator stops.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_DECODE_H
#define VFRIENDLY_SPIN_UNMODIFIED_DECODE_H

#include "registers.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vf_op {
  VF_OP_UNKNOWN,
  VF_OP_NOP, /* fences, hints and prefetches too */
  VF_OP_PAUSE,
  VF_OP_MOVE,        /* operand 0 = operand 1, zero-extended */
  VF_OP_MOVE_SIGNED, /* ... sign-extended */
  VF_OP_ADDRESS,     /* operand 0 = address of operand 1 */
  VF_OP_ADD,
  VF_OP_ADD_CARRY,
  VF_OP_SUB,
  VF_OP_SUB_BORROW,
  VF_OP_COMPARE, /* as SUB, stores nothing */
  VF_OP_AND,
  VF_OP_TEST, /* as AND, stores nothing */
  VF_OP_OR,
  VF_OP_XOR,
  VF_OP_INC,
  VF_OP_DEC,
  VF_OP_NEG,
  VF_OP_NOT,
  VF_OP_SHL,
  VF_OP_SHR,
  VF_OP_SAR,
  VF_OP_MUL,             /* operand 0 = product of the last two operands */
  VF_OP_MUL_WIDE,        /* D:A = A * operand 0 */
  VF_OP_MUL_WIDE_SIGNED, /* ... of signed numbers */
  VF_OP_SIGN_EXTEND_A,   /* A = sign-extended lower half of A */
  VF_OP_SIGN_OF_A,       /* D = sign of A in all bits */
  VF_OP_BIT_TEST,
  VF_OP_BIT_SET,
  VF_OP_BIT_CLEAR,
  VF_OP_BIT_FLIP,
  VF_OP_SHIFT_RIGHT_IN, /* shrd */
  VF_OP_JUMP,
  VF_OP_JUMP_IF,
  VF_OP_CALL,
  VF_OP_RETURN,
  VF_OP_PUSH,
  VF_OP_POP,
  VF_OP_LEAVE,
  VF_OP_EXCHANGE,
  VF_OP_COMPARE_EXCHANGE,
  VF_OP_EXCHANGE_ADD,
  VF_OP_SET_IF,
  VF_OP_MOVE_IF,
  VF_OP_TIME,     /* rdtsc */
  VF_OP_TIME_CPU, /* rdtscp */
  VF_OP_SYSTEM_CALL,
};

enum vf_operand_kind {
  VF_NO_OPERAND,
  VF_REGISTER,
  VF_MEMORY,
  VF_IMMEDIATE,
};

/* Registers are numbered as the processor does: 0 to 15, A, C, D, B, SP ... */
enum { VF_REG_A, VF_REG_C, VF_REG_D, VF_REG_B, VF_REG_SP, VF_REG_BP };
#define VF_NO_REGISTER 255u

struct vf_operand {
  uint8_t kind;  /* an enum vf_operand_kind */
  uint8_t size;  /* in bytes: 1, 2, 4 or 8 */
  uint8_t reg;   /* of VF_REGISTER */
  uint8_t high;  /* the second byte of the register: ah to bh */
  uint8_t base;  /* of VF_MEMORY, or VF_NO_REGISTER */
  uint8_t index; /* likewise */
  uint8_t scale;
  uint8_t in_thread; /* relative to the thread pointer, fs */
  /* VF_IMMEDIATE: sign-extended; of a jump, the address it leads to.
   * VF_MEMORY: displacement, that of the instruction pointer included. */
  int64_t value;
};

#define VF_OPERANDS 3

struct vf_instruction {
  uint8_t op;        /* an enum vf_op */
  uint8_t length;    /* in bytes */
  uint8_t condition; /* as in the processor's code: 0 is o, 15 is g */
  uint8_t size;      /* of the operation, in bytes */
  struct vf_operand operand[VF_OPERANDS];
};

/* Maximum length of an instruction in bytes. */
#define VF_CODE_MAX 15

/* Prepares the decoder. Allocates memory, so it must not be called in a signal
 * handler. Returns 0 or an errno value. Further calls do nothing. */
int vf_decoder_start(void);

/* Decodes the instruction of at most n bytes at `code`, which stands at
 * `address` in the program. pre: vf_decoder_start() has returned 0.
 * Async-signal-safe; allocates nothing. Writes *to in any case. */
void vf_decode(const unsigned char *code, size_t n, uint64_t address,
               struct vf_instruction *to);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_DECODE_H */
