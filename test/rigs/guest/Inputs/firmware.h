// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guest's memory, and what a PC's firmware and boot loader leave in it:
// Linux, its initramfs and command line, and ACPI's tables. See vmm.c.

#pragma once

#include "balloon.h"

#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  // Where the kernel looks for, or may be told to find, things below 640 KiB.
  ZERO_PAGE = 0x7000,
  COMMAND_LINE = 0x20000,
  LOW_END = 0xa0000,
  ACPI = 0xe0000,
  // The boot protocol's place of the 32-bit entry.
  KERNEL = 0x100000,
};

static uint8_t *ram;
static uint64_t ram_size;

static long must(long result, const char *what) {
  if (result < 0)
    err(1, "%s", what);
  return result;
}

static void put32(uint64_t at, uint32_t value) { memcpy(ram + at, &value, 4); }

static uint64_t load(const char *path, uint64_t at, uint64_t skip) {
  int file = (int)must(open(path, O_RDONLY), path);
  struct stat about;
  must(fstat(file, &about), path);
  uint64_t size = (uint64_t)about.st_size - skip;
  if (skip > (uint64_t)about.st_size || at + size > ram_size)
    errx(1, "%s does not fit into the guest's memory", path);
  for (uint64_t done = 0; done < size;) {
    ssize_t got = must(
        pread(file, ram + at + done, size - done, (off_t)(skip + done)), path);
    if (got == 0)
      errx(1, "%s became shorter", path);
    done += (uint64_t)got;
  }
  close(file);
  return size;
}

// Documentation/x86/boot.rst, "32-bit boot protocol".
static void load_linux(const char *kernel, const char *initrd,
                       const char *line) {
  uint8_t head[0x202 + 0xff]; // the longest that head[0x201] can say
  int file = (int)must(open(kernel, O_RDONLY), kernel);
  if (pread(file, head, sizeof head, 0) != sizeof head ||
      memcmp(head + 0x202, "HdrS", 4))
    errx(1, "%s is no bzImage", kernel);
  close(file);
  uint64_t sectors = head[0x1f1] ? head[0x1f1] : 4;
  load(kernel, KERNEL, (sectors + 1) * 512);

  struct stat about;
  must(stat(initrd, &about), initrd);
  if ((uint64_t)about.st_size + KERNEL > ram_size)
    errx(1, "%s does not fit into the guest's memory", initrd);
  uint64_t initrd_at = (ram_size - (uint64_t)about.st_size) & ~UINT64_C(4095);
  uint64_t initrd_size = load(initrd, initrd_at, 0);
  strcpy((char *)ram + COMMAND_LINE, line);

  memcpy(ram + ZERO_PAGE + 0x1f1, head + 0x1f1, 0x202 + head[0x201] - 0x1f1);
  // type_of_loader: none of those that have a number.
  ram[ZERO_PAGE + 0x210] = 0xff;
  put32(ZERO_PAGE + 0x218, (uint32_t)initrd_at);
  put32(ZERO_PAGE + 0x21c, (uint32_t)initrd_size);
  put32(ZERO_PAGE + 0x228, COMMAND_LINE);
  struct {
    uint64_t start, size;
    uint32_t type;
  } __attribute__((packed)) map[] = {
      {0, LOW_END, 1},
      {KERNEL, ram_size - KERNEL, 1},
  };
  memcpy(ram + ZERO_PAGE + 0x2d0, map, sizeof map);
  ram[ZERO_PAGE + 0x1e8] = sizeof map / sizeof *map;
}

static void put(uint64_t at, const void *from, unsigned size) {
  memcpy(ram + at, from, size);
}

static void checksum(uint64_t table, unsigned size, unsigned at) {
  uint8_t sum = 0;
  for (unsigned i = 0; i < size; ++i)
    sum += ram[table + i];
  ram[table + at] = (uint8_t)-sum;
}

static void acpi_header(uint64_t table, const char *name, unsigned size,
                        uint8_t revision) {
  put(table, name, 4);
  put32(table + 4, size);
  ram[table + 8] = revision;
  put(table + 10, "VFRNDLVFRGUEST", 14);
  checksum(table, size, 9);
}

// The ACPI that makes Linux use all CPUs and not look for a clock, a keyboard
// and a screen, which takes it ten seconds when emulated. Debian's cloud kernel
// cannot read the older MP tables.
static void write_acpi(int cpus) {
  enum {
    RSDP = ACPI,
    XSDT = ACPI + 0x40,
    FADT = ACPI + 0x100,
    DSDT = ACPI + 0x200,
    MADT = ACPI + 0x300,
    PM1_EVENT = 0x600, // nothing is there; all bits set means that ACPI is on
    PM1_CONTROL = 0x604,
  };
  put(RSDP, "RSD PTR \0VFRNDL\2", 16);
  put32(RSDP + 20, 36);
  put32(RSDP + 24, XSDT);
  checksum(RSDP, 20, 8);
  checksum(RSDP, 36, 32);
  put32(XSDT + 36, FADT);
  put32(XSDT + 44, MADT);
  acpi_header(XSDT, "XSDT", 52, 1);

  put32(FADT + 40, DSDT);
  ram[FADT + 46] = 9; // the interrupt that never comes
  put32(FADT + 56, PM1_EVENT);
  put32(FADT + 64, PM1_CONTROL);
  ram[FADT + 88] = 4;
  ram[FADT + 89] = 2;
  ram[FADT + 109] = 1 << 2 | 1 << 5; // no VGA, no clock; bit 1 off: no keyboard
  put32(FADT + 112,
        1 | 1 << 4 | 1 << 5 | 1 << 6); // WBINVD works; no buttons, no alarm
  acpi_header(FADT, "FACP", 244, 3);
  unsigned devices = 0;
  if (balloon.ram) {
    put(DSDT + 36, balloon_aml, sizeof balloon_aml);
    devices = sizeof balloon_aml;
  }
  acpi_header(DSDT, "DSDT", 36 + devices, 2);

  uint64_t at = MADT + 44;
  put32(MADT + 36, 0xfee00000);
  put32(MADT + 40, 1); // there is a PIC, too
  for (int i = 0; i < cpus; ++i, at += 8)
    put(at, (uint8_t[]){0, 8, (uint8_t)i, (uint8_t)i, 1, 0, 0, 0}, 8);
  put(at, (uint8_t[]){1, 12, 0, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0}, 12);
  acpi_header(MADT, "APIC", (unsigned)(at + 12 - MADT), 3);
  put32(ZERO_PAGE + 0x70, RSDP);
}
