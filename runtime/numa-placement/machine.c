/*===- numa-placement/machine.c - NUMA nodes of the machine ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Everything here is determined at the first use. Concurrent threads or a
 * signal handler each determine the same values, so no thread waits.
 *===----------------------------------------------------------------------===*/

#include "numa-placement/machine.h"
#include "hypervisor.h"
#include "platform/linux/privilege.h"
#include "vfriendly/numa.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the start of the brk heap in /proc/self/stat (proc(5)), counted from
 * field 3, which follows the closing parenthesis of the name. */
enum { FIELD_START_BRK = 47, FIRST_FIELD = 3 };
#define MAX_CPUS 8192 /* Linux's limit on x86-64 */

/* Reads as much of a file as fits, as a string; empty if it cannot be read. */
static void read_file(const char *path, char *text, size_t room) {
  int saved = errno;
  size_t length = 0;
  int file = vf_is_privileged() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t got;
    while (length < room - 1 &&
           (got = read(file, text + length, room - 1 - length)) > 0)
      length += (size_t)got;
    close(file);
  }
  text[length] = '\0';
  errno = saved;
}

static uintptr_t heap_begin(void) {
  char text[1024];
  read_file("/proc/self/stat", text, sizeof text);
  char *at = strrchr(text, ')');
  for (int field = FIRST_FIELD - 1; at && field < FIELD_START_BRK; ++field)
    at = strchr(at + 1, ' ');
  return at ? (uintptr_t)strtoull(at, NULL, 10) : 0;
}

static bool has_firmware_nodes(void) {
  int saved = errno;
  bool has = access("/sys/firmware/acpi/tables/SRAT", F_OK) == 0 ||
             access("/proc/device-tree/distance-map", F_OK) == 0;
  errno = saved;
  return has;
}

unsigned vf_numa_nodes_here(struct vf_nodes *allowed) {
  unsigned nodes = 0;
  *allowed = (struct vf_nodes){{0}};
  if (vf_allowed_nodes(allowed) == 0)
    for (size_t i = 0; i < sizeof *allowed / sizeof(long); ++i)
      nodes += (unsigned)__builtin_popcountl(allowed->words[i]);
  return nodes > 0 ? nodes : 1;
}

struct vf_machine vf_numa_machine_here(void) {
  static struct vf_machine known;
  static int state; /* State of `known`: 0 not read yet, 1 being written by a
                       thread, 2 valid. */
  if (__builtin_expect(__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2, 1))
    return known;
  struct vf_machine found = {.nodes = 0};
  found.nodes = vf_numa_nodes_here(&found.allowed);
  found.page = (size_t)sysconf(_SC_PAGESIZE);
  found.is_virtual = vf_is_virtual();
  if (found.nodes > 1)
    found.heap = heap_begin();
  else
    found.opaque = found.is_virtual == 1 && !has_firmware_nodes();
  int unknown = 0;
  if (__atomic_compare_exchange_n(&state, &unknown, 1, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
    known = found;
    __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
  }
  return found;
}

static int16_t cpu_node[MAX_CPUS]; /* node of a CPU, plus 1; 0 if unknown */

/* Records the node of the CPUs in a list such as "0-5,12-17". */
static void note_cpus(const char *list, int node) {
  while (*list >= '0' && *list <= '9') {
    char *end;
    unsigned long first = strtoul(list, &end, 10), last = first;
    if (*end == '-')
      last = strtoul(end + 1, &end, 10);
    for (; first <= last && first < MAX_CPUS; ++first)
      __atomic_store_n(&cpu_node[first], (int16_t)(node + 1), __ATOMIC_RELAXED);
    list = *end == ',' ? end + 1 : end;
  }
}

int vf_node_of_cpu(unsigned cpu) {
  static int ready;
  if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
    struct vf_machine machine = vf_numa_machine_here();
    for (unsigned node = 0; node < VF_MAX_NODES; ++node) {
      char path[64], list[4096];
      if (!vf_has_node(&machine.allowed, node))
        continue;
      snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist",
               node);
      read_file(path, list, sizeof list);
      note_cpus(list, (int)node);
    }
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  }
  return cpu < MAX_CPUS ? __atomic_load_n(&cpu_node[cpu], __ATOMIC_RELAXED) - 1
                        : -1;
}

struct vf_pages vf_whole_pages(const struct vf_machine *machine, void *memory,
                               size_t size) {
  uintptr_t mask = machine->page - 1, begin = (uintptr_t)memory, end;
  struct vf_pages none = {memory, 0};
  if (__builtin_add_overflow(begin, size, &end) || begin > UINTPTR_MAX - mask)
    return none;
  begin = (begin + mask) & ~mask;
  end &= ~mask;
  return begin < end ? (struct vf_pages){(char *)begin, end - begin} : none;
}
