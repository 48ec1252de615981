// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A virtio balloon that only takes reports of free pages (virtio 1.2, sections
// 4.2.2, 5.5 and 5.5.6.7): what the guest reports is given back to the host, as
// QEMU does with free-page-reporting=on. ACPI names the device, see firmware.h.

#pragma once

#include <err.h>
#include <linux/kvm.h>
#include <linux/virtio_balloon.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_mmio.h>
#include <linux/virtio_ring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
  BALLOON = 0xd0000000, // above all of the guest's memory
  BALLOON_SIZE = 0x200,
  BALLOON_IRQ = 5,
  // Linux numbers only the queues that it uses: inflate, deflate, reporting.
  BALLOON_QUEUES = 3,
  BALLOON_REPORTING = 2,
  BALLOON_ROOM = 64,
};

// Scope(\_SB) { Device(VB00) { _HID "LNRO0005", _UID 0, _CRS { Memory32Fixed
// at BALLOON, Interrupt (edge, active high) BALLOON_IRQ } } }
static const char balloon_aml[] = "\x10\x43\x04\\_SB_"
                                  "\x5b\x82\x3a"
                                  "VB00"
                                  "\x08_HID\x0dLNRO0005\0"
                                  "\x08_UID\0"
                                  "\x08_CRS\x11\x1a\x0a\x17"
                                  "\x86\x09\0\1\0\0\0\xd0\0\2\0\0"
                                  "\x89\6\0\3\1\5\0\0\0"
                                  "\x79"; // the last byte is the string's 0

struct balloon_queue {
  uint64_t address[3]; // of descriptors, of what is available, of what is used
  uint32_t size, ready;
  uint16_t seen;
};

static struct {
  uint8_t *ram;
  uint64_t size, features;
  uint32_t status, interrupt, device_half, driver_half, queue;
  struct balloon_queue queues[BALLOON_QUEUES];
} balloon;

static void *balloon_memory(uint64_t at, uint64_t size) {
  if (at > balloon.size || size > balloon.size - at)
    errx(1, "the balloon's driver names memory that the guest does not have");
  return balloon.ram + at;
}

// Returns true if the guest is to be interrupted.
static int balloon_take(struct balloon_queue *q) {
  if (!q->ready || q->size == 0)
    return 0;
  struct vring_desc *table =
      balloon_memory(q->address[0], q->size * sizeof *table);
  struct vring_avail *given = balloon_memory(
      q->address[1], sizeof *given + q->size * sizeof *given->ring);
  struct vring_used *used = balloon_memory(
      q->address[2], sizeof *used + q->size * sizeof *used->ring);
  int some = 0;
  for (; q->seen != __atomic_load_n(&given->idx, __ATOMIC_ACQUIRE); ++q->seen) {
    uint32_t head = given->ring[q->seen % q->size], at = head;
    for (uint32_t n = 0; n < q->size; ++n) {
      struct vring_desc *d = &table[at % q->size];
      if (q == &balloon.queues[BALLOON_REPORTING] &&
          madvise(balloon_memory(d->addr, d->len), d->len, MADV_DONTNEED))
        err(1, "giving back what the guest reports");
      if (!(d->flags & VRING_DESC_F_NEXT))
        break;
      at = d->next;
    }
    used->ring[used->idx % q->size] = (struct vring_used_elem){.id = head};
    __atomic_store_n(&used->idx, used->idx + 1, __ATOMIC_RELEASE);
    some = 1;
  }
  balloon.interrupt |= some ? VIRTIO_MMIO_INT_VRING : 0;
  return some;
}

static uint32_t balloon_read(uint64_t at) {
  static const uint64_t offered =
      UINT64_C(1) << VIRTIO_F_VERSION_1 | 1u << VIRTIO_BALLOON_F_REPORTING;
  switch (at) {
  case VIRTIO_MMIO_MAGIC_VALUE:
    return 'v' | 'i' << 8 | 'r' << 16 | (uint32_t)'t' << 24;
  case VIRTIO_MMIO_VERSION:
    return 2;
  case VIRTIO_MMIO_DEVICE_ID:
    return VIRTIO_ID_BALLOON;
  case VIRTIO_MMIO_DEVICE_FEATURES:
    return (uint32_t)(offered >> (balloon.device_half ? 32 : 0));
  case VIRTIO_MMIO_QUEUE_NUM_MAX:
    return balloon.queue < BALLOON_QUEUES ? BALLOON_ROOM : 0;
  case VIRTIO_MMIO_QUEUE_READY:
    return balloon.queue < BALLOON_QUEUES ? balloon.queues[balloon.queue].ready
                                          : 0;
  case VIRTIO_MMIO_INTERRUPT_STATUS:
    return balloon.interrupt;
  case VIRTIO_MMIO_STATUS:
    return balloon.status;
  default: // the vendor, and a configuration that asks for no pages
    return 0;
  }
}

// Returns true if the guest is to be interrupted.
static int balloon_write(uint64_t at, uint32_t value) {
  struct balloon_queue *q =
      &balloon.queues[balloon.queue < BALLOON_QUEUES ? balloon.queue : 0];
  switch (at) {
  case VIRTIO_MMIO_DEVICE_FEATURES_SEL:
    balloon.device_half = value;
    break;
  case VIRTIO_MMIO_QUEUE_SEL:
    balloon.queue = value;
    break;
  case VIRTIO_MMIO_QUEUE_NUM:
    q->size = value <= BALLOON_ROOM ? value : 0;
    break;
  case VIRTIO_MMIO_QUEUE_READY:
    q->ready = value;
    q->seen = 0;
    break;
  case VIRTIO_MMIO_QUEUE_NOTIFY:
    return value < BALLOON_QUEUES && balloon_take(&balloon.queues[value]);
  case VIRTIO_MMIO_INTERRUPT_ACK:
    balloon.interrupt &= ~value;
    break;
  case VIRTIO_MMIO_STATUS:
    balloon.status = value;
    if (value == 0)
      memset(balloon.queues, 0, sizeof balloon.queues);
    break;
  case VIRTIO_MMIO_QUEUE_DESC_LOW:
  case VIRTIO_MMIO_QUEUE_DESC_HIGH:
  case VIRTIO_MMIO_QUEUE_AVAIL_LOW:
  case VIRTIO_MMIO_QUEUE_AVAIL_HIGH:
  case VIRTIO_MMIO_QUEUE_USED_LOW:
  case VIRTIO_MMIO_QUEUE_USED_HIGH: {
    // Pairs of 32 bits, 16 bytes from ring to ring.
    uint64_t from = at - VIRTIO_MMIO_QUEUE_DESC_LOW, half = from % 16 / 4;
    memcpy((uint8_t *)&q->address[from / 16] + 4 * half, &value, sizeof value);
    break;
  }
  }
  return 0;
}

// An access to memory that the guest does not have. Returns true if the guest
// is to be interrupted.
static int balloon_mmio(struct kvm_run *run) {
  uint64_t at = run->mmio.phys_addr - BALLOON;
  int ours = balloon.ram && run->mmio.phys_addr >= BALLOON && at < BALLOON_SIZE;
  uint32_t value = ~0u;
  if (run->mmio.is_write) {
    memcpy(&value, run->mmio.data, sizeof value);
    return ours && balloon_write(at, value);
  }
  memset(run->mmio.data, 0xff, sizeof run->mmio.data);
  if (ours)
    value = balloon_read(at);
  memcpy(run->mmio.data, &value, sizeof value);
  return 0;
}
