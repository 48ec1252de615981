/*===- spin-unmodified/sample/main.c - Which threads of a process wait ----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   vf-spins [--ms MS] PID...
 *
 * Interrupts the threads of running processes by perf, once in a millisecond of
 * their time in user mode, and judges by prove.h whether they wait. Prints a
 * JSON object: the samples by verdict, those in loops that yield, the
 * instructions at which most of the waits were seen, and why others are none.
 * Nothing of the processes changes; they may be static, written in Go, or
 * compiled just in time.
 *
 * Exit status 0; 2 after a wrong usage; 3 if the kernel does not allow it, with
 * a line that says what to allow.
 *===----------------------------------------------------------------------===*/

#include "platform/linux/kernel.h"
#include "spin-unmodified/prove.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define PERIOD_NS 1000000u
#define THREADS_MAX 64
/* Of each thread's ring: 16 samples of 160 bytes. */
#define RING_SIZE 4096u
#define PLACES 256
#define REASONS 16

/* perf's order of the registers; -1: not one of vf_registers. */
static const signed char order[24] = {0,  3,  1,  2,  6,  7,  5,  4,
                                      -1, -1, -1, -1, -1, -1, -1, -1,
                                      8,  9,  10, 11, 12, 13, 14, 15};
enum { PERF_IP = 8, PERF_FLAGS = 9 };
#define PERF_REGISTERS UINT64_C(0xff03ff)

struct sampled {
  int file;
  struct perf_event_mmap_page *page;
  struct vf_memory memory;
};

static struct sampled threads[THREADS_MAX];
static unsigned n_threads;
static struct vf_decoded decoded;
static uint64_t verdicts[VF_VERDICTS], yields;
static struct {
  uint64_t address, n;
} places[PLACES];

/* Why nothing was proved. The texts are constants of the emulator. */
static struct {
  const char *why;
  uint64_t n, where;
} reasons[REASONS];

static void count_reason(const struct vf_wait *wait) {
  for (unsigned i = 0; i != REASONS; ++i)
    if (!reasons[i].n || strcmp(reasons[i].why, wait->why) == 0) {
      reasons[i].why = wait->why;
      reasons[i].where = wait->where;
      ++reasons[i].n;
      return;
    }
}

static void count_place(uint64_t address) {
  for (unsigned i = 0; i != PLACES; ++i)
    if (places[i].n == 0 || places[i].address == address) {
      places[i].address = address;
      ++places[i].n;
      return;
    }
}

/* A sample: the ABI of the registers, then those of the mask in order. */
static void judge(const struct sampled *thread, const uint64_t *sample) {
  struct vf_registers at = {.flags = 0};
  if (sample[0] != PERF_SAMPLE_REGS_ABI_64)
    return;
  const uint64_t *value = sample + 1;
  for (int i = 0; i != 24; ++i) {
    if (!(PERF_REGISTERS >> i & 1))
      continue;
    if (i == PERF_IP)
      at.ip = *value;
    else if (i == PERF_FLAGS)
      at.flags = *value;
    else
      at.reg[order[i]] = *value;
    ++value;
  }
  struct vf_wait wait;
  enum vf_verdict verdict = vf_prove(&at, &thread->memory, &decoded, &wait);
  ++verdicts[verdict];
  if (verdict == VF_COMPUTES) {
    count_reason(&wait);
    return;
  }
  yields += wait.yields;
  count_place(at.ip);
}

static void drain(struct sampled *thread) {
  char *data = (char *)thread->page + RING_SIZE;
  uint64_t head = __atomic_load_n(&thread->page->data_head, __ATOMIC_ACQUIRE),
           tail = thread->page->data_tail;
  while (tail < head) {
    uint64_t record[32] = {0};
    struct perf_event_header header;
    for (unsigned i = 0; i != sizeof header; ++i)
      ((char *)&header)[i] = data[(tail + i) % RING_SIZE];
    for (unsigned i = 0; i != header.size && i != sizeof record; ++i)
      ((char *)record)[i] = data[(tail + i) % RING_SIZE];
    tail += header.size;
    /* Later samples of a thread that still waits are the same. */
    if (header.type == PERF_RECORD_SAMPLE && tail == head)
      judge(thread, record + 1);
  }
  __atomic_store_n(&thread->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* Where the kernel's data for clocks are in a process, some mappings in a row.
 * Returns their size, 0 if there are none. */
static uint64_t find_clock(int process, uint64_t *begin) {
  char path[64], line[512];
  uint64_t size = 0, from, to;
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  FILE *maps = fopen(path, "re");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "[vvar") &&
        sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2) {
      *begin = size ? *begin : from;
      size = to - *begin;
    }
  if (maps)
    fclose(maps);
  return size;
}

static struct vf_memory memory_of(int process) {
  static int ends[2] = {-1, -1};
  struct vf_memory memory = {.process = process, .access = VF_MEMORY_COPIED};
  struct vf_clock_pages *clock = &memory.clock;
  uint64_t size = find_clock(process, &clock->there);
  if (ends[0] < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return memory;
  clock->ends[0] = ends[0];
  clock->ends[1] = ends[1];
  /* Another layout is another kind of program, as one of 32 bits. */
  if (find_clock(getpid(), &clock->here) == size)
    clock->size = size;
  return memory;
}

/* Returns 0 or an errno value. */
static int sample_thread(const struct vf_memory *memory, int thread) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_SOFTWARE,
      .size = sizeof attributes,
      .config = PERF_COUNT_SW_TASK_CLOCK,
      .sample_period = PERIOD_NS,
      .sample_type = PERF_SAMPLE_REGS_USER,
      .sample_regs_user = PERF_REGISTERS,
      .exclude_kernel = 1,
      .exclude_hv = 1,
      .wakeup_events = 1,
  };
  int file = (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1,
                          PERF_FLAG_FD_CLOEXEC);
  if (file < 0)
    return errno;
  void *page =
      mmap(NULL, 2 * RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) {
    int error = errno;
    close(file);
    return error;
  }
  threads[n_threads++] = (struct sampled){file, page, *memory};
  return 0;
}

/* Returns 0 or an errno value. */
static int sample_process(int process) {
  char path[64];
  int error = ESRCH;
  struct vf_memory memory = memory_of(process);
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR *tasks = opendir(path);
  if (!tasks)
    return errno;
  for (struct dirent *entry;
       n_threads != THREADS_MAX && (entry = readdir(tasks));)
    if (*entry->d_name != '.') {
      int failed = sample_thread(&memory, atoi(entry->d_name));
      error = failed && failed != ESRCH ? failed : error == ESRCH ? 0 : error;
    }
  closedir(tasks);
  return error;
}

static void watch(uint64_t ms) {
  struct pollfd files[THREADS_MAX];
  for (unsigned i = 0; i != n_threads; ++i)
    files[i] = (struct pollfd){.fd = threads[i].file, .events = POLLIN};
  uint64_t end = vf_now_ns() + ms * 1000000, now;
  while ((now = vf_now_ns()) < end) {
    if (poll(files, n_threads, (int)((end - now) / 1000000) + 1) <= 0)
      continue;
    for (unsigned i = 0; i != n_threads; ++i) {
      if (files[i].revents & POLLIN)
        drain(&threads[i]);
      if (files[i].revents & (POLLHUP | POLLERR))
        files[i].fd = -1;
    }
  }
}

static int by_number(const void *a, const void *b) {
  uint64_t x = ((const uint64_t *)a)[1], y = ((const uint64_t *)b)[1];
  return x < y ? 1 : x > y ? -1 : 0;
}

static void print(void) {
  uint64_t samples = 0;
  for (unsigned i = 0; i != VF_VERDICTS; ++i)
    samples += verdicts[i];
  printf("{\"threads\": %u, \"samples\": %" PRIu64 ", \"waits\": %" PRIu64,
         n_threads, samples, samples - verdicts[VF_COMPUTES]);
  for (unsigned i = 0; i != VF_VERDICTS; ++i)
    printf(", \"%s\": %" PRIu64, vf_verdict_name((enum vf_verdict)i),
           verdicts[i]);
  printf(", \"yields\": %" PRIu64 ", \"places\": [", yields);
  qsort(places, PLACES, sizeof *places, by_number);
  for (unsigned i = 0; i != 8 && places[i].n; ++i)
    printf("%s{\"address\": %" PRIu64 ", \"samples\": %" PRIu64 "}",
           i ? ", " : "", places[i].address, places[i].n);
  printf("], \"reasons\": [");
  for (unsigned i = 0; i != REASONS && reasons[i].n; ++i)
    printf("%s{\"why\": \"%s\", \"samples\": %" PRIu64 ", \"address\": %" PRIu64
           "}",
           i ? ", " : "", reasons[i].why, reasons[i].n, reasons[i].where);
  puts("]}");
}

static int fail(int process, int error) {
  if (error == EACCES || error == EPERM)
    fprintf(stderr,
            "vf-spins: process %d may not be sampled: run as root, or as its "
            "user with kernel.perf_event_paranoid of 2 or less\n",
            process);
  else
    fprintf(stderr, "vf-spins: process %d: %s\n", process, strerror(error));
  return 3;
}

int main(int argc, char **argv) {
  uint64_t ms = 200;
  int at = 1;
  char *end;
  if (argc > 2 && strcmp(argv[1], "--ms") == 0) {
    ms = strtoul(argv[2], &end, 10);
    at = *end || ms == 0 || ms > 60000 ? argc : 3;
  }
  if (at >= argc) {
    fputs("usage: vf-spins [--ms MS] PID...    (1 to 60000 ms, default 200)\n",
          stderr);
    return 2;
  }
  if (vf_decoder_start() != 0)
    return fail(0, ENOMEM);
  for (; at < argc; ++at) {
    int process = (int)strtol(argv[at], &end, 10);
    if (*end || process <= 0) {
      fprintf(stderr, "vf-spins: %s is no process id\n", argv[at]);
      return 2;
    }
    int error = sample_process(process);
    if (error)
      return fail(process, error);
  }
  watch(ms);
  print();
  return 0;
}
