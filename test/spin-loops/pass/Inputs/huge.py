# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR whose loop condition is a chain of N operations, or with N waits and 20 N stores: KIND N."""
import sys

kind, count = sys.argv[1], int(sys.argv[2])
if kind == "waits":
    print('target triple = "x86_64-pc-linux-gnu"\n@many = internal global i32 0')
    for i in range(20 * count):
        print(f"define void @set{i}() {{\n  store atomic i32 {i}, ptr @many release, align 4\n  ret void\n}}")
    for i in range(count):
        print(f"define void @wait{i}() {{\nentry:\n  br label %loop\nloop:\n"
              "  %v = load atomic i32, ptr @many acquire, align 4\n  %c = icmp eq i32 %v, 0\n"
              "  br i1 %c, label %loop, label %exit\nexit:\n  ret void\n}")
    sys.exit()
step = {
    # 2^N paths lead from the last to the first.
    "shared": "  %b{i} = and i1 %b{before}, %b{before}",
    "deep": "  %b{i} = xor i1 %b{before}, %start",
    # Each tells where the next one looks.
    "loads": "  %p{i} = load ptr, ptr %p{before}",
}[kind]
print("@flag = global i32 0\n@first = global ptr null\ndefine void @wait(i1 %start) {\nentry:\n  br label %loop\nloop:")
if kind == "loads":
    print("  %p0 = load volatile ptr, ptr @first")
else:
    print("  %v = load atomic i32, ptr @flag monotonic, align 4\n  %b0 = icmp eq i32 %v, 0")
for i in range(1, count + 1):
    print(step.format(i=i, before=i - 1))
if kind == "loads":
    print(f"  %v = load i32, ptr %p{count}\n  %b{count} = icmp eq i32 %v, 0")
print(f"  br i1 %b{count}, label %loop, label %exit\nexit:\n  ret void\n}}")
print("define void @set() {\n  store atomic i32 1, ptr @flag release, align 4\n  ret void\n}")
