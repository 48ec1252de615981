# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs whose blocks move through arrays and lists.

Each function has containers that own blocks: it fills, frees, moves, swaps, lends and links
them, and some of what it does must keep the pass from using a pool.
"""

import random
import re

# Harmless operations, operations by which a block escapes, and those that mix in other blocks.
HARMLESS = """
if (!A[E]) { A[E] = malloc(S); if (A[E]) fill(A[E], 24, (int)x); }
if (!A[E]) { A[E] = calloc(S, 1); }
free(A[E]); A[E] = NULL;
if (A[E]) see(look(A[E], 24));
if (A[E]) A[E][x % 24] ^= 5;
if (!A[E]) { A[E] = A[F]; A[F] = NULL; }
{ unsigned char *t = A[E]; A[E] = A[F]; A[F] = t; }
{ struct node *t = malloc(sizeof *t); if (t) { t->key = x; t->p = NULL; t->next = H; H = t; } }
{ struct node *t = calloc(1, sizeof *t + 8); if (t) { t->key = 3; t->next = H; H = t; } }
if (H && !H->p) { H->p = malloc(S); if (H->p) fill(H->p, 24, 9); }
if (H && !H->p) { H->p = A[E]; A[E] = NULL; }
if (H) { struct node *t = H; H = t->next; free(t->p); free(t); }
if (H) { struct node *t = H; H = t->next; t->next = G; G = t; }
for (struct node *t = H; t; t = t->next) see(t->key + (t->p ? t->p[3] : 0));
{ struct node *r = NULL; while (H) { struct node *t = H->next; H->next = r; r = H; H = t; } H = r; }
see(total(A));
if (fuel % 9 == 0) break;
""".strip().splitlines()
TELLING = """
if (!A[E]) A[E] = make(x);
if (!stash) { stash = A[E]; A[E] = NULL; }
if (!A[E]) { A[E] = stash; stash = NULL; }
drop_one(A, E);
{ unsigned char *t = A[E] ? realloc(A[E], S) : NULL; if (t) A[E] = t; }
{ uintptr_t t = (uintptr_t)A[E] ^ x; A[E] = (unsigned char *)(t ^ x); }
{ unsigned char *t[8]; memcpy(t, A, sizeof t); if (t[E]) see(look(t[E], 24)); memcpy(A, t, sizeof t); }
if (H) { struct node t = *H; see(t.key); *H = t; }
swap_in(&A[E]);
if (H && !H->p) swap_in(&H->p);
if (H) { struct node *t = H; H = t->next; kept = push(kept, t); }
if (kept) { struct node *t = kept; kept = t->next; t->next = H; H = t; }
""".strip().splitlines()

PRELUDE = """#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
struct node { struct node *next; unsigned char *p; unsigned key; };
static int fuel;
static unsigned sum;
static unsigned char *stash;
static struct node *kept;
static jmp_buf out;
APART void see(unsigned v) { sum = sum * 31 + v; }
APART unsigned look(const unsigned char *p, size_t n) { unsigned r = 7; for (size_t i = 0; i < n; ++i) r = r * 5 + p[i]; return r; }
APART void fill(unsigned char *p, size_t n, int v) { for (size_t i = 0; i < n; ++i) p[i] = (unsigned char)(v + (int)i); }
APART unsigned char *make(unsigned x) { unsigned char *p = malloc(24 + x % 9); if (p) fill(p, 24, 1); return p; }
APART void drop_one(unsigned char **a, int e) { free(a[e]); a[e] = NULL; }
APART void swap_in(unsigned char **a) { unsigned char *t = stash; stash = *a; *a = t; }
APART struct node *push(struct node *h, struct node *n) { n->next = h; return n; }
APART unsigned total(unsigned char **a) { unsigned r = 0; for (int i = 0; i < 8; ++i) r += a[i] ? a[i][2] : 0u; return r; }
APART void jump(int c) { if (c) longjmp(out, 1); }
"""
FREE_ALL = """  for (int i = 0; i < 8; ++i) { free(a[i]); a[i] = NULL; if (v) { free(v[i]); } }
  free(v); v = NULL;
  while (h) { struct node *t = h->next; free(h->p); free(h); h = t; }
  while (g) { struct node *t = g->next; free(g->p); free(g); g = t; }
"""


class Program:
    cxx = False

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.loses = self.r.random() < 0.2
        self.functions = self.r.randrange(2, 5)

    def statement(self, telling):
        text = self.r.choice(telling if telling and self.r.random() < 0.15 else HARMLESS)
        lists = self.r.sample(["h", "g"], 2)
        arrays = self.r.choice(["a", "a", "v"])
        place = lambda: self.r.choice(["x % 8", "(unsigned)i % 8", str(self.r.randrange(8))])
        e, f = place(), place()
        names = {"A": arrays, "H": lists[0], "G": lists[1], "E": f"({e})", "F": f"({f})",
                 "S": self.r.choice(["24", "40", "24 + x % 300", "1000", "24 + (size_t)i * 7"])}
        text = re.sub(r"\b[AHGEFS]\b", lambda m: names[m.group()], text)
        return text if arrays == "a" or "v" not in text else f"if (v) {{ {text} }}" if "break" not in text else text

    def function(self, number):
        telling = self.r.sample(TELLING, self.r.randrange(1, 4)) if self.r.random() < 0.4 else []
        body = []
        for _ in range(self.r.randrange(1, 4)):
            lines = [self.statement(telling) for _ in range(self.r.randrange(3, 9))]
            body.append(f"  for (int i = 0; i < {self.r.choice([8, 20, 60])} && fuel-- > 0; ++i) {{\n    x = x * 1103515245u + 12345u;\n    "
                        + "\n    ".join(lines) + "\n  }")
            if self.loses and self.r.random() < 0.5:
                body.append("  jump(x % 4 == 1);")
            if self.r.random() < 0.3:
                body.append(f"  if (x % 5 == 2) {{\n{FREE_ALL}    return x;\n  }}")
        # Leaves the function while it holds no block: a pool must not leak.
        end = FREE_ALL + ("  jump(x % 3 == 1);\n" if self.r.random() < 0.5 else "")
        return (f"APART unsigned f{number}(unsigned x) {{\n  unsigned char *a[8] = {{0}};\n"
                "  unsigned char **v = calloc(8, sizeof *v);\n  struct node *h = NULL, *g = NULL;\n"
                + "\n".join(body) + "\n" + end + "  return x;\n}\n")

    def text(self):
        calls = "\n".join(f"    if (!setjmp(out)) see(f{n}((unsigned)round * 77u + {n}u));" for n in range(self.functions))
        return (PRELUDE + "".join(self.function(n) for n in range(self.functions))
                + f"int main(void) {{\n  for (volatile int round = 0; round < 12; ++round) {{\n    fuel = 400;\n{calls}\n  }}\n"
                  "  free(stash);\n  while (kept) { struct node *t = kept->next; free(kept->p); free(kept); kept = t; }\n"
                  '  printf("%u\\n", sum);\n  fflush(stdout);\n  setvbuf(stdout, NULL, _IONBF, 0);\n  return 0;\n}\n')
