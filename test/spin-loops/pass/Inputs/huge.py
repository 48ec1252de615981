# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR whose loop condition is a chain of N operations."""
import sys

kind, count = sys.argv[1], int(sys.argv[2])
step = {
    # 2^N paths lead from the last to the first.
    "shared": "  %b{i} = and i1 %b{before}, %b{before}",
    "deep": "  %b{i} = xor i1 %b{before}, %start",
}[kind]
print("@flag = global i32 0\ndefine void @wait(i1 %start) {\nentry:\n  br label %loop\nloop:")
print("  %v = load atomic i32, ptr @flag monotonic, align 4\n  %b0 = icmp eq i32 %v, 0")
for i in range(1, count + 1):
    print(step.format(i=i, before=i - 1))
print(f"  br i1 %b{count}, label %loop, label %exit\nexit:\n  ret void\n}}")
print("define void @set() {\n  store atomic i32 1, ptr @flag release, align 4\n  ret void\n}")
