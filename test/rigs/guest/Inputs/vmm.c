// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vmm CPUS MEGABYTES KERNEL INITRD COMMAND-LINE [FILE...]: boots a bzImage with
// KVM, its ttyS0 on our stdout. What the guest writes to port 0xf4 is a mark:
// at each we print `{"mark": N}` and the records of the FILEs, tracefs
// histograms, that is, their lines that begin with '{'. A FILE that is but a
// number, a counter in debugfs, is printed as such a record. Of a FILE named
// numa_maps, our own, the guest's memory by node is: N0, N1 ...; then each vCPU
// stays on the CPU of its number.
//
// What it writes to port 0xf5 is the number of a page frame that it is to wait
// for when it uses it next: see hole.h; to port 0xf6, of one whose node it then
// reads there: see node_of.h.
//
// With the environment variable BALLOON the guest has a device that takes
// reports of free pages: see balloon.h. With INTERLEAVE the host's nodes take
// turns for the guest's pages, whichever vCPU touches them first. With
// NUMA_QUEUE the guest chooses: see numa_queue.h.
//
// It has so little of a PC because whatever it emulated would cause exits of
// its own: KVM's interrupt controllers and timer, half a serial port, and a
// keyboard controller that can only reset, which ends us. Exits 0 then, 1 if
// the guest or KVM gives up.

#define _GNU_SOURCE // CPU_SET, pthread_setname_np
#define VMM
#include "balloon.h"
#include "firmware.h"
#include "hole.h"
#include "node_of.h"
#include "numa_queue.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// ACPI has a byte for a CPU's number; more than a few would only take turns
// here.
static const int max_cpus = 64;

enum {
  // KVM needs four pages that no guest memory covers; below its own APICs.
  TSS = 0xfffbd000,
  SERIAL = 0x3f8,
  SERIAL_IRQ = 4,
  MARK = 0xf4,
  HOLE = 0xf5,
  KEYBOARD = 0x64,
  KEYBOARD_RESET = 0xfe,
  HUGE_PAGE = 2 << 20,
};

static int kvm, vm, cpus;
static char **files;
// One line at a time on stdout, and one vCPU at a time in the serial port.
static pthread_mutex_t devices = PTHREAD_MUTEX_INITIALIZER;

static void set_cpuid(int cpu, int number) {
  enum { ROOM = 128 }; // KVM has about 30
  struct kvm_cpuid2 *id = calloc(1, sizeof *id + ROOM * sizeof *id->entries);
  if (!id)
    err(1, "CPUID");
  id->nent = ROOM;
  must(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, id), "KVM_GET_SUPPORTED_CPUID");
  for (unsigned i = 0; i < id->nent; ++i) {
    struct kvm_cpuid_entry2 *e = &id->entries[i];
    if (e->function == 1) {
      // One core a package: no topology to agree on. Bit 24: KVM has the
      // deadline timer, but leaves it to us to say so; bit 31: this is a
      // virtual machine.
      e->ebx = (e->ebx & 0xff00) | (uint32_t)number << 24 | 1 << 16;
      e->ecx |= 1u << 24 | 1u << 31;
      e->edx &= ~(1u << 28);
    } else if (e->function == 0x40000001 && numa_queue.is_on) {
      e->eax |= 1u << FEATURE_NUMA_QUEUE;
    } else if (e->function == 0xb) {
      e->edx = (uint32_t)number;
    } else if (e->function == 0x80000008) {
      e->ecx = 0;
    }
  }
  must(ioctl(cpu, KVM_SET_CPUID2, id), "KVM_SET_CPUID2");
  free(id);
}

static void set_entry(int cpu) {
  struct kvm_sregs s;
  must(ioctl(cpu, KVM_GET_SREGS, &s), "KVM_GET_SREGS");
  struct kvm_segment flat = {.limit = 0xffffffff,
                             .selector = 0x18,
                             .type = 3,
                             .present = 1,
                             .db = 1,
                             .s = 1,
                             .g = 1};
  s.ds = s.es = s.fs = s.gs = s.ss = flat;
  flat.selector = 0x10, flat.type = 11;
  s.cs = flat;
  s.cr0 |= 1; // protected, not paged
  must(ioctl(cpu, KVM_SET_SREGS, &s), "KVM_SET_SREGS");
  struct kvm_regs r = {.rip = KERNEL, .rsi = ZERO_PAGE, .rflags = 2};
  must(ioctl(cpu, KVM_SET_REGS, &r), "KVM_SET_REGS");
}

static void write_all(const char *text, size_t size) {
  while (size) {
    ssize_t done = must(write(1, text, size), "stdout");
    text += done, size -= (size_t)done;
  }
}

static void count(const char *path, const char *value) {
  char text[256];
  const char *slash = strrchr(path, '/');
  int used = snprintf(text, sizeof text, "{ counter: %s } hitcount: %llu\n",
                      slash ? slash + 1 : path, strtoull(value, 0, 10));
  write_all(text, (size_t)used);
}

static int is_numa_maps(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && strcmp(slash, "/numa_maps") == 0;
}

static void count_nodes(char *line) {
  // Words such as N0=12, in pages.
  if (strtoull(line, 0, 16) != (uintptr_t)ram)
    return;
  for (char *word = strtok(line, " \n"); word; word = strtok(0, " \n")) {
    char *value = strchr(word, '=');
    if (*word != 'N' || !isdigit((unsigned char)word[1]) || !value)
      continue;
    *value = 0;
    count(word, value + 1);
  }
}

static void mark(unsigned number) {
  static char text[1 << 16];
  int used = snprintf(text, sizeof text, "{\"mark\": %u}\n", number);
  write_all(text, (size_t)used);
  for (char **name = files; *name; ++name) {
    FILE *file = fopen(*name, "r");
    if (!file)
      err(1, "%s", *name);
    while (fgets(text, sizeof text, file))
      if (is_numa_maps(*name))
        count_nodes(text);
      else if (*text == '{')
        write_all(text, strlen(text));
      else if (isdigit((unsigned char)*text))
        count(*name, text);
    fclose(file);
  }
}

static void interrupt(uint32_t number) {
  for (uint32_t level = 2; level--;) {
    struct kvm_irq_level irq = {.irq = number, .level = level};
    must(ioctl(vm, KVM_IRQ_LINE, &irq), "KVM_IRQ_LINE");
  }
}

// The half of a 16550A that Linux writes to: always ready, with the interrupt
// that says so, which Linux waits for, once for all that fits the FIFO.
static void serial(struct kvm_run *run, uint8_t *data) {
  static uint8_t enabled, fifo, line_control, scratch, modem_control;
  static int pending;
  unsigned port = run->io.port - SERIAL;
  if (run->io.direction == KVM_EXIT_IO_IN) {
    *data = 0;
    switch (port) {
    case 1:
      *data = enabled;
      break;
    case 2:
      *data = (fifo ? 0xc0 : 0) | (pending ? 2 : 1);
      pending = 0;
      break;
    case 3:
      *data = line_control;
      break;
    case 4:
      *data = modem_control;
      break;
    case 5: // nothing left to send
      *data = 0x60;
      break;
    case 6: // somebody listens
      *data = 0xb0;
      break;
    case 7:
      *data = scratch;
      break;
    }
    return;
  }
  switch (port) {
  case 0:
    if (line_control & 0x80) // the divisor
      return;
    write_all((char *)data, 1);
    break;
  case 1:
    if (line_control & 0x80)
      return;
    enabled = *data & 0xf;
    break;
  case 2:
    fifo = *data & 1;
    return;
  case 3:
    line_control = *data;
    return;
  case 4:
    modem_control = *data;
    return;
  case 7:
    scratch = *data;
    return;
  default:
    return;
  }
  if (!(enabled & 2))
    return;
  pending = 1;
  interrupt(SERIAL_IRQ);
}

static uint8_t *page_of(const uint8_t *data) {
  uint32_t frame;
  memcpy(&frame, data, sizeof frame);
  uint64_t at = (uint64_t)frame * HOLE_SIZE;
  if (at >= ram_size)
    errx(1, "the guest has no page frame %u", frame);
  return ram + at;
}

static void io(struct kvm_run *run) {
  static uint32_t node;
  uint8_t *data = (uint8_t *)run + run->io.data_offset;
  int out = run->io.direction == KVM_EXIT_IO_OUT;
  for (unsigned i = 0; i < run->io.count; ++i, data += run->io.size) {
    if (run->io.port >= SERIAL && run->io.port < SERIAL + 8)
      serial(run, data);
    else if (out && run->io.port == MARK)
      mark(*data);
    else if (out && run->io.port == HOLE && run->io.size == 4)
      make_hole(page_of(data));
    else if (run->io.port == NODE_OF && run->io.size == sizeof node && out)
      node = node_of(page_of(data));
    else if (run->io.port == NODE_OF && run->io.size == sizeof node)
      memcpy(data, &node, sizeof node);
    else if (out && run->io.port == KEYBOARD && *data == KEYBOARD_RESET)
      exit(0);
    else if (!out) // a keyboard controller that takes commands, or nothing
      memset(data, run->io.port == KEYBOARD ? 0 : 0xff, run->io.size);
  }
}

static void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  must(sched_setaffinity(0, sizeof set, &set), "a CPU for each vCPU");
}

struct vcpu {
  int file, number;
};

static void *run_cpu(void *argument) {
  const struct vcpu *vcpu = argument;
  int cpu = vcpu->file;
  char name[16]; // to be found in traces of scheduling
  snprintf(name, sizeof name, "vcpu%d", vcpu->number % 1000);
  pthread_setname_np(pthread_self(), name);
  for (char **name = files; *name; ++name)
    if (is_numa_maps(*name))
      stay_on(vcpu->number);
  size_t size = (size_t)must(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
                             "KVM_GET_VCPU_MMAP_SIZE");
  struct kvm_run *run =
      mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
  if (run == MAP_FAILED)
    err(1, "mmap of a vCPU");
  for (;;) {
    if (ioctl(cpu, KVM_RUN, 0)) {
      // EAGAIN: a CPU that the guest has not started yet was woken to be.
      if (errno != EINTR && errno != EAGAIN)
        err(1, "KVM_RUN");
      continue;
    }
    switch (run->exit_reason) {
    case KVM_EXIT_IO:
      pthread_mutex_lock(&devices);
      io(run);
      pthread_mutex_unlock(&devices);
      break;
    case KVM_EXIT_MMIO:
      pthread_mutex_lock(&devices);
      if (balloon_mmio(run))
        interrupt(BALLOON_IRQ);
      pthread_mutex_unlock(&devices);
      break;
    case KVM_EXIT_HYPERCALL: // The only one that was asked for.
      numa_queue_policy(run);
      break;
    case KVM_EXIT_INTR:
      break;
    case KVM_EXIT_SHUTDOWN:
      errx(1, "the guest crashed (triple fault)");
    default:
      errx(1, "the guest stopped: KVM exit reason %u", run->exit_reason);
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 6)
    errx(2, "usage: vmm CPUS MEGABYTES KERNEL INITRD COMMAND-LINE [FILE...]");
  cpus = atoi(argv[1]);
  ram_size = strtoull(argv[2], 0, 10) << 20;
  files = argv + 6;
  if (cpus < 1 || cpus > max_cpus)
    errx(2, "1 to %d CPUs, not %s", max_cpus, argv[1]);
  if (ram_size < 64 << 20 || ram_size > UINT64_C(3) << 30)
    errx(2, "64 to 3072 megabytes, not %s", argv[2]);
  if (strlen(argv[5]) > 2047)
    errx(2, "the command line is longer than Linux reads");

  kvm = (int)must(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
  vm = (int)must(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
  must(ioctl(vm, KVM_SET_TSS_ADDR, TSS), "KVM_SET_TSS_ADDR");
  must(ioctl(vm, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
  struct kvm_pit_config pit = {0};
  must(ioctl(vm, KVM_CREATE_PIT2, &pit), "KVM_CREATE_PIT2");
  // Huge pages of ours are then whole ones of the guest's, as with any VMM:
  // else who touches one of these gives a part of the next to its node, too.
  uint8_t *room = mmap(0, ram_size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    err(1, "the guest's memory");
  ram = (uint8_t *)(((uintptr_t)room + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE);
  // Not merged with its neighbours: numa_maps has a line for it.
  must(madvise(ram, ram_size, MADV_DONTFORK), "the guest's memory");
  unsigned long nodes = 3;
  if (getenv("INTERLEAVE"))
    must((int)syscall(SYS_mbind, ram, ram_size, MPOL_INTERLEAVE, &nodes,
                      8 * sizeof nodes, 0),
         "the guest's memory on two nodes");
  struct kvm_userspace_memory_region region = {
      .memory_size = ram_size, .userspace_addr = (uintptr_t)ram};
  must(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region),
       "KVM_SET_USER_MEMORY_REGION");
  load_linux(argv[3], argv[4], argv[5]);
  if (getenv("BALLOON")) {
    balloon.ram = ram;
    balloon.size = ram_size;
  }
  write_acpi(cpus);
  if (getenv("NUMA_QUEUE") && !numa_queue_offer(vm, ram, ram_size))
    errx(1, "this kernel lets no guest release pages");

  struct vcpu cpu[max_cpus];
  for (int i = 0; i < cpus; ++i) {
    cpu[i].number = i;
    cpu[i].file = (int)must(ioctl(vm, KVM_CREATE_VCPU, i), "KVM_CREATE_VCPU");
    set_cpuid(cpu[i].file, i);
  }
  set_entry(cpu[0].file);
  for (int i = 1; i < cpus; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, 0, run_cpu, &cpu[i]))
      errx(1, "no thread for a vCPU");
  }
  run_cpu(&cpu[0]);
}
