/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host: round robin of vCPUs that are not halted. */

#include "simulator_state.h"

void renew_host_slice(struct sim *s, int v) {
  if (s->vcpus[v].placed)
    push_event(s, s->vcpus[v].host_slice, v, HOST_SLICE);
}

int64_t host_slice(struct sim *s) {
  return s->host.slice > 0 ? jitter(s, s->host.slice) : SLICE;
}

static void place(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  c->placed = true;
  c->host_slice = s->now + host_slice(s);
  if (c->stolen_since >= 0)
    c->stolen += s->now - c->stolen_since;
  c->stolen_since = -1;
  renew_host_slice(s, v);
  run_vcpu(s, v);
}

void queue_on_host(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  c->stolen_since = s->now;
  c->next_on_host = -1;
  if (s->host_first < 0)
    s->host_first = s->host_last = v;
  else
    s->host_last = s->vcpus[s->host_last].next_on_host = v;
}

void next_on_host(struct sim *s) {
  int v = s->host_first;
  if (v < 0) {
    s->free_pcpus++;
    return;
  }
  s->host_first = s->vcpus[v].next_on_host;
  place(s, v);
}

void leave_host(struct sim *s, int v) {
  s->vcpus[v].placed = false;
  next_on_host(s);
}

void join_host(struct sim *s, int v) {
  if (s->free_pcpus > 0) {
    s->free_pcpus--;
    place(s, v);
    return;
  }
  for (int h = s->host.vcpus; h < s->n_vcpus; ++h)
    if (s->vcpus[h].placed) {
      stop_vcpu(s, h);
      s->vcpus[h].placed = false;
      s->vcpus[h].turn++;
      queue_on_host(s, h);
      place(s, v);
      return;
    }
  queue_on_host(s, v);
}
