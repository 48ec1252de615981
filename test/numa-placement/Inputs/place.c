/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * place MEGABYTES: each policy of vfriendly/numa.h on memory that one thread
 * writes and a bound OpenMP team uses, a line of JSON each. */

#include "pages.h"
#include "vfriendly/numa.h"
#include <errno.h>
#include <linux/mempolicy.h>
#include <omp.h>
#include <string.h>

static size_t size;

static char pattern(size_t i) { return (char)(i * 31 + i / PAGE); }

static void serial_write(char *memory) {
  for (size_t i = 0; i < size; i += 64)
    memory[i] = pattern(i);
}

static void must(int error, const char *what) {
  if (error) {
    printf("%s: %s\n", what, strerror(error));
    exit(1);
  }
}

static unsigned here(void) {
  unsigned cpu, node = 0;
  syscall(SYS_getcpu, &cpu, &node, NULL);
  return node;
}

/* Uses all of it as schedule(static) does: the share of pages on the user's
 * node. Contents are as written. */
static double use(const char *memory) {
  long own = 0, all = (long)(size / PAGE);
#pragma omp parallel for schedule(static) reduction(+ : own)
  for (long page = 0; page < all; ++page) {
    size_t i = (size_t)page * PAGE;
    if (memory[i] != pattern(i) || memory[i + 64] != pattern(i + 64))
      abort();
    own += node_of(&memory[i]) == (int)here();
  }
  return (double)own / (double)all;
}

static void shown(const char *name, char *memory) {
  double own = use(memory);
  print_spread(name, memory, size, own);
  munmap(memory, size);
}

static void placed(const char *name, int policy) {
  char *memory = map_apart(size);
  must(vf_numa_place(memory, size, policy), name);
  serial_write(memory);
  shown(name, memory);
}

static void claimed(const char *name, int how) {
  char *memory = map_apart(size);
  if (how == VF_NUMA_NOW)
    serial_write(memory);
#pragma omp parallel
  {
    size_t threads = (size_t)omp_get_num_threads();
    size_t slice = size / PAGE / threads * PAGE;
    size_t begin = slice * (size_t)omp_get_thread_num();
    must(vf_numa_claim(memory + begin, slice, how), name);
  }
  if (how == VF_NUMA_NEXT_TOUCH)
    serial_write(memory);
  shown(name, memory);
}

static void replicated(void) {
  char *memory = map_apart(size);
  serial_write(memory);
  vf_numa_copies *copies;
  must(vf_numa_replicate(memory, size, &copies), "replicate");
  long own = 0, all = 0;
#pragma omp parallel reduction(+ : own, all)
  {
    const char *mine = vf_numa_nearest(copies);
    for (size_t i = 0; i < size; i += PAGE, ++all) {
      if (mine[i] != pattern(i) || mine[i + 64] != pattern(i + 64))
        abort();
      own += node_of(&mine[i]) == (int)here();
    }
  }
  print_spread("replicate", memory, size, (double)own / (double)all);
  vf_numa_release(copies);
  munmap(memory, size);
}

/* As another process would have it: numactl --interleave, and of one range the
 * opposite. */
static void first_touch_in_interleaved(void) {
  unsigned long all = 3;
  if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &all, 64ul))
    perror("set_mempolicy");
  placed("ft", VF_NUMA_FT);
  syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul);
}

/* Where the process has no policy, the kernel goes on to sample the accesses. */
static void first_touch_is_sampled(void) {
  char *memory = map_apart(size);
  int mode = -1;
  must(vf_numa_place(memory, size, VF_NUMA_FT), "ft");
  if (syscall(SYS_get_mempolicy, &mode, NULL, 0ul, memory,
              (unsigned long)MPOL_F_ADDR) ||
      mode != MPOL_DEFAULT) {
    printf("policy %d of memory placed by first touch\n", mode);
    exit(1);
  }
  munmap(memory, size);
}

int main(int argc, char **argv) {
  size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 8) << 20;
  struct vf_numa_machine machine;
  must(vf_numa_info(&machine), "info");
  printf("{\"nodes\": %u, \"virtual\": %d, \"opaque\": %d, \"threads\": %d}\n",
         machine.nodes, machine.is_virtual, machine.opaque,
         omp_get_max_threads());
  char *serial = map_apart(size);
  serial_write(serial);
  shown("serial", serial);
  first_touch_in_interleaved();
  first_touch_is_sampled();
  placed("r4k", VF_NUMA_R4K);
  placed("weighted", VF_NUMA_WEIGHTED);
  placed("blocks", VF_NUMA_BLOCKS);
  claimed("claim next touch", VF_NUMA_NEXT_TOUCH);
  claimed("claim now", VF_NUMA_NOW);
  replicated();
  return 0;
}
