// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers of devices stand at constant addresses. They change by themselves,
// reading them may have an effect, and nobody notifies.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %verify_cxx -x c++ %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --implicit-check-not="call {{.*}}vf_spin_wait"
// CHECK: define

#define STATUS (*(volatile unsigned *)0xfee00020ul)

void status(void) {
  // expected-remark@+1 {{(device register) on volatile memory behind a pointer left as it is: it may poll a device: it reads a constant address or a mapping}}
  while (!(STATUS & 1)) {}
}

struct uart {
  volatile unsigned data, status;
};
#define UART ((struct uart *)0x10000000ul)

void put(char c) {
  // expected-remark@+1 {{(device register) on volatile memory at offset 4 of 'struct.uart' left as it is: it may poll a device: it reads a constant address or a mapping}}
  while (!(UART->status & 0x20)) {}
  UART->data = c;
}

// A pointer to volatile memory that nobody here writes may lead to a device: no
// blocking. The hint does no harm.
void unknown(volatile unsigned *reg) {
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer {{.*}}give the CPU's spin hint, and nothing else: volatile memory behind a pointer, with no writer in sight, may be a device}}
  while (!*reg) {}
}

// A driver that writes one register and polls another by the same structure.
void unknown_field(struct uart *u) {
  // expected-remark-re@+1 {{(flag poll) on volatile memory {{.*}}give the CPU's spin hint, and nothing else: volatile memory behind a pointer}}
  while (!(u->status & 1)) {}
}
