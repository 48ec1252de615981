/*===- vfriendly/pool.h - Memory of a phase, which goes back together -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   vf_pool pool = VF_POOL_INIT;              // takes nothing yet
 *   for (...)
 *     node = vf_pool_alloc(&pool, sizeof *node);
 *   ...
 *   vf_pool_destroy(&pool);                   // all nodes are gone
 *
 * Blocks come out of chunks that malloc gives, up to 1 MiB each, so that many
 * of them are one change of the heap. A block that is freed serves the next one
 * of about its size; a chunk without blocks goes back to malloc at once.
 *
 * A pool has one owner, the thread that takes the first block from it after it
 * was made or reset. Only that thread calls the functions below, one at a time;
 * vf_pool_free may be called by any. What others free the owner
 * uses again once it is short of memory.
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
 * afterwards; if vf_pool_create made it, it keeps its first page. */
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
