/*===- numa-placement/preload/threads.c - Binding threads to CPUs ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * With VF_NUMA_PIN, each new thread is bound to the next CPU or node. A thread
 * binds itself before it runs the program's function, so that its stack and
 * everything that it touches are placed where it stays. The main thread is not
 * bound, nor are threads that their attributes bind, as GNU's OpenMP does with
 * OMP_PROC_BIND.
 *
 * LLVM's OpenMP binds its threads later, by raw system calls. This library
 * therefore sets OMP_PLACES, which LLVM's OpenMP reads at its first use.
 *===----------------------------------------------------------------------===*/

#include "numa-placement/preload/threads.h"
#include "common/environment.h"
#include "common/process_wide.h"
#include "common/sandbox.h"
#include "common/thread_start.h"
#include "numa-placement/preload/cpus.h"
#include "numa-placement/preload/next.h"
#include "numa-placement/preload/settings.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum pin { PIN_OFF, PIN_CORE, PIN_NODE, PIN_ALL, PIN_LIST };
/* Maximum length of a list of CPUs: enough for each CPU of the largest
 * machines. */
enum { MAX_LISTED = 1024 };

static int pin; /* an enum pin, written once */
static uint16_t listed[MAX_LISTED];
static unsigned listed_count, created;

/* Reads a list such as "0,2-5". Returns false if it is invalid or names a CPU
 * that the process may not use. */
static bool read_list(const char *text) {
  const struct vf_cpu_order *order = vf_cpus_in_node_order();
  for (unsigned count = 0;; ++text) {
    char *end;
    if (*text < '0' || *text > '9')
      return false;
    unsigned long first = strtoul(text, &end, 10), last = first;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
      last = strtoul(end + 1, &end, 10);
    if (first > last || last >= VF_CPUS)
      return false;
    for (; first <= last; ++first) {
      if (!vf_has_cpu(&order->allowed, (unsigned)first) || count == MAX_LISTED)
        return false;
      listed[count++] = (uint16_t)first;
    }
    listed_count = count;
    text = end;
    if (*text == '\0')
      return true;
    if (*text != ',')
      return false;
  }
}

static int read_pin(void) {
  static const char *const words[] = {"off", "core", "node", "all"};
  const char *value = vf_env_get("VF_NUMA_PIN");
  for (int i = PIN_OFF; value && i < PIN_LIST; ++i)
    if (strcmp(value, words[i]) == 0)
      return i;
  if (!value)
    return PIN_OFF;
  if (read_list(value))
    return PIN_LIST;
  vf_env_complain("VF_NUMA_PIN", value,
                  "off, core, node, all or a list of CPUs that this process "
                  "may use, such as 0,2-5",
                  "off");
  return PIN_OFF;
}

/* Appends `before` and the number of the CPU to text, which is `length`
 * characters long. Returns the new length. A result of at least room means that
 * the text did not fit and was cut. */
static size_t add(char *text, size_t length, size_t room, const char *before,
                  unsigned cpu) {
  int n = length < room
              ? snprintf(text + length, room - length, "%s%u", before, cpu)
              : 0;
  return length + (n > 0 ? (size_t)n : 0);
}

/* Writes places such as "{0,1},{2,3}". Returns false if they don't fit. */
static bool write_places(char *text, size_t room) {
  const struct vf_cpu_order *order = vf_cpus_in_node_order();
  size_t length = 0;
  unsigned count = pin == PIN_LIST ? listed_count : order->count;
  for (unsigned i = 0; i < count; ++i) {
    bool begins =
        pin == PIN_LIST || i == 0 || order->group[i] != order->group[i - 1];
    length = add(text, length, room, begins ? i ? "},{" : "{" : ",",
                 pin == PIN_LIST ? listed[i] : order->cpu[i]);
  }
  if (length + 2 > room)
    return false;
  strcpy(text + length, "}");
  return count > 0;
}

/* Environment variable that holds the value of OMP_PLACES that this library has
 * set. If a launcher such as taskset is started with this library, the program
 * that the launcher starts inherits both variables. If their values are equal,
 * the library knows that the user did not set OMP_PLACES. */
#define OWN_PLACES "VF_NUMA_OMP_PLACES"

static bool is_users_choice(void) {
  const char *places = getenv("OMP_PLACES"), *own = getenv(OWN_PLACES);
  return getenv("OMP_PROC_BIND") || getenv("KMP_AFFINITY") ||
         getenv("GOMP_CPU_AFFINITY") ||
         (places && !(own && strcmp(own, places) == 0));
}

static void tell_openmp(void) {
  static char text[MAX_LISTED * sizeof "},{1023"];
  const char *places = "threads";
  if (is_users_choice())
    return;
  unsetenv("OMP_PLACES");
  if (pin == PIN_ALL || (pin != PIN_CORE && !write_places(text, sizeof text)))
    return;
  if (pin != PIN_CORE)
    places = text;
  setenv("OMP_PLACES", places, 1);
  setenv(OWN_PLACES, places, 1);
}

void vf_pin_configure(void) {
  int found = read_pin();
  __atomic_store_n(&pin, found, __ATOMIC_RELEASE);
  if (found != PIN_OFF)
    tell_openmp();
}

/* Binds the calling thread, which was created as number `turn`, to its CPUs. */
static void bind_self(unsigned turn) {
  const struct vf_cpu_order *order = vf_cpus_in_node_order();
  struct vf_cpu_mask mask = {{0}};
  if (order->count == 0)
    return;
  if (pin == PIN_CORE)
    vf_add_cpu(&mask, order->cpu[turn % order->count]);
  if (pin == PIN_LIST)
    vf_add_cpu(&mask, listed[turn % listed_count]);
  for (unsigned i = 0; pin == PIN_NODE && i < order->count; ++i)
    if (order->group[i] == turn % order->nodes)
      vf_add_cpu(&mask, order->cpu[i]);
  int saved = errno;
  bool bound = syscall(SYS_sched_setaffinity, 0, sizeof mask,
                       pin == PIN_ALL ? order->allowed.words : mask.words) == 0;
  errno = saved;
  vf_count_numa_preload(bound ? VF_NUMA_PINNED : VF_NUMA_PIN_REFUSED);
}

static void bind_first(unsigned turn) {
  if (vf_begin_optional()) { /* It may look the machine up, too. */
    bind_self(turn);
    vf_end_optional();
  }
}

static bool are_bound(const pthread_attr_t *attributes) {
  struct vf_cpu_mask mask;
  if (!attributes || pthread_attr_getaffinity_np(attributes, sizeof mask,
                                                 (cpu_set_t *)&mask) != 0)
    return false;
  for (size_t i = 0; i < sizeof mask / sizeof *mask.words; ++i)
    if (mask.words[i] != ULONG_MAX) /* libc's mask if none was set */
      return true;
  return false;
}

/* Returns what the new thread needs to bind itself, or NULL if the thread is
 * left alone. */
static struct vf_thread_start *to_start(const pthread_attr_t *attributes) {
  if (__atomic_load_n(&pin, __ATOMIC_ACQUIRE) == PIN_OFF)
    return NULL;
  if (are_bound(attributes)) {
    vf_count_numa_preload(VF_NUMA_PIN_KEPT);
    return NULL;
  }
  return vf_thread_start_new(bind_first,
                             __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED));
}

VF_API int pthread_create(pthread_t *restrict thread,
                          const pthread_attr_t *restrict attributes,
                          void *(*function)(void *), void *restrict argument) {
  return vf_start_pthread(to_start(attributes), vf_numa_next()->pthread_create,
                          thread, attributes, function, argument);
}

VF_API int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
  return vf_start_c11(to_start(NULL), vf_numa_next()->thrd_create, thread,
                      function, argument);
}
