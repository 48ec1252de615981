// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers that the program maps and writes: a device sets the bits that are
// polled, so nobody notifies, and a read may have an effect. Each has a twin in
// memory that processes share, which is mapped, too.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 -D_GNU_SOURCE 2>&1 | grep '^/' | FileCheck %s --check-prefix=TIDY --implicit-check-not=warning:

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

typedef volatile unsigned word;
enum { CONTROL, STATUS };

static void *map(int fd, off_t at) {
  return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
}

//===--- Devices ----------------------------------------------------------===//

// The variables are set far from the loops, as is the file.
static int memory = -1;
static word *timer = MAP_FAILED;
static struct {
  int pins;
  word *bus;
} board;

int open_board(void) {
  memory = open("/dev/mem", O_RDWR | O_SYNC);
  return memory < 0 ? -1 : 0;
}
void map_board(void) {
  timer = map(memory, 0x3000);
  board.bus = map(memory, 0x4000);
}

// CHECK-LABEL: define {{.*}}@delay(
// CHECK-NOT: vf_spin_wait
// CHECK-NOT: pause
// CHECK: ret void
void delay(unsigned ticks) {
  unsigned start = timer[1];
  timer[0] = 1;
  // expected-remark@+1 {{(device register) on volatile memory behind a pointer, plain 'timer' left as it is: it may poll a device: it reads a constant address or a mapping}}
  while (timer[1] - start < ticks)
    ;
}

// The file's name is what a variable, or a table, begins with.
const char *clock_file = "/dev/mem";
static struct {
  int model;
  const char *file;
} boards[] = {{1, "/dev/gpiomem0"}, {2, "/dev/gpiomem"}};
static word *clocks, *pads;
void map_clocks(int board) {
  clocks = map(open(clock_file, O_RDWR), 0);
  pads = map(open(boards[board].file, O_RDWR), 0);
}
// CHECK-LABEL: define {{.*}}@stop_clock(
// CHECK-NOT: vf_spin_wait
// CHECK: ret void
void stop_clock(void) {
  clocks[CONTROL] = 1;
  // The check lowers functions, no variables, and sees no file.
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'clocks[CONTROL]'
  // expected-remark@+1 {{(device register) on volatile memory behind a pointer, plain 'clocks' left as it is}}
  while (clocks[CONTROL] & 0x80)
    ;
}
// CHECK-LABEL: define {{.*}}@settle_pads(
// CHECK-NOT: vf_spin_wait
// CHECK: ret void
void settle_pads(void) {
  pads[CONTROL] = 1;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'pads[CONTROL]'
  // expected-remark@+1 {{(device register) on volatile memory behind a pointer, plain 'pads' left as it is}}
  while (pads[CONTROL] & 0x80)
    ;
}

// CHECK-LABEL: define {{.*}}@transfer(
// CHECK-NOT: vf_spin_wait
// CHECK-NOT: pause
// CHECK: ret void
void transfer(void) {
  board.bus[STATUS] = 0;
  board.bus[CONTROL] = 1;
  // expected-remark@+1 {{(device register)}}
  while (!(board.bus[STATUS] & 0x10000))
    ;
}

// A register beside a flag of threads: the device decides how long it takes.
extern atomic_int stopped;
void transfer_until_stopped(void) {
  // expected-remark@+1 {{(device register)}}
  while (!stopped && !(board.bus[STATUS] & 0x10000))
    ;
}

// The path is made from a number.
void reset(const char *address) {
  char path[64];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/resource0", address);
  word *r = map(open(path, O_RDWR), 0);
  r[CONTROL] = r[STATUS] = 0;
  // expected-remark@+1 {{(device register)}}
  while (!r[STATUS])
    sched_yield();
}

// VFIO gives a file for each device.
void start(int group) {
  word *r = map(ioctl(group, 0x3b6a, "0000:00:01.0"), 0);
  r[STATUS] = 0;
  // expected-remark@+1 {{(device register)}}
  while (!r[STATUS])
    ;
}

// The name of the function that reads says what it reads, however it does.
struct command {
  atomic_uchar owner;
};
static unsigned char mmio_read8(atomic_uchar *at) {
  return atomic_load_explicit(at, memory_order_relaxed);
}
void post(struct command *c) { atomic_store(&c->owner, 1); }
void wait_command(struct command *c) {
  // expected-remark@+1 {{(device register)}}
  while (mmio_read8(&c->owner) & 1)
    sched_yield();
}

//===--- Memory that processes share --------------------------------------===//

static word *anonymous = MAP_FAILED, *named, *unnamed, *plain_file, *of_shm,
            *of_zero, *given;
void map_shared(int fd) {
  anonymous = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
  named = map(shm_open("/queue", O_RDWR, 0600), 0);
  unnamed = map(memfd_create("queue", 0), 0);
  plain_file = map(open("/var/lib/queue", O_RDWR), 0);
  of_shm = map(open("/dev/shm/queue", O_RDWR), 0);
  of_zero = map(open("/dev/zero", O_RDWR), 0);
  given = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
void tell_shared(void) {
  anonymous[0] = named[0] = unnamed[0] = plain_file[0] = of_shm[0] =
      of_zero[0] = given[0] = 1;
}

// CHECK-LABEL: define {{.*}}@wait_shared(
// CHECK-COUNT-7: call {{.*}}@vf_spin_wait
// CHECK: ret void
void wait_shared(void) {
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'anonymous[0]'
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!anonymous[0])
    ;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'named[0]'
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!named[0])
    ;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'unnamed[0]'
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!unnamed[0])
    ;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'plain_file[0]'
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!plain_file[0])
    ;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'of_shm[0]'
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!of_shm[0])
    ;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile 'of_zero[0]'
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!of_zero[0])
    ;
  // TIDY: :[[@LINE+3]]:3: warning: loop spins on volatile 'given[0]'
  // expected-remark@+2 {{link with libvfrt}}
  // expected-remark-re@+1 {{(flag poll) on volatile memory behind a pointer, plain '{{.*}}' wastes}}
  while (!given[0])
    ;
}

// A register is read by that name, a mailbox by another.
static unsigned char read_owner(atomic_uchar *at) {
  return atomic_load_explicit(at, memory_order_relaxed);
}
void wait_mailbox(struct command *c) {
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on atomic
  // expected-remark@+1 {{(flag poll) on atomic memory}}
  while (read_owner(&c->owner) & 1)
    sched_yield();
}

// The function that reads the register keeps no mark of that.
// CHECK-LABEL: define {{.*}}@mmio_peek(
// CHECK-NOT: vf.device
// CHECK: ret i32
__attribute__((used)) static unsigned mmio_peek(volatile unsigned *at) {
  return *at;
}
// CHECK-LABEL: define {{.*}}@wait_peeking(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void wait_peeking(volatile unsigned *at) {
  // expected-remark@+1 {{(device register) on}}
  while (!mmio_peek(at))
    ;
}

// A register that assembly reads.
// CHECK-LABEL: define {{.*}}@wait_by_assembly(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void wait_by_assembly(void) {
  unsigned v;
  // expected-remark@+1 {{(device register) on}}
  do
    __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(timer[3]));
  while (!v);
}

// From where a pointer comes is not searched for ever: it may be a register.
#define FIVE(X) X X X X X
#define MANY FIVE(FIVE(FIVE(FIVE(one_of();))))
extern volatile unsigned *memory_of(int);
static volatile unsigned *many;
#define one_of() many = memory_of(0)
void set_many(void) { MANY }
// CHECK-LABEL: define {{.*}}@wait_many(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void wait_many(void) {
  // The check, which changes nothing, sees only functions that map or open.
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on volatile '*many'
  // expected-remark@+1 {{(device register) on}}
  while (!*many)
    ;
}
