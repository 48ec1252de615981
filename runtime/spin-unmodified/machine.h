/*===- spin-unmodified/machine.h - Registers and memory of the emulator ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What the operations in emulate.c are made of. All functions that return a
 * bool return false if the machine cannot go on, and have said why then.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_MACHINE_H
#define VFRIENDLY_SPIN_UNMODIFIED_MACHINE_H

#include "spin-unmodified/emulate.h"

/* Sets `why` and returns false. */
bool vf_fail(struct vf_machine *m, const char *why);

/* Returns the instruction at the machine's ip, or NULL. */
const struct vf_instruction *vf_fetch(struct vf_machine *m);

/* Loads what the machine has stored, or else from the program's memory. */
bool vf_load(struct vf_machine *m, uint64_t address, unsigned size,
             uint64_t *value, uint8_t *taint);

/* Stores to the machine's words. Outside of the stack it only checks that the
 * value is there already. */
bool vf_store(struct vf_machine *m, uint64_t address, unsigned size,
              uint64_t value, uint8_t taint);

bool vf_is_in_stack(const struct vf_machine *m, uint64_t address);

/* Returns the address of a memory operand, and the taints of its registers. */
uint64_t vf_address(const struct vf_machine *m, const struct vf_operand *o,
                    uint8_t *taint);

/* Reads and writes an operand. */
bool vf_get(struct vf_machine *m, const struct vf_operand *o, uint64_t *value,
            uint8_t *taint);
bool vf_put(struct vf_machine *m, const struct vf_operand *o, uint64_t value,
            uint8_t taint);

/* Writes `size` bytes of a register; those of 4 bytes clear the upper half. */
void vf_set_register(struct vf_machine *m, unsigned reg, unsigned size,
                     unsigned shift, uint64_t value, uint8_t taint);

/* Notes a branch by flags of that taint. */
void vf_note_branch(struct vf_machine *m, uint8_t taint);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_MACHINE_H */
