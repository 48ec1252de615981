/*===- pool/pool.c - Pools: blocks cut from chunks ------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A chunk is filled from its start. Before each block is a tag, from which
 * vf_pool_free derives the chunk and the size class. The state of a pool is in
 * its first chunk.
 *===----------------------------------------------------------------------===*/

#include "vfriendly/pool.h"
#include "common/process_wide.h"
#include "pool/sizes.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Size of the first chunk, which also contains the pool's state: a page. */
#define LEAST_CHUNK ((size_t)4096)
/* Maximum size of a chunk. Each chunk is as large as all before it together, so
 * that their number grows with the logarithm of the pool's size. A single live
 * block keeps at most one chunk of this size. */
#define MOST_CHUNK ((size_t)1 << 20)
/* Maximum alignment, limited by the bits for the distance in an aligned block's
 * tag. */
#define MOST_ALIGNMENT ((size_t)1 << 35)

/* A block, free or in use. In a block in use only the tag, the members before
 * `next`, is valid; the program's memory follows the tag. */
struct block {
  /* Distance in grains from the start of the chunk to the memory that the
   * program uses; for an aligned block, from the start of the block that
   * contains it. */
  uint32_t back;
  /* A size class, or one of the two values below. */
  uint32_t kind;
  struct block *next;
  /* Address of the pointer that points to this block in its list, so that
   * removing the block takes constant time. */
  struct block **link;
};
#define TAG offsetof(struct block, next)

enum {
  ALONE = VF_CLASSES, /* the block has a chunk of its own */
  WITHIN,             /* an aligned block, which lies within another block */
};

struct chunk {
  struct chunk *next, *previous;
  size_t size;
  size_t used; /* offset of the next block to be cut off */
  size_t live; /* blocks in use */
};

struct vf_pool_state {
  struct chunk first; /* head of the circular list of chunks */
  struct chunk *current;
  uintptr_t owner;
  size_t held; /* bytes of all chunks, except those of single blocks */
  size_t live;
  vf_pool self; /* of vf_pool_create */
  struct block *free[VF_CLASSES];
  /* The last member, on another cache line than the lists of small classes,
   * because other threads write this list. */
  struct block *freed_by_others;
};

/* Returns the offset of the first block of a chunk whose header has this many
 * bytes. */
#define FIRST_BLOCK(header)                                                    \
  (((header) + TAG + VF_GRAIN - 1) / VF_GRAIN * VF_GRAIN - TAG)

static size_t first_block_of(const struct vf_pool_state *state,
                             const struct chunk *chunk) {
  return chunk == &state->first ? FIRST_BLOCK(sizeof *state)
                                : FIRST_BLOCK(sizeof *chunk);
}

static void *memory_of(struct block *block) { return (char *)block + TAG; }

static struct block *block_of(void *memory) {
  return (struct block *)((char *)memory - TAG);
}

static struct block *block_at(struct chunk *chunk, size_t offset) {
  return (struct block *)((char *)chunk + offset);
}

static uintptr_t this_thread(void) { return (uintptr_t)pthread_self(); }

static void *out_of_memory(void) {
  errno = ENOMEM;
  return NULL;
}

/* Allocates a chunk of `wanted` bytes, or of `needed` bytes if there is not
 * enough memory. */
static struct chunk *take(size_t wanted, size_t needed) {
  size_t size = wanted > needed ? wanted : needed;
  struct chunk *chunk = malloc(size);
  if (!chunk && size > needed)
    chunk = malloc(size = needed);
  if (!chunk)
    return out_of_memory();
  chunk->size = size;
  return chunk;
}

static void set_up(struct vf_pool_state *state) {
  size_t size = state->first.size;
  vf_pool self = state->self;
  *state = (struct vf_pool_state){
      .first = {.next = &state->first, .previous = &state->first, .size = size},
      .current = &state->first,
      .held = size,
      .self = self};
  state->first.used = first_block_of(state, &state->first);
  state->owner = this_thread();
}

static struct vf_pool_state *make_state(size_t room) {
  struct chunk *first =
      take(LEAST_CHUNK, FIRST_BLOCK(sizeof(struct vf_pool_state)) + room);
  if (!first)
    return NULL;
  struct vf_pool_state *state = (struct vf_pool_state *)first;
  state->self.state_ = NULL;
  set_up(state);
  return state;
}

static void enter(struct vf_pool_state *state, struct chunk *chunk) {
  chunk->next = &state->first;
  chunk->previous = state->first.previous;
  chunk->previous->next = chunk;
  state->first.previous = chunk;
  chunk->live = 0;
}

static void drop(struct chunk *chunk) {
  chunk->previous->next = chunk->next;
  chunk->next->previous = chunk->previous;
  free(chunk);
}

/* Frees a chunk of shared blocks if it has no live block. The first chunk
 * stays, as it contains the state. */
static void drop_if_unused(struct vf_pool_state *state, struct chunk *chunk) {
  if (chunk->live != 0 || chunk == &state->first)
    return;
  state->held -= chunk->size;
  if (chunk == state->current)
    state->current = &state->first;
  drop(chunk);
}

static void unlink_free(struct block *block) {
  *block->link = block->next;
  if (block->next)
    block->next->link = block->link;
}

static void link_free(struct vf_pool_state *state, struct block *block) {
  struct block **head = &state->free[block->kind];
  block->next = *head;
  block->link = head;
  if (*head)
    (*head)->link = &block->next;
  *head = block;
}

/* Removes the chunk's free blocks from the lists. pre: all its blocks are in
 * the lists. Each block was freed at least once since it was cut off the chunk,
 * so this walk adds constant time per free. */
static void forget_blocks(const struct vf_pool_state *state,
                          struct chunk *chunk) {
  size_t at = first_block_of(state, chunk), end = chunk->used;
  chunk->used = at;
  while (at != end) {
    struct block *block = block_at(chunk, at);
    unlink_free(block);
    at += vf_grains_of(block->kind) * VF_GRAIN;
  }
}

/* Frees a block. Called in the thread that owns the pool. */
static void take_back(struct vf_pool_state *state, struct block *block) {
  if (block->kind == WITHIN)
    block = block_of((char *)memory_of(block) - (size_t)block->back * VF_GRAIN);
  struct chunk *chunk = (struct chunk *)((char *)memory_of(block) -
                                         (size_t)block->back * VF_GRAIN);
  --state->live;
  if (block->kind == ALONE)
    return drop(chunk);
  link_free(state, block);
  if (--chunk->live != 0)
    return;
  forget_blocks(state, chunk);
  if (chunk != state->current)
    drop_if_unused(state, chunk);
}

static void collect(struct vf_pool_state *state) {
  struct block *block =
      __atomic_exchange_n(&state->freed_by_others, NULL, __ATOMIC_ACQUIRE);
  while (block) {
    struct block *next = block->next;
    take_back(state, block);
    block = next;
  }
}

static void *use(struct vf_pool_state *state, struct chunk *chunk,
                 struct block *block, uint32_t kind) {
  char *memory = memory_of(block);
  block->back = (uint32_t)((size_t)(memory - (char *)chunk) / VF_GRAIN);
  block->kind = kind;
  ++chunk->live;
  ++state->live;
  return memory;
}

/* Returns a free block, or a new one of the current chunk; NULL if there is
 * none. */
static void *find(struct vf_pool_state *state, unsigned class) {
  struct block *block = state->free[class];
  if (block) {
    unlink_free(block);
    size_t back = (size_t)block->back * VF_GRAIN;
    return use(state, (struct chunk *)((char *)memory_of(block) - back), block,
               class);
  }
  struct chunk *chunk = state->current;
  size_t size = vf_grains_of(class) * VF_GRAIN;
  if (chunk->size - chunk->used < size)
    return NULL;
  block = block_at(chunk, chunk->used);
  chunk->used += size;
  return use(state, chunk, block, class);
}

static void *from_new_chunk(struct vf_pool_state *state, unsigned class) {
  drop_if_unused(state, state->current); /* It is too small. */
  size_t wanted = state->held < MOST_CHUNK ? state->held : MOST_CHUNK;
  struct chunk *chunk =
      take(wanted, FIRST_BLOCK(sizeof *chunk) + vf_grains_of(class) * VF_GRAIN);
  if (!chunk)
    return NULL;
  enter(state, chunk);
  chunk->used = first_block_of(state, chunk);
  state->held += chunk->size;
  state->current = chunk;
  return find(state, class);
}

/* Allocates a chunk with a single block. If the memory must be zeroed, calls
 * calloc, because the allocator knows whether it is zero already. */
static void *alone(struct vf_pool_state *state, size_t size, bool zeroed) {
  size_t offset = FIRST_BLOCK(sizeof(struct chunk));
  size_t all = offset + TAG + size;
  struct chunk *chunk = zeroed ? calloc(1, all) : malloc(all);
  if (!chunk)
    return out_of_memory();
  enter(state, chunk);
  return use(state, chunk, block_at(chunk, offset), ALONE);
}

static void *allocate(vf_pool *pool, size_t size, bool zeroed) {
  /* Larger sizes always fail: no malloc returns more than half of the address
   * space. */
  if (size > PTRDIFF_MAX)
    return out_of_memory();
  size_t grains = (size + TAG + VF_GRAIN - 1) / VF_GRAIN;
  if (grains < VF_LEAST_GRAINS)
    grains = VF_LEAST_GRAINS;
  bool is_alone = grains > VF_MOST_GRAINS;
  unsigned class = is_alone ? 0 : vf_class_of(grains);
  struct vf_pool_state *state = pool->state_;
  if (__builtin_expect(!state, 0)) {
    state = make_state(is_alone ? 0 : vf_grains_of(class) * VF_GRAIN);
    if (!state)
      return NULL;
    pool->state_ = state;
  }
  void *memory = is_alone ? NULL : find(state, class);
  if (__builtin_expect(!memory, 0)) {
    collect(state);
    if (is_alone)
      return alone(state, size, zeroed);
    memory = find(state, class);
    if (!memory)
      memory = from_new_chunk(state, class);
  }
  if (zeroed && memory)
    memset(memory, 0, size);
  return memory;
}

VF_API vf_pool *vf_pool_create(void) {
  struct vf_pool_state *state = make_state(0);
  if (!state)
    return NULL;
  state->self.state_ = state;
  return &state->self;
}

VF_API void *vf_pool_alloc(vf_pool *pool, size_t size) {
  return allocate(pool, size, false);
}

VF_API void *vf_pool_calloc(vf_pool *pool, size_t count, size_t size) {
  size_t all;
  if (__builtin_mul_overflow(count, size, &all))
    return out_of_memory();
  return allocate(pool, all, true);
}

VF_API void *vf_pool_aligned_alloc(vf_pool *pool, size_t alignment,
                                   size_t size) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    errno = EINVAL;
    return NULL;
  }
  if (alignment <= VF_GRAIN)
    return allocate(pool, size, false);
  if (alignment > MOST_ALIGNMENT || size > PTRDIFF_MAX - alignment)
    return out_of_memory();
  char *memory = allocate(pool, size + alignment, false);
  size_t ahead = -(uintptr_t)memory & (alignment - 1);
  if (!memory || ahead == 0)
    return memory;
  struct block *within = block_of(memory + ahead);
  within->back = (uint32_t)(ahead / VF_GRAIN);
  within->kind = WITHIN;
  return memory + ahead;
}

VF_API void vf_pool_free(vf_pool *pool, void *memory) {
  if (!memory)
    return;
  struct vf_pool_state *state = pool->state_;
  struct block *block = block_of(memory);
  if (__builtin_expect(state->owner == this_thread(), 1))
    return take_back(state, block);
  struct block *top =
      __atomic_load_n(&state->freed_by_others, __ATOMIC_RELAXED);
  do
    block->next = top;
  while (!__atomic_compare_exchange_n(&state->freed_by_others, &top, block,
                                      true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED));
}

/* Frees all chunks except the first. */
static void drop_rest(struct vf_pool_state *state) {
  while (state->first.next != &state->first)
    drop(state->first.next);
}

VF_API void vf_pool_trim(vf_pool *pool) {
  struct vf_pool_state *state = pool->state_;
  if (!state)
    return;
  if (__atomic_load_n(&state->freed_by_others, __ATOMIC_RELAXED))
    collect(state);
  if (state->live != 0)
    return;
  drop_if_unused(state, state->current);
  if (pool != &state->self) {
    pool->state_ = NULL;
    free(state);
  }
}

VF_API void vf_pool_reset(vf_pool *pool) {
  struct vf_pool_state *state = pool->state_;
  if (!state)
    return;
  drop_rest(state);
  set_up(state);
}

VF_API void vf_pool_destroy(vf_pool *pool) {
  struct vf_pool_state *state = pool->state_;
  if (!state)
    return;
  drop_rest(state);
  if (pool != &state->self)
    pool->state_ = NULL;
  free(state);
}
