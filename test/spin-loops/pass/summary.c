// One line a unit: what was seen, rewritten and left, and why. Without optimization a
// warning, but only where there is a loop: configuration checks have none.
//
// RUN: %vf_clang -O2 -S -o /dev/null -Rpass-analysis=vf-summary %s 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %vf_clang -O0 -S -o /dev/null %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %vf_clang -O0 -S -o /dev/null -Werror -DNO_LOOP %s
// CHECK: remark: 3 waits seen, 2 rewritten, 1 left: its function is marked vfriendly:keep (1) [-Rpass-analysis=vf-summary]
// NONE: warning: vfriendly rewrites nothing without optimization: compile with -O1 or more, or without the plugin [-Wbackend-plugin]

extern _Atomic int a, b, c;

void waits(void) {
#ifndef NO_LOOP
  while (!a)
    ;
  while (!b)
    ;
#endif
}

__attribute__((annotate("vfriendly:keep"))) void kept(void) {
#ifndef NO_LOOP
  while (!c)
    ;
#endif
}
