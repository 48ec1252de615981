; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The functions that each rewritten object file contains: they call the pools of
; libvfrt or, if libvfrt is not linked, the C library. The pool is vf_pool of
; vfriendly/pool.h, one pointer, which stays null without the runtime.
;
; One object file of the runtime defines all functions of pools, so if
; @vf_pool_alloc is linked, the others are, too.

declare extern_weak ptr @vf_pool_alloc(ptr, i64)
declare extern_weak ptr @vf_pool_calloc(ptr, i64, i64)
declare extern_weak void @vf_pool_free(ptr, ptr)
declare extern_weak void @vf_pool_trim(ptr)
declare extern_weak void @vf_pool_destroy(ptr)
declare noalias ptr @malloc(i64)
declare noalias ptr @calloc(i64, i64)
declare void @free(ptr)

$vf_pool_or_malloc = comdat any
define linkonce_odr hidden ptr @vf_pool_or_malloc(ptr %pool, i64 %size) noinline nounwind uwtable comdat {
  %have = icmp ne ptr @vf_pool_alloc, null
  br i1 %have, label %runtime, label %fallback

runtime:
  %pooled = tail call ptr @vf_pool_alloc(ptr %pool, i64 %size)
  ret ptr %pooled

fallback:
  %single = tail call ptr @malloc(i64 %size)
  ret ptr %single
}

$vf_pool_or_calloc = comdat any
define linkonce_odr hidden ptr @vf_pool_or_calloc(ptr %pool, i64 %count, i64 %size) noinline nounwind uwtable comdat {
  %have = icmp ne ptr @vf_pool_alloc, null
  br i1 %have, label %runtime, label %fallback

runtime:
  %pooled = tail call ptr @vf_pool_calloc(ptr %pool, i64 %count, i64 %size)
  ret ptr %pooled

fallback:
  %single = tail call ptr @calloc(i64 %count, i64 %size)
  ret ptr %single
}

$vf_pool_or_free = comdat any
define linkonce_odr hidden void @vf_pool_or_free(ptr %pool, ptr %block) noinline nounwind uwtable comdat {
  %have = icmp ne ptr @vf_pool_alloc, null
  br i1 %have, label %runtime, label %fallback

runtime:
  tail call void @vf_pool_free(ptr %pool, ptr %block)
  ret void

fallback:
  tail call void @free(ptr %block)
  ret void
}

; Only the runtime stores a state in the pool. If the runtime is not linked, the
; pool is null and @vf_pool_trim, which is then undefined, is not called.
$vf_pool_trim_if_used = comdat any
define linkonce_odr hidden void @vf_pool_trim_if_used(ptr %pool) noinline nounwind uwtable comdat {
  %state = load ptr, ptr %pool
  %used = icmp ne ptr %state, null
  br i1 %used, label %trim, label %done

trim:
  tail call void @vf_pool_trim(ptr %pool)
  br label %done

done:
  ret void
}

$vf_pool_destroy_if_used = comdat any
define linkonce_odr hidden void @vf_pool_destroy_if_used(ptr %pool) noinline nounwind uwtable comdat {
  %state = load ptr, ptr %pool
  %used = icmp ne ptr %state, null
  br i1 %used, label %destroy, label %done

destroy:
  tail call void @vf_pool_destroy(ptr %pool)
  br label %done

done:
  ret void
}
