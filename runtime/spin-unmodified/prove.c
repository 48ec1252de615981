/*===- spin-unmodified/prove.c - Whether a thread waits -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/prove.h"
#include "spin-unmodified/machine.h"

/* Maximum number of instructions that are emulated. Waits that read the clock
 * by the vDSO have some 80 in an iteration, and three iterations suffice. At 30
 * ns each, a thread that computes loses at most 15 us for each signal. */
#define STEPS_MAX 500
/* What lies that far above the stack pointer may be the thread's own business:
 * frames of its callers. It ends at the thread pointer, above which other data
 * are. */
#define FRAMES_SIZE 65536
/* And below it: frames of functions that the loop calls. */
#define CALLS_SIZE 4096
/* Below the stack pointer, these bytes are still in use in x86-64's ABI. */
#define RED_ZONE 128

/* How a value differs from that of an iteration before. */
enum difference { SAME, BY_TIME, BY_COUNT, OTHERWISE };

static enum difference kind_of(uint8_t taint) {
  if (taint & VF_TIMED)
    return BY_TIME;
  return (taint & (VF_CARRIED | VF_LOADED | VF_MIXED)) == VF_CARRIED
             ? BY_COUNT
             : OTHERWISE;
}

/* Executes until the machine is at this instruction again. */
static bool iterate(struct vf_machine *m, uint64_t first, unsigned *steps) {
  do {
    if (++*steps > STEPS_MAX) {
      m->why = "no end of the loop";
      return false;
    }
    if (!vf_step(m))
      return false;
  } while (m->ip != first);
  return true;
}

/* Returns the word as it was in an earlier state of the machine, which has the
 * same words in the same places, but may have fewer. */
static uint64_t word_before(const struct vf_machine *before,
                            const struct vf_machine *now, unsigned i) {
  return i < before->words ? before->word[i].value : now->word[i].was;
}

static bool is_dead(const struct vf_machine *m, uint64_t address) {
  return address >= m->stack_low && address + 8 <= m->reg[VF_REG_SP] - RED_ZONE;
}

static bool same_flags(const struct vf_machine *a, const struct vf_machine *b) {
  return a->unknown_flags == b->unknown_flags &&
         ((a->flags ^ b->flags) & ~a->unknown_flags) == 0;
}

/* Returns the largest difference between two states, the second one later. */
static enum difference compare(const struct vf_machine *a,
                               const struct vf_machine *b) {
  enum difference most = SAME;
  for (unsigned i = 0; i != VF_REGISTERS; ++i)
    if (a->reg[i] != b->reg[i] && kind_of(b->taint[i]) > most)
      most = kind_of(b->taint[i]);
  for (unsigned i = 0; i != b->words; ++i) {
    uint64_t changed = word_before(a, b, i) ^ b->word[i].value;
    if (changed == 0 || is_dead(b, b->word[i].address))
      continue;
    for (unsigned byte = 0; byte != 8; ++byte)
      if (changed >> byte * 8 & 255 && kind_of(b->word[i].taint[byte]) > most)
        most = kind_of(b->word[i].taint[byte]);
  }
  return most;
}

/* A value that holds both what it was and what was loaded: a sum, though
 * perhaps of zeros, so that it does not show in `compare`. */
static bool adds_up(uint8_t taint) {
  return (taint & (VF_INITIAL | VF_LOADED)) == (VF_INITIAL | VF_LOADED);
}

static bool has_sums(const struct vf_machine *m) {
  for (unsigned i = 0; i != VF_REGISTERS; ++i)
    if (i != VF_REG_SP && adds_up(m->taint[i]))
      return true;
  for (unsigned i = 0; i != m->words; ++i)
    for (unsigned byte = 0; byte != 8; ++byte)
      if (adds_up(m->word[i].taint[byte]) && !is_dead(m, m->word[i].address))
        return true;
  return false;
}

static void forget_events(struct vf_machine *m) {
  m->carried_branch = m->polled_branch = m->branch_before = false;
  m->carried_address = false;
  m->shared_store = m->yields = m->pauses = false;
  m->written = 0;
  m->reads->n = 0;
}

/* What depends on the clock does so in each iteration. `taint` is that of the
 * first iteration, at whose begin everything was VF_INITIAL. */
static uint8_t taint_after_first(bool differs, bool was_written,
                                 uint8_t taint) {
  if (taint & VF_TIMED)
    return VF_TIMED;
  return (differs ? VF_CARRIED : 0) |
         (was_written ? taint & (VF_INITIAL | VF_LOADED) : 0);
}

/* Sets the taints with which the second iteration begins. */
static void begin_second(struct vf_machine *m,
                         const struct vf_machine *before) {
  for (unsigned i = 0; i != VF_REGISTERS; ++i)
    m->taint[i] = taint_after_first(m->reg[i] != before->reg[i],
                                    m->written >> i & 1, m->taint[i]);
  for (unsigned i = 0; i != m->words; ++i)
    for (unsigned byte = 0; byte != 8; ++byte) {
      struct vf_word *word = &m->word[i];
      word->taint[byte] =
          taint_after_first((word->value ^ word->was) >> byte * 8 & 255,
                            word->mask >> byte & 1, word->taint[byte]);
    }
  m->flags_taint = VF_OF_BEFORE;
  forget_events(m);
}

static bool reads_shared(const struct vf_machine *m) {
  for (unsigned i = 0; i != m->reads->n; ++i) {
    uint64_t at = m->reads->of[i].address;
    if (at < m->stack_low || at >= m->stack_high)
      return true;
  }
  return false;
}

/* The verdict after an iteration; VF_VERDICTS if more are needed. */
static enum vf_verdict judge(const struct vf_machine *before,
                             struct vf_machine *m) {
  bool reads = m->reads->n != 0;
  /* The branch at which the iteration began has the flags with which it ends.
   */
  if (m->branch_before)
    vf_note_branch(m, m->flags_taint & (uint8_t)~VF_OF_BEFORE);
  switch (compare(before, m)) {
  case SAME:
    if (!same_flags(before, m))
      return VF_VERDICTS;
    if (reads || m->yields)
      return VF_POLLS;
    m->why = "reads nothing";
    return m->pauses ? VF_DELAYS : VF_COMPUTES;
  case BY_TIME:
    return reads || m->pauses ? VF_TIMES : VF_VERDICTS;
  case BY_COUNT:
    return reads_shared(m) && m->polled_branch && !m->carried_address &&
                   !m->shared_store && !has_sums(m) &&
                   (m->carried_branch || m->pauses)
               ? VF_COUNTS
               : VF_VERDICTS;
  default:
    return VF_VERDICTS;
  }
}

/* Searches a state that repeats: compares with a state that is replaced after
 * 1, 2, 4, 8 ... iterations. An inner loop has more than one iteration between
 * two equal states. */
static enum vf_verdict search(struct vf_machine *m, struct vf_machine *before,
                              uint64_t first, unsigned *steps) {
  bool only_pauses = compare(before, m) == BY_COUNT && m->pauses &&
                     !m->yields && !m->shared_store && !m->carried_address &&
                     !has_sums(m);
  *before = *m;
  forget_events(m);
  for (unsigned power = 1, length = 0;;) {
    if (!iterate(m, first, steps))
      return only_pauses ? VF_DELAYS : VF_COMPUTES;
    bool is_same = compare(before, m) == SAME && same_flags(before, m);
    if (is_same && (m->reads->n || m->yields))
      return VF_POLLS;
    if (is_same) {
      m->why = "reads nothing";
      return m->pauses ? VF_DELAYS : VF_COMPUTES;
    }
    if (++length == power) {
      power *= 2;
      length = 0;
      *before = *m;
      forget_events(m);
    }
  }
}

/* The second iteration and those after it. Only in the third one the taints
 * are right wherever the first one began: a value that was loaded before, and
 * is stored after that place, looks like a sum in the second. */
static enum vf_verdict judge_iterations(struct vf_machine *m,
                                        struct vf_machine *before,
                                        uint64_t first, unsigned *steps) {
  *before = *m;
  if (!iterate(m, first, steps))
    return VF_COMPUTES;
  if (compare(before, m) != SAME) {
    *before = *m;
    forget_events(m);
    m->flags_taint = VF_OF_BEFORE;
    if (!iterate(m, first, steps))
      return VF_COMPUTES;
  }
  enum vf_verdict verdict = judge(before, m);
  return verdict == VF_VERDICTS ? search(m, before, first, steps) : verdict;
}

static void start(struct vf_machine *m, const struct vf_registers *at,
                  const struct vf_memory *memory, struct vf_decoded *cache,
                  struct vf_reads *reads) {
  vf_machine_start(m, memory, cache, reads);
  for (unsigned i = 0; i != VF_REGISTERS; ++i)
    m->reg[i] = at->reg[i], m->taint[i] = VF_INITIAL;
  m->ip = at->ip;
  m->flags = at->flags & VF_FLAGS;
  m->thread = at->thread;
  uint64_t sp = m->reg[VF_REG_SP];
  m->stack_low = sp - CALLS_SIZE;
  m->stack_high = sp + FRAMES_SIZE;
  if (at->thread > sp && at->thread < m->stack_high)
    m->stack_high = at->thread;
}

enum vf_verdict vf_prove(const struct vf_registers *at,
                         const struct vf_memory *memory,
                         struct vf_decoded *cache, struct vf_wait *wait) {
  struct vf_machine m, before;
  unsigned steps = 0;
  enum vf_verdict verdict = VF_COMPUTES;
  start(&m, at, memory, cache, &wait->reads);
  before = m;
  if (iterate(&m, at->ip, &steps)) {
    begin_second(&m, &before);
    verdict = judge_iterations(&m, &before, at->ip, &steps);
  }
  wait->yields = m.yields;
  wait->steps = steps;
  wait->why = verdict != VF_COMPUTES ? "" : m.why ? m.why : "progress";
  wait->where = m.ip;
  return verdict;
}

const char *vf_verdict_name(enum vf_verdict verdict) {
  static const char *const names[VF_VERDICTS + 1] = {
      "computes", "polls", "counts", "times", "delays", "unknown"};
  return names[verdict];
}
