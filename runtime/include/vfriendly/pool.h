/*===- vfriendly/pool.h - Pools of memory that is freed together ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   vf_pool pool = VF_POOL_INIT;              // allocates nothing yet
 *   for (...)
 *     node = vf_pool_alloc(&pool, sizeof *node);
 *   ...
 *   vf_pool_destroy(&pool);                   // frees all nodes
 *
 * Blocks are cut from chunks of up to 1 MiB that malloc provides, so that many
 * blocks cost one call of malloc. A freed block is used for a later request of
 * about the same size; a chunk without blocks is freed at once.
 *
 * A pool has one owner: the thread that allocates the first block after the
 * pool was made or reset. Only that thread may call the functions below, except
 * that any thread may call vf_pool_free. Blocks that other threads have freed
 * are used again when the owner needs more memory. Another thread may act for
 * the owner if no call of the two can overlap, as when a coroutine continues in
 * another thread; its frees cost an atomic operation.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_POOL_H
#define VFRIENDLY_POOL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_pool {
  struct vf_pool_state *state_;
} vf_pool;

/* All zero. */
#define VF_POOL_INIT {0}

/* Makes a pool on the heap. Returns NULL with errno ENOMEM if there is no
 * memory. */
vf_pool *vf_pool_create(void);

/* Allocates a block as malloc does: aligned for every type, and a distinct
 * block even for size 0. Returns NULL with errno ENOMEM if there is no memory.
 */
void *vf_pool_alloc(vf_pool *pool, size_t size);

/* Allocates a zeroed block, as calloc does. */
void *vf_pool_calloc(vf_pool *pool, size_t count, size_t size);

/* Allocates a block with this alignment. Returns NULL with errno EINVAL if
 * alignment is not a power of two. */
void *vf_pool_aligned_alloc(vf_pool *pool, size_t alignment, size_t size);

/* Frees a block. pre: it is a block of this pool, or NULL. May be called in any
 * thread. */
void vf_pool_free(vf_pool *pool, void *block);

/* Gives unused memory back to the heap. A pool without blocks holds no memory
 * afterwards, except that a pool made by vf_pool_create keeps its first page.
 */
void vf_pool_trim(vf_pool *pool);

/* Frees all blocks and keeps a little memory for the next ones; the thread that
 * allocates the next block becomes the owner. pre: pool and blocks are not in
 * use. May be called in any thread. */
void vf_pool_reset(vf_pool *pool);

/* Frees all blocks, and the pool itself if vf_pool_create made it; any other
 * pool is then as after VF_POOL_INIT. pre: pool and blocks are not in use. May
 * be called in any thread. */
void vf_pool_destroy(vf_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_POOL_H */
