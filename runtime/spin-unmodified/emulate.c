/*===- spin-unmodified/emulate.c - Execution without effects --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Written for x86-64. test/spin-unmodified/differs.c compares each step with
 * the processor's.
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/emulate.h"
#include "spin-unmodified/arithmetic.h"
#include "spin-unmodified/machine.h"
#include <sys/syscall.h>
#include <x86intrin.h>

static void set_flags(struct vf_machine *m, struct vf_flags flags,
                      uint8_t taint) {
  m->flags = (m->flags & ~flags.defined & ~flags.unknown) | flags.value;
  m->unknown_flags =
      (m->unknown_flags & ~flags.defined) | (flags.unknown & VF_FLAGS);
  m->flags_taint = taint;
}

/* The taint of a result of two values. A carried value to which a constant is
 * added remains a counter; all else mixes it. */
static uint8_t join(uint8_t a, uint8_t b, bool adds) {
  uint8_t taint = a | b;
  bool is_counter = adds && !(taint & VF_LOADED) && !(a & b & VF_CARRIED);
  return taint & VF_CARRIED && !is_counter ? taint | VF_MIXED : taint;
}

/* Operations of two operands, of which the first is the destination. */
static bool arithmetic(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0], *from = &in->operand[1];
  uint64_t a, b, result;
  uint8_t ta, tb;
  bool clears = (in->op == VF_OP_XOR || in->op == VF_OP_SUB) &&
                to->kind == VF_REGISTER && from->kind == VF_REGISTER &&
                to->reg == from->reg && to->high == from->high;
  if (!vf_get(m, to, &a, &ta) || !vf_get(m, from, &b, &tb))
    return false;
  if (clears)
    ta = tb = 0;
  bool carries = in->op == VF_OP_ADD_CARRY || in->op == VF_OP_SUB_BORROW;
  if (carries && m->unknown_flags & VF_FLAG_C)
    return vf_fail(m, "an undefined flag");
  if (carries)
    tb |= m->flags_taint;
  struct vf_flags flags =
      vf_arithmetic(in->op, a, b, in->size, m->flags & VF_FLAG_C, &result);
  bool adds = in->op == VF_OP_ADD || in->op == VF_OP_SUB;
  bool is_test = in->op == VF_OP_COMPARE || in->op == VF_OP_TEST;
  uint8_t taint = is_test ? ta | tb : join(ta, tb, adds);
  if (!is_test && !vf_put(m, to, result, taint))
    return false;
  set_flags(m, flags, taint);
  return true;
}

/* Operations of one operand, and shifts by the second. */
static bool change(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0];
  uint64_t a, count = 1, result;
  uint8_t ta, tb = 0;
  bool shifts =
      in->op == VF_OP_SHL || in->op == VF_OP_SHR || in->op == VF_OP_SAR;
  if (!vf_get(m, to, &a, &ta) ||
      (shifts && !vf_get(m, &in->operand[1], &count, &tb)))
    return false;
  struct vf_flags flags = vf_change(in->op, a, count, in->size, &result);
  bool keeps = in->op == VF_OP_INC || in->op == VF_OP_DEC;
  uint8_t taint = keeps ? ta : join(ta, tb, false);
  if (!vf_put(m, to, result, taint))
    return false;
  if (in->op != VF_OP_NOT)
    set_flags(m, flags, taint);
  return true;
}

static bool multiply(struct vf_machine *m, const struct vf_instruction *in) {
  uint64_t a, b, result;
  uint8_t ta, tb;
  if (in->op == VF_OP_MUL) {
    if (!vf_get(m, &in->operand[1], &a, &ta) ||
        !vf_get(m, &in->operand[2], &b, &tb))
      return false;
    struct vf_flags flags = vf_multiply(a, b, in->size, &result);
    uint8_t taint = join(ta, tb, false);
    set_flags(m, flags, taint);
    return vf_put(m, &in->operand[0], result, taint);
  }
  if (in->size < 4)
    return vf_fail(m, "a short product");
  if (!vf_get(m, &in->operand[0], &b, &tb))
    return false;
  uint64_t high;
  a = m->reg[VF_REG_A] & vf_mask(in->size);
  uint8_t taint = join(m->taint[VF_REG_A], tb, false);
  set_flags(m,
            vf_multiply_wide(a, b, in->size, in->op == VF_OP_MUL_WIDE_SIGNED,
                             &result, &high),
            taint);
  vf_set_register(m, VF_REG_A, in->size, 0, result, taint);
  vf_set_register(m, VF_REG_D, in->size, 0, high, taint);
  return true;
}

static bool bit(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0], *from = &in->operand[1];
  uint64_t a, b;
  uint8_t ta, tb;
  /* The bit may lie outside of a memory operand. */
  if (to->kind != VF_REGISTER && from->kind != VF_IMMEDIATE)
    return vf_fail(m, "a bit of memory");
  if (!vf_get(m, to, &a, &ta) || !vf_get(m, from, &b, &tb))
    return false;
  uint64_t one = UINT64_C(1) << (b & (in->size * 8u - 1));
  uint64_t changed = in->op == VF_OP_BIT_SET     ? a | one
                     : in->op == VF_OP_BIT_CLEAR ? a & ~one
                                                 : a ^ one;
  if (in->op != VF_OP_BIT_TEST && !vf_put(m, to, changed, join(ta, tb, false)))
    return false;
  struct vf_flags flags = {
      .value = a & one ? VF_FLAG_C : 0,
      .defined = VF_FLAG_C,
      .unknown = VF_FLAG_O | VF_FLAG_S | VF_FLAG_P,
  };
  set_flags(m, flags, ta | tb);
  return true;
}

/* shrd, by which the vDSO shifts products. */
static bool shift_in(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0];
  uint64_t low, high, count;
  uint8_t tl, th, tc;
  if (in->size < 4)
    return vf_fail(m, "a short shift");
  if (!vf_get(m, to, &low, &tl) || !vf_get(m, &in->operand[1], &high, &th) ||
      !vf_get(m, &in->operand[2], &count, &tc))
    return false;
  count &= in->size == 8 ? 63 : 31;
  if (count == 0)
    return vf_put(m, to, low, tl);
  uint64_t result =
      (low >> count | high << (in->size * 8u - count)) & vf_mask(in->size);
  struct vf_flags flags = {
      .value = (low >> (count - 1) & 1 ? VF_FLAG_C : 0) |
               vf_result_flags(result, in->size),
      .defined = VF_FLAGS & ~VF_FLAG_O,
      .unknown = VF_FLAG_O,
  };
  uint8_t taint = join(join(tl, th, false), tc, false);
  if (!vf_put(m, to, result, taint))
    return false;
  set_flags(m, flags, taint);
  return true;
}

static bool exchange(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0], *from = &in->operand[1];
  uint64_t a, b, sum;
  uint8_t ta, tb;
  if (!vf_get(m, to, &a, &ta) || !vf_get(m, from, &b, &tb))
    return false;
  if (in->op == VF_OP_EXCHANGE)
    return vf_put(m, to, b, tb) && vf_put(m, from, a, ta);
  struct vf_flags flags = vf_arithmetic(VF_OP_ADD, a, b, in->size, 0, &sum);
  /* Memory first: if it cannot be stored, nothing must have changed. */
  bool is_memory = to->kind == VF_MEMORY;
  if (is_memory && !vf_put(m, to, sum, ta | tb))
    return false;
  vf_put(m, from, a, ta);
  set_flags(m, flags, ta | tb);
  return is_memory || vf_put(m, to, sum, ta | tb);
}

static bool compare_exchange(struct vf_machine *m,
                             const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0];
  uint64_t is, desired, difference,
      expected = m->reg[VF_REG_A] & vf_mask(in->size);
  uint8_t ti, td;
  if (to->kind != VF_MEMORY)
    return vf_fail(m, "an exchange of registers");
  if (!vf_get(m, to, &is, &ti) || !vf_get(m, &in->operand[1], &desired, &td))
    return false;
  uint8_t taint = ti | m->taint[VF_REG_A];
  if (is == expected && !vf_put(m, to, desired, td))
    return false;
  set_flags(
      m, vf_arithmetic(VF_OP_COMPARE, expected, is, in->size, 0, &difference),
      taint);
  if (is != expected)
    vf_set_register(m, VF_REG_A, in->size, 0, is, ti);
  return true;
}

/* Returns whether the condition holds: 1 or 0, or -1 if it is undefined. */
static int condition(const struct vf_machine *m, unsigned code) {
  static const uint16_t flags[8] = {
      VF_FLAG_O,
      VF_FLAG_C,
      VF_FLAG_Z,
      VF_FLAG_C | VF_FLAG_Z,
      VF_FLAG_S,
      VF_FLAG_P,
      VF_FLAG_S | VF_FLAG_O,
      VF_FLAG_S | VF_FLAG_O | VF_FLAG_Z,
  };
  unsigned kind = code >> 1;
  if (m->unknown_flags & flags[kind])
    return -1;
  bool less = !(m->flags & VF_FLAG_S) != !(m->flags & VF_FLAG_O);
  bool holds = kind == 6   ? less
               : kind == 7 ? less || m->flags & VF_FLAG_Z
                           : (m->flags & flags[kind]) != 0;
  return holds != (code & 1);
}

void vf_note_branch(struct vf_machine *m, uint8_t taint) {
  if (taint & VF_OF_BEFORE)
    m->branch_before = true;
  else if (taint & VF_CARRIED)
    m->carried_branch = true;
  else if (taint & VF_LOADED)
    m->polled_branch = true;
}

static bool conditional(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0];
  uint64_t a, b;
  uint8_t ta, tb;
  int holds = condition(m, in->condition);
  if (holds < 0)
    return vf_fail(m, "an undefined flag");
  vf_note_branch(m, m->flags_taint);
  switch (in->op) {
  case VF_OP_JUMP_IF:
    if (holds)
      m->ip = (uint64_t)to->value;
    return true;
  case VF_OP_SET_IF:
    return vf_put(m, to, (uint64_t)holds, m->flags_taint);
  default:
    return vf_get(m, to, &a, &ta) && vf_get(m, &in->operand[1], &b, &tb) &&
           vf_put(m, to, holds ? b : a, ta | tb | m->flags_taint);
  }
}

static bool move(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0], *from = &in->operand[1];
  uint64_t value;
  uint8_t taint;
  if (in->op == VF_OP_ADDRESS) {
    value = vf_address(m, from, &taint);
    return vf_put(m, to, value, taint);
  }
  if (!vf_get(m, from, &value, &taint))
    return false;
  if (in->op == VF_OP_MOVE_SIGNED)
    value = vf_sign_extend(value, from->size);
  if (to->kind == VF_MEMORY) {
    uint8_t where;
    m->shared_store |= !vf_is_in_stack(m, vf_address(m, to, &where));
  }
  return vf_put(m, to, value, taint);
}

static bool push(struct vf_machine *m, uint64_t value, uint8_t taint) {
  if (!vf_store(m, m->reg[VF_REG_SP] - 8, 8, value, taint))
    return false;
  m->reg[VF_REG_SP] -= 8;
  return true;
}

static bool pop(struct vf_machine *m, uint64_t *value, uint8_t *taint) {
  if (!vf_load(m, m->reg[VF_REG_SP], 8, value, taint))
    return false;
  m->reg[VF_REG_SP] += 8;
  return true;
}

/* Jumps, calls and the stack. */
static bool flow(struct vf_machine *m, const struct vf_instruction *in) {
  const struct vf_operand *to = &in->operand[0];
  uint64_t value, next = m->ip;
  uint8_t taint;
  switch (in->op) {
  case VF_OP_JUMP:
    return vf_get(m, to, &m->ip, &taint);
  case VF_OP_CALL:
    return vf_get(m, to, &value, &taint) && push(m, next, 0) &&
           (m->ip = value, true);
  case VF_OP_RETURN:
    if (!pop(m, &m->ip, &taint))
      return false;
    m->reg[VF_REG_SP] += to->kind == VF_IMMEDIATE ? (uint64_t)to->value : 0;
    return true;
  case VF_OP_PUSH:
    return vf_get(m, to, &value, &taint) && push(m, value, taint);
  case VF_OP_POP:
    return pop(m, &value, &taint) &&
           vf_put(m, to, value, taint & (uint8_t)~VF_LOADED);
  default: /* VF_OP_LEAVE */
    m->reg[VF_REG_SP] = m->reg[VF_REG_BP];
    if (!pop(m, &value, &taint))
      return false;
    vf_set_register(m, VF_REG_BP, 8, 0, value, 0);
    return true;
  }
}

static bool read_time(struct vf_machine *m, bool reads_cpu) {
  unsigned cpu;
  uint64_t time = reads_cpu ? __rdtscp(&cpu) : __rdtsc();
  vf_set_register(m, VF_REG_A, 4, 0, (uint32_t)time, VF_TIMED);
  vf_set_register(m, VF_REG_D, 4, 0, time >> 32, VF_TIMED);
  if (reads_cpu)
    vf_set_register(m, VF_REG_C, 4, 0, cpu, 0);
  return true;
}

static bool extend_a(struct vf_machine *m, const struct vf_instruction *in) {
  uint64_t a = m->reg[VF_REG_A];
  if (in->op == VF_OP_SIGN_EXTEND_A)
    vf_set_register(m, VF_REG_A, in->size, 0, vf_sign_extend(a, in->size / 2u),
                    m->taint[VF_REG_A]);
  else
    vf_set_register(m, VF_REG_D, in->size, 0,
                    (uint64_t)((int64_t)vf_sign_extend(a, in->size) >> 63),
                    m->taint[VF_REG_A]);
  return true;
}

static bool system_call(struct vf_machine *m) {
  if (m->reg[VF_REG_A] != SYS_sched_yield)
    return vf_fail(m, "a system call");
  m->yields = true;
  vf_set_register(m, VF_REG_A, 8, 0, 0, 0);
  vf_set_register(m, VF_REG_C, 8, 0, m->ip, 0);
  /* The flags, and those that are always set in a program. */
  vf_set_register(m, 11, 8, 0, m->flags | 0x202, 0);
  return true;
}

bool vf_step(struct vf_machine *m) {
  const struct vf_instruction *in = vf_fetch(m);
  if (!in)
    return false;
  m->ip += in->length;
  switch (in->op) {
  case VF_OP_NOP:
    return true;
  case VF_OP_PAUSE:
    m->pauses = true;
    return true;
  case VF_OP_MOVE:
  case VF_OP_MOVE_SIGNED:
  case VF_OP_ADDRESS:
    return move(m, in);
  case VF_OP_ADD:
  case VF_OP_ADD_CARRY:
  case VF_OP_SUB:
  case VF_OP_SUB_BORROW:
  case VF_OP_COMPARE:
  case VF_OP_AND:
  case VF_OP_TEST:
  case VF_OP_OR:
  case VF_OP_XOR:
    return arithmetic(m, in);
  case VF_OP_INC:
  case VF_OP_DEC:
  case VF_OP_NEG:
  case VF_OP_NOT:
  case VF_OP_SHL:
  case VF_OP_SHR:
  case VF_OP_SAR:
    return change(m, in);
  case VF_OP_MUL:
  case VF_OP_MUL_WIDE:
  case VF_OP_MUL_WIDE_SIGNED:
    return multiply(m, in);
  case VF_OP_SIGN_EXTEND_A:
  case VF_OP_SIGN_OF_A:
    return extend_a(m, in);
  case VF_OP_BIT_TEST:
  case VF_OP_BIT_SET:
  case VF_OP_BIT_CLEAR:
  case VF_OP_BIT_FLIP:
    return bit(m, in);
  case VF_OP_SHIFT_RIGHT_IN:
    return shift_in(m, in);
  case VF_OP_JUMP:
  case VF_OP_CALL:
  case VF_OP_RETURN:
  case VF_OP_PUSH:
  case VF_OP_POP:
  case VF_OP_LEAVE:
    return flow(m, in);
  case VF_OP_EXCHANGE:
  case VF_OP_EXCHANGE_ADD:
    return exchange(m, in);
  case VF_OP_COMPARE_EXCHANGE:
    return compare_exchange(m, in);
  case VF_OP_JUMP_IF:
  case VF_OP_SET_IF:
  case VF_OP_MOVE_IF:
    return conditional(m, in);
  case VF_OP_TIME:
  case VF_OP_TIME_CPU:
    return read_time(m, in->op == VF_OP_TIME_CPU);
  case VF_OP_SYSTEM_CALL:
    return system_call(m);
  default:
    return vf_fail(m, "an instruction that no wait has");
  }
}
