/*===- spin-unmodified/machine.c - Registers and memory of the emulator ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/machine.h"
#include "spin-unmodified/arithmetic.h"
#include <string.h>

void vf_machine_start(struct vf_machine *machine,
                      const struct vf_memory *memory, struct vf_decoded *cache,
                      struct vf_reads *reads) {
  memset(machine, 0, offsetof(struct vf_machine, word));
  machine->memory = memory;
  machine->cache = cache;
  machine->reads = reads;
  ++cache->serial;
  reads->n = 0;
}

bool vf_fail(struct vf_machine *m, const char *why) {
  m->why = why;
  return false;
}

const struct vf_instruction *vf_fetch(struct vf_machine *m) {
  struct vf_decoded *cache = m->cache;
  unsigned at = (unsigned)((m->ip ^ m->ip >> 6) % VF_DECODED);
  unsigned char code[VF_CODE_MAX + 1];
  bool is_known = cache->of[at].address == m->ip;
  if (is_known && cache->of[at].serial == cache->serial)
    return &cache->of[at].in;
  size_t n = vf_memory_code(m->memory, m->ip, code, VF_CODE_MAX);
  if (n == 0) {
    vf_fail(m, "unreadable code");
    return NULL;
  }
  /* Code of a just-in-time compiler changes. */
  if (!is_known || cache->of[at].in.length == 0 ||
      cache->of[at].in.length > n ||
      memcmp(code, cache->of[at].code, cache->of[at].in.length) != 0) {
    vf_decode(code, n, m->ip, &cache->of[at].in);
    memcpy(cache->of[at].code, code, sizeof code);
    cache->of[at].address = m->ip;
  }
  cache->of[at].serial = cache->serial;
  return &cache->of[at].in;
}

static struct vf_word *find_word(struct vf_machine *m, uint64_t address) {
  address &= ~UINT64_C(7);
  for (unsigned i = 0; i != m->words; ++i)
    if (m->word[i].address == address)
      return &m->word[i];
  return NULL;
}

static uint8_t bytes(uint64_t address, unsigned size) {
  return (uint8_t)(((1u << size) - 1) << (address & 7));
}

static bool record(struct vf_machine *m, uint64_t address, unsigned size,
                   uint64_t value) {
  struct vf_reads *reads = m->reads;
  for (unsigned i = 0; i != reads->n; ++i) {
    struct vf_read *read = &reads->of[i];
    if (read->address != address || read->size != size)
      continue;
    bool is_same = read->value == value;
    read->value = value;
    return is_same || vf_fail(m, "memory changed");
  }
  if (reads->n == VF_READS)
    return vf_fail(m, "too many words are read");
  reads->of[reads->n++] = (struct vf_read){address, value, size};
  return true;
}

bool vf_is_in_stack(const struct vf_machine *m, uint64_t address) {
  return address >= m->stack_low && address < m->stack_high;
}

bool vf_load(struct vf_machine *m, uint64_t address, unsigned size,
             uint64_t *value, uint8_t *taint) {
  bool straddles = (address & 7) + size > 8;
  const struct vf_word *word = find_word(m, address),
                       *next = straddles ? find_word(m, address + 7) : NULL;
  uint8_t need = bytes(address, size);
  *value = 0;
  if (word && !straddles && (word->mask & need) == need) {
    *value = word->value >> (address & 7) * 8 & vf_mask(size);
    *taint = 0;
    for (unsigned i = 0; i != size; ++i)
      *taint |= word->taint[(address & 7) + i];
    return true;
  }
  if ((word && word->mask & need) || (next && next->mask))
    return vf_fail(m, "a word that is stored in part");
  if (!vf_memory_read(m->memory, address, value, size))
    return vf_fail(m, "unreadable memory");
  *taint = vf_is_in_stack(m, address) ? VF_INITIAL : VF_LOADED;
  return record(m, address, size, *value);
}

bool vf_store(struct vf_machine *m, uint64_t address, unsigned size,
              uint64_t value, uint8_t taint) {
  if ((address & 7) + size > 8)
    return vf_fail(m, "a store across words");
  struct vf_word *word = find_word(m, address);
  unsigned shift = (unsigned)(address & 7) * 8;
  uint64_t in_word = vf_mask(size) << shift, now = 0;
  uint8_t stored = bytes(address, size);
  if (!word && m->words == VF_WORDS)
    return vf_fail(m, "too many words are stored");
  bool is_shared = !m->stores_anything && !vf_is_in_stack(m, address);
  if ((!word || is_shared) &&
      !vf_memory_read(m->memory, address & ~UINT64_C(7), &now, 8))
    return vf_fail(m, "unreadable memory");
  if (is_shared) {
    if (((now ^ value << shift) & in_word) != 0)
      return vf_fail(m, "changes memory");
    return true;
  }
  if (!word) {
    word = &m->word[m->words++];
    *word = (struct vf_word){
        .address = address & ~UINT64_C(7), .value = now, .was = now};
  }
  word->value = (word->value & ~in_word) | (value << shift & in_word);
  memset(word->taint + (address & 7), taint, size);
  word->mask |= stored;
  return true;
}

uint64_t vf_address(const struct vf_machine *m, const struct vf_operand *o,
                    uint8_t *taint) {
  uint64_t address = (uint64_t)o->value;
  *taint = 0;
  if (o->base != VF_NO_REGISTER) {
    address += m->reg[o->base];
    *taint |= m->taint[o->base];
  }
  if (o->index != VF_NO_REGISTER) {
    address += m->reg[o->index] * o->scale;
    *taint |= m->taint[o->index];
  }
  return o->in_thread ? address + m->thread : address;
}

bool vf_get(struct vf_machine *m, const struct vf_operand *o, uint64_t *value,
            uint8_t *taint) {
  uint8_t where;
  uint64_t address;
  *taint = 0;
  switch (o->kind) {
  case VF_IMMEDIATE:
    *value = (uint64_t)o->value;
    return true;
  case VF_REGISTER:
    *value = m->reg[o->reg] >> (o->high ? 8 : 0) & vf_mask(o->size);
    *taint = m->taint[o->reg];
    return true;
  case VF_MEMORY:
    address = vf_address(m, o, &where);
    if (where & VF_CARRIED)
      m->carried_address = true;
    if (!vf_load(m, address, o->size, value, taint))
      return false;
    *taint |= where & VF_TIMED;
    return true;
  default:
    return vf_fail(m, "operand");
  }
}

void vf_set_register(struct vf_machine *m, unsigned reg, unsigned size,
                     unsigned shift, uint64_t value, uint8_t taint) {
  uint64_t mask = vf_mask(size) << shift;
  m->written |= 1u << reg;
  if (size >= 4) {
    m->reg[reg] = value & mask;
    m->taint[reg] = taint;
    return;
  }
  m->reg[reg] = (m->reg[reg] & ~mask) | (value << shift & mask);
  m->taint[reg] = taint | (m->taint[reg] & ~(VF_LOADED | VF_INITIAL));
}

bool vf_put(struct vf_machine *m, const struct vf_operand *o, uint64_t value,
            uint8_t taint) {
  uint8_t where;
  if (o->kind == VF_REGISTER) {
    vf_set_register(m, o->reg, o->size, o->high ? 8 : 0, value, taint);
    return true;
  }
  if (o->kind != VF_MEMORY)
    return vf_fail(m, "operand");
  return vf_store(m, vf_address(m, o, &where), o->size, value, taint);
}

bool vf_read_changed(const struct vf_memory *memory,
                     const struct vf_read *read) {
  uint64_t now = 0;
  return !vf_memory_read(memory, read->address, &now, read->size) ||
         now != read->value;
}
