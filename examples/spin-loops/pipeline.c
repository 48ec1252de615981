/*===- pipeline.c - Image filters in a pipeline, as users write them -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * One thread a stage. A stage waits until its inbox is full, filters the tile,
 * waits until the next inbox is empty and hands the tile on; all stages meet at
 * a barrier after each frame. Every wait is a loop on a flag: fast on the
 * machine it was written on, where each stage had a CPU of its own.
 *
 *   pipeline [STAGES [FRAMES]]
 *
 * Prints the checksum of all filtered frames.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STAGES = 64, TILES = 32, TILE_PIXELS = 4096 };

struct inbox {
  _Alignas(128) atomic_bool full;
  uint32_t pixels[TILE_PIXELS];
};

static int stages = 16; /* the CPUs of the machine it was written on */
static int frames = 4;
static struct inbox inboxes[MAX_STAGES + 1];
static uint64_t checksum;

/* The frame barrier: the last stage to finish opens it. */
static atomic_int running;
static volatile int frame_done;

static void filter(uint32_t *pixels, int stage) {
  uint32_t carry = (uint32_t)stage;
  for (int i = 0; i < TILE_PIXELS; i++) {
    carry = carry * 31 + pixels[i];
    pixels[i] = (pixels[i] >> 1) + (carry >> 2);
  }
}

static void meet(int frame) {
  if (atomic_fetch_sub(&running, 1) == 1) {
    atomic_store(&running, stages);
    frame_done = frame;
  } else {
    while (frame_done < frame)
      ;
  }
}

static void take(struct inbox *from, uint32_t *pixels) {
  while (!atomic_load_explicit(&from->full, memory_order_acquire))
    ;
  memcpy(pixels, from->pixels, sizeof from->pixels);
  atomic_store_explicit(&from->full, 0, memory_order_release);
}

static void hand_on(struct inbox *to, const uint32_t *pixels) {
  while (atomic_load_explicit(&to->full, memory_order_acquire))
    ;
  memcpy(to->pixels, pixels, sizeof to->pixels);
  atomic_store_explicit(&to->full, 1, memory_order_release);
}

static void *run_stage(void *argument) {
  int stage = (int)(intptr_t)argument;
  uint32_t pixels[TILE_PIXELS];
  for (int frame = 1; frame <= frames; frame++) {
    for (int tile = 0; tile < TILES; tile++) {
      if (stage == 0)
        for (int i = 0; i < TILE_PIXELS; i++)
          pixels[i] = (uint32_t)(frame * 7919 + tile * 131 + i);
      else
        take(&inboxes[stage], pixels);
      filter(pixels, stage);
      if (stage < stages - 1)
        hand_on(&inboxes[stage + 1], pixels);
      else
        for (int i = 0; i < TILE_PIXELS; i++)
          checksum = checksum * 131 + pixels[i];
    }
    meet(frame);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1)
    stages = atoi(argv[1]);
  if (argc > 2)
    frames = atoi(argv[2]);
  if (argc > 3 || stages < 1 || stages > MAX_STAGES || frames < 1) {
    fprintf(stderr, "usage: pipeline [STAGES (1..%d) [FRAMES]]\n", MAX_STAGES);
    return 2;
  }
  atomic_init(&running, stages);
  pthread_t threads[MAX_STAGES];
  for (int i = 0; i < stages; i++)
    if (pthread_create(&threads[i], NULL, run_stage, (void *)(intptr_t)i)) {
      fprintf(stderr, "pipeline: cannot start stage %d\n", i);
      return 1;
    }
  for (int i = 0; i < stages; i++)
    pthread_join(threads[i], NULL);
  printf("%d stages, %d frames: %016llx\n", stages, frames,
         (unsigned long long)checksum);
  return 0;
}
