/*===- spin-unmodified/arithmetic.h - Results and flags of x86-64 ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Operations compute a result from operands of `size` bytes, whose higher bits
 * may hold anything, and say which flags they set.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_ARITHMETIC_H
#define VFRIENDLY_SPIN_UNMODIFIED_ARITHMETIC_H

#include "spin-unmodified/emulate.h"

/* Flags outside of both masks keep their values. */
struct vf_flags {
  uint64_t value;
  uint64_t defined; /* those that have the value */
  uint64_t unknown; /* those that the processor leaves undefined */
};

static inline uint64_t vf_mask(unsigned size) {
  return size >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << size * 8) - 1;
}

static inline uint64_t vf_sign_extend(uint64_t value, unsigned size) {
  unsigned shift = 64 - size * 8;
  return (uint64_t)((int64_t)(value << shift) >> shift);
}

static inline uint64_t vf_sign(uint64_t value, unsigned size) {
  return value >> (size * 8 - 1) & 1;
}

/* Zero, sign and parity of a result. */
static inline uint64_t vf_result_flags(uint64_t value, unsigned size) {
  value &= vf_mask(size);
  return (value == 0 ? VF_FLAG_Z : 0) | (vf_sign(value, size) ? VF_FLAG_S : 0) |
         (__builtin_parity(value & 255) ? 0 : VF_FLAG_P);
}

/* ADD to XOR of enum vf_op; `carry` is 1 or 0. */
static inline struct vf_flags vf_arithmetic(unsigned op, uint64_t a, uint64_t b,
                                            unsigned size, uint64_t carry,
                                            uint64_t *result) {
  struct vf_flags flags = {.defined = VF_FLAGS};
  uint64_t mask = vf_mask(size), r;
  a &= mask, b &= mask;
  bool adds = op == VF_OP_ADD || op == VF_OP_ADD_CARRY;
  bool carries = op == VF_OP_ADD_CARRY || op == VF_OP_SUB_BORROW;
  if (!carries)
    carry = 0;
  switch (op) {
  case VF_OP_AND:
  case VF_OP_TEST:
    r = a & b;
    break;
  case VF_OP_OR:
    r = a | b;
    break;
  case VF_OP_XOR:
    r = a ^ b;
    break;
  default:
    r = (adds ? a + b + carry : a - b - carry) & mask;
    bool out = adds ? r < a || (carry && r == a) : a < b || (carry && a == b);
    bool overflows = vf_sign((adds ? ~(a ^ b) : a ^ b) & (a ^ r), size);
    flags.value = (out ? VF_FLAG_C : 0) | (overflows ? VF_FLAG_O : 0);
  }
  flags.value |= vf_result_flags(r, size);
  *result = r;
  return flags;
}

/* INC to SAR of enum vf_op. */
static inline struct vf_flags vf_change(unsigned op, uint64_t a, uint64_t count,
                                        unsigned size, uint64_t *result) {
  struct vf_flags flags = {.defined = VF_FLAGS};
  uint64_t mask = vf_mask(size), r;
  unsigned bits = size * 8;
  bool out, overflows;
  a &= mask;
  switch (op) {
  case VF_OP_INC:
  case VF_OP_DEC:
    flags = vf_arithmetic(op == VF_OP_INC ? VF_OP_ADD : VF_OP_SUB, a, 1, size,
                          0, result);
    flags.defined &= ~(uint64_t)VF_FLAG_C;
    flags.value &= ~(uint64_t)VF_FLAG_C;
    return flags;
  case VF_OP_NEG:
    return vf_arithmetic(VF_OP_SUB, 0, a, size, 0, result);
  case VF_OP_NOT:
    *result = ~a & mask;
    flags.defined = 0;
    return flags;
  default:
    break;
  }
  count &= size == 8 ? 63 : 31;
  if (count == 0) {
    *result = a;
    flags.defined = 0;
    return flags;
  }
  bool is_whole = count >= bits;
  switch (op) {
  case VF_OP_SHL:
    r = is_whole ? 0 : a << count & mask;
    out = !is_whole && a >> (bits - count) & 1;
    overflows = vf_sign(r, size) != out;
    break;
  case VF_OP_SHR:
    r = is_whole ? 0 : a >> count;
    out = !is_whole && a >> (count - 1) & 1;
    overflows = vf_sign(a, size);
    break;
  default: {
    int64_t wide = (int64_t)vf_sign_extend(a, size);
    r = (uint64_t)(wide >> count) & mask;
    out = wide >> (count - 1) & 1;
    overflows = false;
  }
  }
  flags.value = (out ? VF_FLAG_C : 0) | (overflows ? VF_FLAG_O : 0) |
                vf_result_flags(r, size);
  if (count != 1)
    flags.unknown |= VF_FLAG_O;
  if (is_whole && op != VF_OP_SAR)
    flags.unknown |= VF_FLAG_C;
  flags.defined &= ~flags.unknown;
  flags.value &= flags.defined;
  *result = r;
  return flags;
}

/* The signed product of `size` bytes. */
static inline struct vf_flags vf_multiply(uint64_t a, uint64_t b, unsigned size,
                                          uint64_t *result) {
  struct vf_flags flags = {.defined = VF_FLAG_C | VF_FLAG_O,
                           .unknown = VF_FLAG_S | VF_FLAG_Z | VF_FLAG_P};
  __int128 product = (__int128)(int64_t)vf_sign_extend(a, size) *
                     (int64_t)vf_sign_extend(b, size);
  *result = (uint64_t)product & vf_mask(size);
  if (product != (int64_t)vf_sign_extend(*result, size))
    flags.value = flags.defined;
  return flags;
}

/* The product of twice the size, in two halves. */
static inline struct vf_flags vf_multiply_wide(uint64_t a, uint64_t b,
                                               unsigned size, bool is_signed,
                                               uint64_t *low, uint64_t *high) {
  struct vf_flags flags = {.defined = VF_FLAG_C | VF_FLAG_O,
                           .unknown = VF_FLAG_S | VF_FLAG_Z | VF_FLAG_P};
  unsigned __int128 product =
      is_signed
          ? (unsigned __int128)((__int128)(int64_t)vf_sign_extend(a, size) *
                                (int64_t)vf_sign_extend(b, size))
          : (unsigned __int128)(a & vf_mask(size)) * (b & vf_mask(size));
  *low = (uint64_t)product & vf_mask(size);
  *high = (uint64_t)(product >> size * 8) & vf_mask(size);
  uint64_t fits = is_signed && vf_sign(*low, size) ? vf_mask(size) : 0;
  if (*high != fits)
    flags.value = flags.defined;
  return flags;
}

#endif /* VFRIENDLY_SPIN_UNMODIFIED_ARITHMETIC_H */
