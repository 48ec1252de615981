/*===- spin-unmodified/decode_x86_64.c - Decoding for x86-64 --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Uses Capstone and not Zydis, because Debian has a static library of Capstone
 * only. The linker takes the part for x86 out of it (runtime/CMakeLists.txt).
 *
 * Capstone also prints each instruction. It gets a function that prints
 * nothing, which makes it quicker, and a memory of its own: it allocates a
 * table at its first instruction, which vf_decoder_start therefore decodes.
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/decode.h"
#include <capstone/capstone.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static csh decoder;
static bool is_started;

static int print_nothing(char *text, size_t size, const char *format,
                         va_list arguments) {
  (void)format, (void)arguments;
  if (size)
    *text = '\0';
  return 0;
}

int vf_decoder_start(void) {
  static const unsigned char nop[] = {0x90};
  struct vf_instruction in;
  if (is_started)
    return 0;
  cs_opt_mem memory = {malloc, calloc, realloc, free, print_nothing};
  if (cs_option(0, CS_OPT_MEM, (size_t)&memory) != CS_ERR_OK ||
      cs_open(CS_ARCH_X86, CS_MODE_64, &decoder) != CS_ERR_OK ||
      cs_option(decoder, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
    return ENOMEM;
  is_started = true;
  vf_decode(nop, sizeof nop, 0, &in);
  return in.op == VF_OP_NOP ? 0 : EINVAL;
}

/* Instructions that are one operation, whatever their operands are. */
static const struct {
  uint16_t id;
  uint8_t op;
} plain[] = {
    {X86_INS_NOP, VF_OP_NOP},
    {X86_INS_LFENCE, VF_OP_NOP},
    {X86_INS_MFENCE, VF_OP_NOP},
    {X86_INS_SFENCE, VF_OP_NOP},
    {X86_INS_PREFETCHT0, VF_OP_NOP},
    {X86_INS_PREFETCHT1, VF_OP_NOP},
    {X86_INS_PREFETCHT2, VF_OP_NOP},
    {X86_INS_PREFETCHNTA, VF_OP_NOP},
    {X86_INS_PREFETCHW, VF_OP_NOP},
    {X86_INS_PAUSE, VF_OP_PAUSE},
    {X86_INS_MOV, VF_OP_MOVE},
    {X86_INS_MOVABS, VF_OP_MOVE},
    {X86_INS_MOVZX, VF_OP_MOVE},
    {X86_INS_MOVSX, VF_OP_MOVE_SIGNED},
    {X86_INS_MOVSXD, VF_OP_MOVE_SIGNED},
    {X86_INS_LEA, VF_OP_ADDRESS},
    {X86_INS_ADD, VF_OP_ADD},
    {X86_INS_ADC, VF_OP_ADD_CARRY},
    {X86_INS_SUB, VF_OP_SUB},
    {X86_INS_SBB, VF_OP_SUB_BORROW},
    {X86_INS_CMP, VF_OP_COMPARE},
    {X86_INS_AND, VF_OP_AND},
    {X86_INS_TEST, VF_OP_TEST},
    {X86_INS_OR, VF_OP_OR},
    {X86_INS_XOR, VF_OP_XOR},
    {X86_INS_INC, VF_OP_INC},
    {X86_INS_DEC, VF_OP_DEC},
    {X86_INS_NEG, VF_OP_NEG},
    {X86_INS_NOT, VF_OP_NOT},
    {X86_INS_SHL, VF_OP_SHL},
    {X86_INS_SAL, VF_OP_SHL},
    {X86_INS_SHR, VF_OP_SHR},
    {X86_INS_SAR, VF_OP_SAR},
    {X86_INS_IMUL, VF_OP_MUL},
    {X86_INS_MUL, VF_OP_MUL_WIDE},
    {X86_INS_BT, VF_OP_BIT_TEST},
    {X86_INS_BTS, VF_OP_BIT_SET},
    {X86_INS_BTR, VF_OP_BIT_CLEAR},
    {X86_INS_BTC, VF_OP_BIT_FLIP},
    {X86_INS_SHRD, VF_OP_SHIFT_RIGHT_IN},
    {X86_INS_JMP, VF_OP_JUMP},
    {X86_INS_CALL, VF_OP_CALL},
    {X86_INS_RET, VF_OP_RETURN},
    {X86_INS_PUSH, VF_OP_PUSH},
    {X86_INS_POP, VF_OP_POP},
    {X86_INS_LEAVE, VF_OP_LEAVE},
    {X86_INS_XCHG, VF_OP_EXCHANGE},
    {X86_INS_CMPXCHG, VF_OP_COMPARE_EXCHANGE},
    {X86_INS_XADD, VF_OP_EXCHANGE_ADD},
    {X86_INS_RDTSC, VF_OP_TIME},
    {X86_INS_RDTSCP, VF_OP_TIME_CPU},
    {X86_INS_SYSCALL, VF_OP_SYSTEM_CALL},
    {X86_INS_CWDE, VF_OP_SIGN_EXTEND_A},
    {X86_INS_CDQE, VF_OP_SIGN_EXTEND_A},
    {X86_INS_CDQ, VF_OP_SIGN_OF_A},
    {X86_INS_CQO, VF_OP_SIGN_OF_A},
};

/* The instructions that have a condition. It is in the lower half of the last
 * byte of the opcode. */
static uint8_t conditional(unsigned id, const cs_x86 *x86) {
  bool is_long = x86->opcode[0] == 0x0f;
  unsigned group = (is_long ? x86->opcode[1] : x86->opcode[0]) & 0xf0;
  (void)id;
  if (is_long)
    return group == 0x80   ? VF_OP_JUMP_IF
           : group == 0x90 ? VF_OP_SET_IF
           : group == 0x40 ? VF_OP_MOVE_IF
                           : VF_OP_UNKNOWN;
  return group == 0x70 ? VF_OP_JUMP_IF : VF_OP_UNKNOWN;
}

static uint8_t op_of(unsigned id, const cs_x86 *x86, unsigned char *condition) {
  for (size_t i = 0; i != sizeof plain / sizeof *plain; ++i)
    if (plain[i].id == id)
      return plain[i].op;
  *condition = x86->opcode[x86->opcode[0] == 0x0f] & 15;
  return conditional(id, x86);
}

struct part {
  uint8_t reg, size, high;
};

/* Returns the general register of which Capstone's is a part; size 0 for
 * others. */
static struct part part_of(unsigned reg) {
  static const struct part parts[X86_REG_ENDING] = {
#define PARTS(n, q, d, w, b)                                                   \
  [X86_REG_##q] = {n, 8, 0}, [X86_REG_##d] = {n, 4, 0},                        \
  [X86_REG_##w] = {n, 2, 0}, [X86_REG_##b] = {n, 1, 0}
      PARTS(0, RAX, EAX, AX, AL),       PARTS(1, RCX, ECX, CX, CL),
      PARTS(2, RDX, EDX, DX, DL),       PARTS(3, RBX, EBX, BX, BL),
      PARTS(4, RSP, ESP, SP, SPL),      PARTS(5, RBP, EBP, BP, BPL),
      PARTS(6, RSI, ESI, SI, SIL),      PARTS(7, RDI, EDI, DI, DIL),
      PARTS(8, R8, R8D, R8W, R8B),      PARTS(9, R9, R9D, R9W, R9B),
      PARTS(10, R10, R10D, R10W, R10B), PARTS(11, R11, R11D, R11W, R11B),
      PARTS(12, R12, R12D, R12W, R12B), PARTS(13, R13, R13D, R13W, R13B),
      PARTS(14, R14, R14D, R14W, R14B), PARTS(15, R15, R15D, R15W, R15B),
#undef PARTS
      [X86_REG_AH] = {0, 1, 1},         [X86_REG_CH] = {1, 1, 1},
      [X86_REG_DH] = {2, 1, 1},         [X86_REG_BH] = {3, 1, 1},
  };
  return parts[reg < X86_REG_ENDING ? reg : 0];
}

/* Sets a register of an address. Returns false if it is no 64-bit one. */
static bool take_address_register(unsigned reg, uint8_t *to) {
  *to = VF_NO_REGISTER;
  if (reg == X86_REG_INVALID || reg == X86_REG_RIZ)
    return true;
  struct part part = part_of(reg);
  *to = part.reg;
  return part.size == 8;
}

static bool take_operand(const cs_x86_op *from, uint64_t next,
                         struct vf_operand *to) {
  to->size = from->size;
  switch (from->type) {
  case X86_OP_REG: {
    struct part part = part_of(from->reg);
    to->kind = VF_REGISTER;
    to->reg = part.reg;
    to->size = part.size;
    to->high = part.high;
    return part.size != 0;
  }
  case X86_OP_IMM:
    to->kind = VF_IMMEDIATE;
    to->value = from->imm;
    return true;
  case X86_OP_MEM: {
    unsigned base = from->mem.base;
    to->kind = VF_MEMORY;
    to->value = from->mem.disp;
    to->scale = (uint8_t)from->mem.scale;
    if (from->mem.segment == X86_REG_FS)
      to->in_thread = 1;
    else if (from->mem.segment == X86_REG_GS)
      return false;
    if (base == X86_REG_RIP) {
      to->value += (int64_t)next;
      base = X86_REG_INVALID;
    }
    return take_address_register(base, &to->base) &&
           take_address_register(from->mem.index, &to->index) &&
           (from->size == 1 || from->size == 2 || from->size == 4 ||
            from->size == 8);
  }
  default:
    return false;
  }
}

struct prefixes {
  bool repeats, is_16_bits, are_odd;
};

/* Reads the prefixes from the code, as Capstone forgets some, and is wrong
 * about the size of operands with some that no compiler emits together. */
static struct prefixes prefixes_of(const cs_insn *in) {
  struct prefixes found = {false, false, false};
  unsigned n = 0, others = 0;
  bool in_thread = false;
  for (; n != in->size; ++n) {
    unsigned char byte = in->bytes[n];
    if (byte == 0xf2 || byte == 0xf3)
      found.repeats = true;
    else if (byte == 0x66)
      found.is_16_bits = true;
    else if (byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 ||
             byte == 0x65 || byte == 0x67)
      ++others;
    else if (byte == 0x64)
      in_thread = true;
    else if (byte != 0xf0)
      break;
  }
  others += found.repeats || (in_thread && found.is_16_bits);
  bool has_rex = n != in->size && (in->bytes[n] & 0xf0) == 0x40;
  bool rex_is_last = has_rex && in->bytes[n] == in->detail->x86.rex &&
                     (in->bytes[n + 1] & 0xf0) != 0x40;
  found.are_odd = n > 2 || (n == 2 && others) || has_rex != rex_is_last;
  return found;
}

/* Whether a repeat prefix changes nothing: `rep ret` and `bnd jmp`, which the
 * processor takes for the same without it. */
static bool ignores_repeat(uint8_t op) {
  return op == VF_OP_RETURN || op == VF_OP_JUMP || op == VF_OP_JUMP_IF ||
         op == VF_OP_CALL || op == VF_OP_PAUSE || op == VF_OP_NOP ||
         op == VF_OP_EXCHANGE || op == VF_OP_MOVE;
}

/* Returns true if processors differ in what the instruction does with a prefix
 * for 16 bits, or Capstone takes it for another one. */
static bool fails_with_16_bits(uint8_t op) {
  switch (op) {
  case VF_OP_RETURN:
  case VF_OP_JUMP:
  case VF_OP_JUMP_IF:
  case VF_OP_CALL:
  case VF_OP_PUSH:
  case VF_OP_POP:
  case VF_OP_LEAVE:
  case VF_OP_SIGN_EXTEND_A:
  case VF_OP_SIGN_OF_A:
    return true;
  default:
    return false;
  }
}

static void take(const cs_insn *from, struct vf_instruction *to) {
  const cs_x86 *x86 = &from->detail->x86;
  uint64_t next = from->address + from->size;
  to->length = (uint8_t)from->size;
  uint8_t op = op_of(from->id, x86, &to->condition);
  if (from->id == X86_INS_IMUL && x86->op_count == 1)
    op = VF_OP_MUL_WIDE_SIGNED;
  bool is_short = from->id == X86_INS_CWDE || from->id == X86_INS_CDQ;
  if (op == VF_OP_NOP) {
    /* With that bit, 90 exchanges two registers. */
    bool exchanges = x86->opcode[0] == 0x90 && x86->rex & 1;
    to->op = exchanges ? VF_OP_UNKNOWN : op;
    return;
  }
  /* Memory operands of 32-bit addresses are rare enough to leave out, as is
   * movsxd to a register of 32 bits, which Capstone takes for one of 64. */
  struct prefixes prefixes = prefixes_of(from);
  if (x86->addr_size != 8 || x86->op_count > VF_OPERANDS || prefixes.are_odd ||
      (prefixes.repeats && !ignores_repeat(op)) ||
      (prefixes.is_16_bits && fails_with_16_bits(op)) ||
      (from->id == X86_INS_MOVSXD && !(x86->rex & 8)))
    return;
  for (unsigned i = 0; i != x86->op_count; ++i)
    if (!take_operand(&x86->operands[i], next, &to->operand[i]))
      return;
  to->size = op == VF_OP_SIGN_EXTEND_A || op == VF_OP_SIGN_OF_A
                 ? (is_short ? 4 : 8)
                 : to->operand[0].size;
  /* `shl eax` of the short form has a count of 1. */
  if ((op == VF_OP_SHL || op == VF_OP_SHR || op == VF_OP_SAR) &&
      x86->op_count == 1)
    to->operand[1] =
        (struct vf_operand){.kind = VF_IMMEDIATE, .size = 1, .value = 1};
  if (op == VF_OP_MUL && x86->op_count == 2) {
    to->operand[2] = to->operand[1];
    to->operand[1] = to->operand[0];
  }
  if (op == VF_OP_ADDRESS)
    to->operand[1].in_thread = 0; /* lea ignores segments */
  to->op = op;
}

void vf_decode(const unsigned char *code, size_t n, uint64_t address,
               struct vf_instruction *to) {
  static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
  cs_detail detail;
  cs_insn in;
  memset(to, 0, sizeof *to);
  if (n >= sizeof landing && memcmp(code, landing, sizeof landing) == 0) {
    to->op = VF_OP_NOP; /* endbr64, which older Capstones do not know */
    to->length = sizeof landing;
    return;
  }
  memset(&in, 0, sizeof in);
  in.detail = &detail;
  if (cs_disasm_iter(decoder, &code, &n, &address, &in))
    take(&in, to);
}
