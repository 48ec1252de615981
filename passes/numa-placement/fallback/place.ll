; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The function that each rewritten object file contains: it calls vf_numa_place
; of libvfrt, and does nothing if libvfrt is not linked. Its result, which says
; whether the pages are placed, does not matter to the program.

declare extern_weak i32 @vf_numa_place(ptr, i64, i32)

$vf_numa_place_if_linked = comdat any
define linkonce_odr hidden void @vf_numa_place_if_linked(ptr %memory, i64 %size, i32 %policy) noinline nounwind uwtable comdat {
  %have = icmp ne ptr @vf_numa_place, null
  br i1 %have, label %runtime, label %done

runtime:
  %placed = tail call i32 @vf_numa_place(ptr %memory, i64 %size, i32 %policy)
  br label %done

done:
  ret void
}
