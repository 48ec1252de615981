/*===- common/sites.c - Statistics of the places that wait ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* _dl_find_object, dl_iterate_phdr */
#endif
#include "common/sites.h"
#include "common/hash.h"
#include "common/process_wide.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Number of histogram bins. Bin i counts times from 2^i ns; the last one
 * includes all times from 2.1 s on. */
#define VF_TIMES 32u
/* Number of sites in a report for people. `vfriendly stats` shows more. */
#define VF_TOLD_SITES 5
/* log2 of the number of entries in the table of sites, more than a person would
 * read. All sites that find no free entry share the last one. */
#define VF_SITES_LOG2 8
#define VF_SITES (1u << VF_SITES_LOG2)
#define VF_OTHER_SITES (VF_SITES - 1)
/* log2 of the size of the hash table of held locks whose hold times are
 * measured. If two of them have the same hash, one is not measured. */
#define VF_HELD_LOG2 10

struct vf_site {
  uintptr_t place; /* The return address of the waiting call. Set once; 0 if the
                      entry is free. */
  uint64_t acquisitions, contended, spun, blocked, wakes;
  uint64_t waited_ns;
  uint64_t hold[VF_TIMES], wait[VF_TIMES];
};

/* The site that took a lock, and the time at which it did. Written by the
 * holder of the lock. Locks with the same hash use the same entry, so `lock` is
 * 0 while a holder changes the entry. If two holders write at the same time,
 * the site of one may be paired with the time of the other, which only makes
 * the counts wrong. */
struct vf_held {
  uintptr_t lock;
  uintptr_t site;
  uint64_t since;
};

/* The statistics of sites. All copies of libvfrt share them, because a lock may
 * be taken through one copy and released through another. The pages of this
 * object stay untouched unless statistics are on. */
struct vf_sites {
  struct vf_site sites[VF_SITES];
  struct vf_held held[1u << VF_HELD_LOG2];
};

#define VF_SITES_SIZE 169984
VF_PROCESS_WIDE(vf_sites_1, VF_SITES_SIZE);
_Static_assert(sizeof(struct vf_sites) == VF_SITES_SIZE,
               "VF_SITES_SIZE is what the assembler reserves");
extern VF_API struct vf_sites vf_sites_1;
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_sites_1);
#define vf_sites_1 (*(struct vf_sites *)vf_sites_1_found.at)
#endif

static void add(uint64_t *counter, uint64_t n) {
  __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static struct vf_site *site_of(uintptr_t place) {
  uint64_t first = vf_hash((const void *)place, VF_SITES_LOG2);
  for (unsigned i = 0; i < VF_OTHER_SITES; ++i) {
    struct vf_site *site = &vf_sites_1.sites[(first + i) % VF_OTHER_SITES];
    if (vf_site_claim(&site->place, place))
      return site;
  }
  return &vf_sites_1.sites[VF_OTHER_SITES];
}

static unsigned log2_of(uint64_t ns) {
  unsigned log2 = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
  return log2 < VF_TIMES ? log2 : VF_TIMES - 1;
}

void vf_site_waited(uintptr_t place, uint64_t ns, bool slept) {
  struct vf_site *site = site_of(place);
  add(&site->contended, 1);
  add(slept ? &site->blocked : &site->spun, 1);
  add(&site->waited_ns, ns);
  add(&site->wait[log2_of(ns)], 1);
}

void vf_site_passed(uintptr_t place) { add(&site_of(place)->acquisitions, 1); }

static struct vf_held *held_of(const void *lock) {
  return &vf_sites_1.held[vf_hash(lock, VF_HELD_LOG2)];
}

void vf_site_took(uintptr_t place, const void *lock) {
  vf_site_passed(place);
  struct vf_held *held = held_of(lock);
  uint64_t now = vf_now_ns();
  __atomic_store_n(&held->lock, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&held->site, place, __ATOMIC_RELAXED);
  __atomic_store_n(&held->since, now, __ATOMIC_RELAXED);
  __atomic_store_n(&held->lock, (uintptr_t)lock, __ATOMIC_RELEASE);
}

uintptr_t vf_site_freeing(const void *lock) {
  struct vf_held *held = held_of(lock);
  if (__atomic_load_n(&held->lock, __ATOMIC_ACQUIRE) != (uintptr_t)lock)
    return 0;
  uintptr_t place = __atomic_load_n(&held->site, __ATOMIC_RELAXED);
  uint64_t since = __atomic_load_n(&held->since, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (__atomic_load_n(&held->lock, __ATOMIC_RELAXED) != (uintptr_t)lock)
    return 0;
  __atomic_store_n(&held->lock, 0, __ATOMIC_RELAXED);
  add(&site_of(place)->hold[log2_of(vf_now_ns() - since)], 1);
  return place;
}

void vf_site_woke(uintptr_t place) {
  if (place != 0)
    add(&site_of(place)->wakes, 1);
}

static void print_place(struct vf_report *report, const char *name,
                        uintptr_t offset) {
  char path[256];        /* Longer paths are truncated. */
  if (!name || !*name) { /* The program itself has no name here. */
    long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path,
                     sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    name = path;
  }
  for (; *name; ++name)
    if ((unsigned char)*name >= ' ' && *name != '"' && *name != '\\')
      vf_report_text(report, "%c", *name);
  vf_report_text(report, "+0x%" PRIxPTR, offset);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */

/* Prints a code address as the module that contains it and an offset. Returns
 * false if no module contains the address. Takes no lock, because a signal
 * handler may print. */
static bool print_in_module(struct vf_report *report, uintptr_t place) {
  struct dl_find_object found;
  if (_dl_find_object((void *)place, &found) != 0)
    return false;
  print_place(report, found.dlfo_link_map->l_name,
              place - found.dlfo_link_map->l_addr);
  return true;
}

#else

struct search {
  uintptr_t place;
  struct vf_report *report;
};

static int print_if_inside(struct dl_phdr_info *module, size_t size,
                           void *what) {
  struct search *search = what;
  (void)size;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
    uintptr_t begin = module->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || search->place < begin ||
        search->place - begin >= segment->p_memsz)
      continue;
    print_place(search->report, module->dlpi_name,
                search->place - module->dlpi_addr);
    return 1;
  }
  return 0;
}

/* Like the variant above, for a libc without _dl_find_object: takes the lock of
 * the dynamic linker. */
static bool print_in_module(struct vf_report *report, uintptr_t place) {
  struct search search = {place, report};
  return dl_iterate_phdr(print_if_inside, &search) != 0;
}

#endif

/* Prints the address before the return address: addr2line would otherwise name
 * the statement after the call. */
void vf_report_place(struct vf_report *report, uintptr_t place) {
  if (place == 0)
    vf_report_text(report, "others");
  else if (!print_in_module(report, place - 1))
    vf_report_text(report, "0x%" PRIxPTR, place - 1); /* Unloaded. */
}

static void print_times(struct vf_report *report, const char *name,
                        const uint64_t *times) {
  const char *comma = "";
  vf_report_add(report, ", \"%s\": {", name);
  for (unsigned i = 0; i < VF_TIMES; ++i)
    if (vf_site_get(&times[i]) != 0) {
      vf_report_add(report, "%s\"%" PRIu64 "\": %" PRIu64, comma,
                    UINT64_C(1) << i, vf_site_get(&times[i]));
      comma = ", ";
    }
  vf_report_add(report, "}");
}

static void tell_site(struct vf_report *report, const struct vf_site *site) {
  uint64_t ms = vf_site_get(&site->waited_ns) / 1000000;
  vf_report_tell(report,
                 "  %4" PRIu64 ".%03" PRIu64 " s, waits %" PRIu64
                 ", slept %" PRIu64 ": ",
                 ms / 1000, ms % 1000, vf_site_get(&site->contended),
                 vf_site_get(&site->blocked));
  vf_report_place(report, site->place);
  vf_report_tell(report, "\n");
}

static void print_site(struct vf_report *report, const struct vf_site *site) {
  vf_report_add(report, "{\"site\": \"");
  vf_report_place(report, site->place);
  vf_report_add(report,
                "\", \"acquisitions\": %" PRIu64 ", \"contended\": %" PRIu64
                ", \"spun\": %" PRIu64 ", \"blocked\": %" PRIu64
                ", \"wakes\": %" PRIu64 ", \"waited_ns\": %" PRIu64,
                vf_site_get(&site->acquisitions), vf_site_get(&site->contended),
                vf_site_get(&site->spun), vf_site_get(&site->blocked),
                vf_site_get(&site->wakes), vf_site_get(&site->waited_ns));
  print_times(report, "wait_ns", site->wait);
  print_times(report, "hold_ns", site->hold);
  vf_report_add(report, "}");
}

/* Returns the site with the longest total wait among those not printed yet, or
 * null. It reads a copy of the times, as other threads may still increase them.
 */
static const struct vf_site *pick(uint64_t waited[VF_SITES],
                                  bool is_left[VF_SITES]) {
  unsigned best = VF_SITES;
  for (unsigned i = 0; i < VF_SITES; ++i)
    if (is_left[i] && (best == VF_SITES || waited[i] > waited[best]))
      best = i;
  if (best == VF_SITES)
    return NULL;
  is_left[best] = false;
  return &vf_sites_1.sites[best];
}

void vf_report_sites(struct vf_report *report) {
  uint64_t waited[VF_SITES];
  bool is_left[VF_SITES];
  for (unsigned i = 0; i < VF_SITES; ++i) {
    const struct vf_site *site = &vf_sites_1.sites[i];
    waited[i] = vf_site_get(&site->waited_ns);
    is_left[i] =
        vf_site_get(&site->contended) != 0 ||
        (!report->is_for_people && vf_site_get(&site->acquisitions) != 0);
  }
  const char *comma = "";
  vf_report_add(report, ", \"sites\": [");
  int told = 0;
  for (const struct vf_site *site; (site = pick(waited, is_left)) != NULL;) {
    if (!report->is_for_people) {
      vf_report_add(report, "%s", comma);
      print_site(report, site);
    } else if (told < VF_TOLD_SITES) {
      tell_site(report, site);
    }
    comma = ", ";
    ++told;
  }
  vf_report_add(report, "]");
  if (told == 0)
    vf_report_tell(report, "  no lock, condition, semaphore or barrier of the "
                           "runtime had to wait\n");
  if (told > VF_TOLD_SITES)
    vf_report_tell(report, "  and %d more places\n", told - VF_TOLD_SITES);
  if (told > 0)
    vf_report_tell(report,
                   "  source lines: VF_STATS=./FILE, then vfriendly stats "
                   "FILE\n");
}
