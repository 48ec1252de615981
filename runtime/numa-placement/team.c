/*===- numa-placement/team.c - CPUs of an OpenMP team's threads -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Refers to OpenMP by weak references, so libvfrt does not need OpenMP. LLVM's
 * runtime also defines libgomp's entry point of a parallel region, so one name
 * suffices for both.
 *===----------------------------------------------------------------------===*/

#include "numa-placement/machine.h"
#include <stdlib.h>
#include <strings.h>

#define WEAK __attribute__((weak))
WEAK int omp_get_max_threads(void);
WEAK int omp_get_thread_num(void);
WEAK int omp_get_num_threads(void);
WEAK int omp_in_parallel(void);
WEAK int omp_get_proc_bind(void);
WEAK int omp_get_num_places(void);
WEAK int omp_get_place_num(void);
WEAK int omp_get_place_num_procs(int place);
WEAK void omp_get_place_proc_ids(int place, int *ids);
WEAK void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                        unsigned flags);

/* Values of omp_proc_bind_t. */
enum { BIND_FALSE = 0, BIND_PRIMARY = 2, BIND_CLOSE = 3 };
/* Maximum number of processors examined per OpenMP place. */
enum { MAX_PROCESSORS = 8192 };

static bool has_openmp(void) {
  return omp_get_max_threads && omp_get_thread_num && omp_get_num_threads &&
         omp_in_parallel && omp_get_proc_bind && omp_get_num_places &&
         omp_get_place_num && omp_get_place_num_procs && omp_get_place_proc_ids;
}

/* Reads the environment before it calls OpenMP: the first call initializes
 * OpenMP, but the program may still set OpenMP's environment variables. */
bool vf_team_is_bound(void) {
  const char *bind = getenv("OMP_PROC_BIND");
  bool asked = bind ? strcasecmp(bind, "false") != 0
                    : getenv("OMP_PLACES") || getenv("KMP_AFFINITY") ||
                          getenv("GOMP_CPU_AFFINITY");
  return asked && has_openmp() && omp_get_proc_bind() != BIND_FALSE;
}

static int node_of_place(int place, const struct vf_machine *machine) {
  int processors = omp_get_place_num_procs(place);
  if (processors < 1 || processors > MAX_PROCESSORS)
    return -1;
  int *ids = malloc((size_t)processors * sizeof *ids);
  if (!ids)
    return -1;
  omp_get_place_proc_ids(place, ids);
  /* Returns -1, unknown, for a place whose processors belong to several nodes.
   */
  int node = vf_node_of_cpu((unsigned)ids[0]);
  for (int i = 1; i < processors; ++i)
    if (vf_node_of_cpu((unsigned)ids[i]) != node)
      node = -1;
  free(ids);
  return node >= 0 && vf_has_node(&machine->allowed, (unsigned)node) ? node
                                                                     : -1;
}

unsigned vf_team_nodes(int16_t node[VF_NUMA_MAX_THREADS]) {
  if (!vf_team_is_bound())
    return 0;
  int threads = omp_get_max_threads(), places = omp_get_num_places();
  if (threads < 1 || threads > VF_NUMA_MAX_THREADS || places < 1)
    return 0;
  struct vf_machine machine = vf_numa_machine_here();
  int own = omp_get_place_num(), bind = omp_get_proc_bind();
  if (own < 0)
    own = 0;
  for (int i = 0; i < threads; ++i) {
    /* OpenMP 5.2, 10.1.3: `primary` gives all threads the place of the primary
     * thread. With more threads than places, the other policies give each place
     * its share of consecutive threads; with fewer, `close` takes neighbouring
     * places, and `spread` takes places at equal distances. */
    int place = own;
    if (bind != BIND_PRIMARY) {
      bool close = bind == BIND_CLOSE && threads <= places;
      long step = close ? i : (long)i * places / threads;
      place = (int)((own + step) % places);
    }
    node[i] = (int16_t)node_of_place(place, &machine);
  }
  return (unsigned)threads;
}

struct job {
  void (*body)(void *, unsigned, unsigned);
  void *data;
};

static void run_in_thread(void *job) {
  struct job *j = job;
  j->body(j->data, (unsigned)omp_get_thread_num(),
          (unsigned)omp_get_num_threads());
}

bool vf_team_run(void (*body)(void *, unsigned, unsigned), void *data) {
  if (!has_openmp() || !GOMP_parallel || omp_in_parallel())
    return false;
  struct job job = {body, data};
  GOMP_parallel(run_in_thread, &job, 0, 0);
  return true;
}
