// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the emulator with the processor: a child executes random
// instructions by single steps, and after each one all registers, the flags
// that the processor defines and the memory must be what the emulator says.
// The second run breaks the emulator's answers on purpose and must find it.
//
// REQUIRES: host-x86_64, native, capstone
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/spin-unmodified/machine.c %vf_src/runtime/spin-unmodified/emulate.c %vf_src/runtime/spin-unmodified/memory.c %vf_src/runtime/spin-unmodified/decode_x86_64.c -l:libcapstone.a -o %t
// RUN: %t 60000 1 | FileCheck %s
// RUN: not %t 20000 1 break | FileCheck --check-prefix=BROKEN %s
// CHECK: 0 differences
// BROKEN-NOT: {{^}}0 differences
// BROKEN: differences

#include "spin-unmodified/emulate.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA ((unsigned char *)0x20000000)
#define DATA_SIZE 4096
#define CODE ((unsigned char *)0x30000000)

static uint64_t seed;
static uint64_t next(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed * UINT64_C(0x2545f4914f6cdd1d);
}
static unsigned below(unsigned n) { return (unsigned)(next() >> 33) % n; }

// Opcodes with a modrm byte; `digits` are the values of its middle field that
// are known instructions; `immediate` its size, 4 meaning that of the operand.
struct opcode {
  unsigned char byte[2];
  unsigned char length, digits, immediate;
};
static const struct opcode opcodes[] = {
    {{0x00}, 1, 0xff, 0},       {{0x01}, 1, 0xff, 0},
    {{0x02}, 1, 0xff, 0},       {{0x03}, 1, 0xff, 0},
    {{0x08}, 1, 0xff, 0},       {{0x09}, 1, 0xff, 0},
    {{0x0b}, 1, 0xff, 0},       {{0x11}, 1, 0xff, 0},
    {{0x13}, 1, 0xff, 0},       {{0x19}, 1, 0xff, 0},
    {{0x1b}, 1, 0xff, 0},       {{0x10}, 1, 0xff, 0},
    {{0x18}, 1, 0xff, 0},       {{0x20}, 1, 0xff, 0},
    {{0x21}, 1, 0xff, 0},       {{0x23}, 1, 0xff, 0},
    {{0x28}, 1, 0xff, 0},       {{0x29}, 1, 0xff, 0},
    {{0x2b}, 1, 0xff, 0},       {{0x30}, 1, 0xff, 0},
    {{0x31}, 1, 0xff, 0},       {{0x33}, 1, 0xff, 0},
    {{0x38}, 1, 0xff, 0},       {{0x39}, 1, 0xff, 0},
    {{0x3a}, 1, 0xff, 0},       {{0x3b}, 1, 0xff, 0},
    {{0x63}, 1, 0xff, 0},       {{0x69}, 1, 0xff, 4},
    {{0x6b}, 1, 0xff, 1},       {{0x80}, 1, 0xff, 1},
    {{0x81}, 1, 0xff, 4},       {{0x83}, 1, 0xff, 1},
    {{0x84}, 1, 0xff, 0},       {{0x85}, 1, 0xff, 0},
    {{0x86}, 1, 0xff, 0},       {{0x87}, 1, 0xff, 0},
    {{0x88}, 1, 0xff, 0},       {{0x89}, 1, 0xff, 0},
    {{0x8a}, 1, 0xff, 0},       {{0x8b}, 1, 0xff, 0},
    {{0x8d}, 1, 0xff, 0},       {{0xc0}, 1, 0xff, 1},
    {{0xc1}, 1, 0xff, 1},       {{0xc6}, 1, 0x01, 1},
    {{0xc7}, 1, 0x01, 4},       {{0xd0}, 1, 0xff, 0},
    {{0xd1}, 1, 0xff, 0},       {{0xd2}, 1, 0xff, 0},
    {{0xd3}, 1, 0xff, 0},       {{0xf6}, 1, 0x3d, 0},
    {{0xf7}, 1, 0x3d, 0},       {{0xfe}, 1, 0x03, 0},
    {{0xff}, 1, 0x57, 0},       {{0x8f}, 1, 0x01, 0},
    {{0x0f, 0xaf}, 2, 0xff, 0}, {{0x0f, 0xb0}, 2, 0xff, 0},
    {{0x0f, 0xb1}, 2, 0xff, 0}, {{0x0f, 0xb6}, 2, 0xff, 0},
    {{0x0f, 0xb7}, 2, 0xff, 0}, {{0x0f, 0xbe}, 2, 0xff, 0},
    {{0x0f, 0xbf}, 2, 0xff, 0}, {{0x0f, 0xc0}, 2, 0xff, 0},
    {{0x0f, 0xc1}, 2, 0xff, 0}, {{0x0f, 0xa3}, 2, 0xff, 0},
    {{0x0f, 0xba}, 2, 0xf0, 1}, {{0x0f, 0xab}, 2, 0xff, 0},
    {{0x0f, 0xb3}, 2, 0xff, 0}, {{0x0f, 0xbb}, 2, 0xff, 0},
    {{0x0f, 0xac}, 2, 0xff, 1}, {{0x0f, 0xad}, 2, 0xff, 0},
    {{0x0f, 0x1f}, 2, 0x01, 0}, {{0x0f, 0x18}, 2, 0x0f, 0},
    {{0x0f, 0x40}, 2, 0xff, 0}, {{0x0f, 0x90}, 2, 0x01, 0},
};
// The others that are known.
static const struct {
  unsigned char byte[3];
  unsigned char length, immediate;
} others[] = {
    {{0x90}, 1, 0},
    {{0xf3, 0x90}, 2, 0},
    {{0x98}, 1, 0},
    {{0x99}, 1, 0},
    {{0xc3}, 1, 0},
    {{0xc2}, 1, 2},
    {{0xc9}, 1, 0},
    {{0xe8}, 1, 4},
    {{0xe9}, 1, 4},
    {{0xeb}, 1, 1},
    {{0x70}, 1, 1},
    {{0x50}, 1, 0},
    {{0x58}, 1, 0},
    {{0x91}, 1, 0},
    {{0x68}, 1, 4},
    {{0x6a}, 1, 1},
    {{0xb8}, 1, 4},
    {{0x04}, 1, 1},
    {{0x05}, 1, 4},
    {{0x3c}, 1, 1},
    {{0x3d}, 1, 4},
    {{0xa8}, 1, 1},
    {{0xa9}, 1, 4},
    {{0x0f, 0x31}, 2, 0},
    {{0x0f, 0x80}, 2, 4},
    {{0x0f, 0x01, 0xf9}, 3, 0},
    {{0x0f, 0xae, 0xe8}, 3, 0},
    {{0x0f, 0x05}, 2, 0},
};

static unsigned char *random_bytes(unsigned char *at, unsigned n) {
  while (n--)
    *at++ = (unsigned char)next();
  return at;
}

static const unsigned char prefixes[] = {0xf0, 0xf3, 0xf2, 0x66, 0x64, 0x2e,
                                         0x3e, 0x65, 0x67, 0x48, 0x41};

static void generate(unsigned char *at) {
  random_bytes(at, 15);
  if (below(16) == 0)
    return; // anything
  bool is_word = below(8) == 0;
  if (is_word)
    *at++ = 0x66;
  if (below(16) == 0)
    *at++ = prefixes[below(sizeof prefixes)];
  if (below(32) == 0)
    *at++ = prefixes[below(sizeof prefixes)];
  unsigned char rex = 0;
  if (below(3) != 0)
    *at++ = rex = (unsigned char)(0x40 | (below(2) ? 8 : 0) | below(8));
  unsigned wide = is_word && !(rex & 8) ? 2 : 4;
  if (below(4) == 0) {
    unsigned i = below(sizeof others / sizeof *others);
    memcpy(at, others[i].byte, others[i].length);
    at += others[i].length;
    unsigned char low = at[-1];
    if (low == 0x70 || low == 0x80)
      at[-1] |= below(16);
    if (low == 0x50 || low == 0x58 || low == 0x91 || low == 0xb8)
      at[-1] = (unsigned char)((low & 0xf8) | below(8));
    unsigned n = others[i].immediate == 4 ? wide : others[i].immediate;
    random_bytes(at, n);
    return;
  }
  const struct opcode *o = &opcodes[below(sizeof opcodes / sizeof *opcodes)];
  memcpy(at, o->byte, o->length);
  at += o->length;
  if (at[-1] == 0x40 || at[-1] == 0x90)
    at[-1] |= below(16);
  unsigned digit;
  do
    digit = below(8);
  while (!(o->digits >> digit & 1));
  unsigned form = below(4);
  *at++ = (unsigned char)(form << 6 | digit << 3 | below(8));
  bool has_sib = form != 3 && (at[-1] & 7) == 4;
  if (has_sib)
    *at++ = (unsigned char)next();
  bool is_absolute =
      form == 0 && ((at[-1] & 7) == 5 && (has_sib || (at[-1] & 0xc7) == 5));
  if (is_absolute || form == 2) {
    int displacement = (int)below(256) - 128;
    if (is_absolute && has_sib)
      displacement += 0x20000800;
    memcpy(at, &displacement, 4);
    at += 4;
  } else if (form == 1)
    at = random_bytes(at, 1);
  random_bytes(at, o->immediate == 4 ? wide : o->immediate);
}

static const size_t places[VF_REGISTERS] = {
#define AT(name) offsetof(struct user_regs_struct, name)
    AT(rax), AT(rcx), AT(rdx), AT(rbx), AT(rsp), AT(rbp), AT(rsi), AT(rdi),
    AT(r8),  AT(r9),  AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15)};

static unsigned long long *place(struct user_regs_struct *regs, unsigned i) {
  return (unsigned long long *)((char *)regs + places[i]);
}

static uint64_t random_value(void) {
  switch (below(8)) {
  case 0:
    return below(4);
  case 1:
    return UINT64_C(1) << below(64);
  case 2:
    return -(uint64_t)below(300);
  case 3:
    return next();
  default: // an address, mostly aligned
    return (uint64_t)(uintptr_t)DATA + 512 + below(DATA_SIZE - 1024) / 8 * 8 +
           (below(4) ? 0 : below(8));
  }
}

static pid_t start_child(void) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    for (;;)
      pause();
  }
  int status;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
  return child;
}

static struct vf_decoded cache;
static unsigned long counts[64], differences, executed, stopped;
static bool breaks;

static void complain(const char *what, const struct vf_instruction *in,
                     uint64_t is, uint64_t should) {
  ++differences;
  if (differences > 20)
    return;
  printf("op %u size %u at %#lx:", in->op, in->size,
         (unsigned long)(uintptr_t)CODE);
  for (unsigned i = 0; i != 15; ++i)
    printf(" %02x", CODE[i]);
  printf(": %s is %#lx, not %#lx\n", what, (unsigned long)is,
         (unsigned long)should);
}

static void compare(struct vf_machine *m, const struct vf_instruction *in,
                    struct user_regs_struct *after,
                    const unsigned char *before) {
  static const char *const names[] = {"a",  "c",  "d",  "b", "sp", "bp",
                                      "si", "di", "8",  "9", "10", "11",
                                      "12", "13", "14", "15"};
  bool is_time = in->op == VF_OP_TIME || in->op == VF_OP_TIME_CPU;
  for (unsigned i = 0; i != VF_REGISTERS; ++i) {
    bool skips = (is_time && i < 3) || (in->op == VF_OP_SYSTEM_CALL && i == 11);
    if (!skips && m->reg[i] != *place(after, i))
      complain(names[i], in, m->reg[i], *place(after, i));
  }
  if (m->ip != after->rip)
    complain("ip", in, m->ip, after->rip);
  // What the next instructions of the case find.
  for (unsigned i = 0; i != 3 && is_time; ++i)
    m->reg[i] = *place(after, i);
  if (in->op == VF_OP_SYSTEM_CALL)
    m->reg[11] = after->r11;
  uint64_t known = VF_FLAGS & ~m->unknown_flags;
  if ((m->flags & known) != (after->eflags & known))
    complain("flags", in, m->flags & known, after->eflags & known);
  unsigned char expected[DATA_SIZE];
  memcpy(expected, before, DATA_SIZE);
  for (unsigned i = 0; i != m->words; ++i) {
    uint64_t at = m->word[i].address - (uint64_t)(uintptr_t)DATA;
    if (at <= DATA_SIZE - 8)
      memcpy(expected + at, &m->word[i].value, 8);
  }
  if (memcmp(expected, DATA, DATA_SIZE) != 0)
    complain("memory", in, 0, 1);
}

// This program overwrites the code, too.
static bool has_stored_code(const struct vf_machine *m) {
  for (unsigned i = 0; i != m->words; ++i)
    if (m->word[i].address - (uint64_t)(uintptr_t)CODE < 4096)
      return true;
  return false;
}

static bool is_safe(const struct vf_instruction *in, uint64_t rax) {
  if (in->op == VF_OP_SYSTEM_CALL)
    return rax == SYS_sched_yield;
  if (in->op != VF_OP_UNKNOWN)
    return true;
  return false; // Nothing to compare.
}

int main(int argc, char **argv) {
  unsigned long cases = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
  seed = 88172645463325252u + (argc > 2 ? strtoul(argv[2], NULL, 0) : 1);
  breaks = argc > 3;
  if (vf_decoder_start() != 0 ||
      mmap(DATA, DATA_SIZE, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
      mmap(CODE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
           MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return 2;
  pid_t child = start_child();
  struct user_regs_struct clean, regs;
  ptrace(PTRACE_GETREGS, child, 0, &clean);
  struct vf_memory memory = {.process = child};
  static struct vf_machine m;
  static struct vf_reads reads;
  static unsigned char before[DATA_SIZE];
  for (unsigned long i = 0; i != cases; ++i) {
    regs = clean;
    regs.orig_rax = (unsigned long long)-1;
    for (unsigned r = 0; r != VF_REGISTERS; ++r)
      *place(&regs, r) = random_value();
    if (below(4) == 0)
      regs.rax = SYS_sched_yield;
    regs.rip = (uint64_t)(uintptr_t)CODE;
    regs.eflags = 0x202 | (next() & VF_FLAGS);
    vf_machine_start(&m, &memory, &cache, &reads);
    for (unsigned r = 0; r != VF_REGISTERS; ++r)
      m.reg[r] = *place(&regs, r);
    m.ip = regs.rip, m.flags = regs.eflags & VF_FLAGS, m.thread = regs.fs_base;
    m.stores_anything = true;
    ptrace(PTRACE_SETREGS, child, 0, &regs);
    // Several instructions at one place: what the first stores is loaded again.
    for (unsigned step = 0, steps = 1 + below(3); step != steps; ++step) {
      if (step == 0)
        for (unsigned k = 0; k != 32; ++k)
          DATA[below(DATA_SIZE)] = (unsigned char)next();
      generate(CODE);
      m.ip = (uint64_t)(uintptr_t)CODE;
      if (step) {
        regs.rip = m.ip;
        ++cache.serial;
        ptrace(PTRACE_SETREGS, child, 0, &regs);
      }
      struct vf_instruction in;
      vf_decode(CODE, 15, m.ip, &in);
      if (!is_safe(&in, regs.rax) || has_stored_code(&m))
        break;
      memcpy(before, DATA, DATA_SIZE);
      bool done = vf_step(&m);
      if (breaks && done && in.op == VF_OP_SUB)
        m.flags ^= VF_FLAG_Z;
      int status;
      ptrace(PTRACE_SINGLESTEP, child, 0, 0);
      if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        printf("the child ended: %#x\n", status);
        return 2;
      }
      ptrace(PTRACE_GETREGS, child, 0, &regs);
      if (WSTOPSIG(status) != SIGTRAP)
        break; // It faulted.
      if (!done) {
        ++stopped;
        break;
      }
      ++executed;
      ++counts[in.op];
      compare(&m, &in, &regs, before);
    }
  }
  kill(child, SIGKILL);
  // A test that reaches nothing shows nothing.
  for (unsigned op = VF_OP_NOP; op <= VF_OP_SYSTEM_CALL; ++op)
    if (counts[op] < (cases >= 50000 ? 3 : 0)) {
      printf("op %u was executed %lu times\n", op, counts[op]);
      ++differences;
    }
  printf("%lu differences in %lu instructions, %lu not emulated\n", differences,
         executed, stopped);
  return differences != 0;
}
