# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that nobody calls, with what checks look for and the constants that they may not expect.

Constants are at the ends of their types, wider than 64 bits, negative as sizes; a check must
neither end nor suggest what does not compile.
"""

import random

CONSTANTS = ("0", "1", "-1", "2", "64", "4096", "INT_MIN", "INT_MAX", "UINT_MAX", "INT64_MIN", "INT64_MAX", "SIZE_MAX", "UINT64_MAX",
             "(size_t)-1", "(1ull << 63)", "(1ull << 33)", "((unsigned __int128)1 << 100)", "((unsigned __int128)-1)", "-((__int128)1 << 126)",
             "'a'", "sizeof(long)", "(char)-1", "0x80000000u", "(1 == 1)")
TYPES = ("int", "unsigned", "long", "size_t", "unsigned char", "short", "__int128", "unsigned __int128", "int64_t", "uint64_t")
COMPARES = ("<", "<=", ">", ">=", "!=", "==")
STEPS = ("++i", "--i", "i++", "i--", "i += {c}", "i -= {c}", "i *= {c}", "i <<= 1", "i = i + {c}")
INCLUDES = """#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
"""
INCLUDES_CXX = "#include <memory>\n#include <vector>\n"
DECLARATIONS = """static int extreme_word;
static pthread_mutex_t extreme_mutex;
static pthread_cond_t extreme_cond;
__attribute__((weak)) void extreme_use(void *);
"""
IN_BOTH = (
    "{loop} {{ char *p = (char *)malloc({c}); if (!p) return; extreme_use(p); free(p); }}",
    "{loop} {{ char *p = (char *)calloc({c}, {d}); memset(p, {e}, {d}); free(p); }}",
    "char *p = 0; {loop} {{ p = (char *)realloc(p, (i + {c}) * {d}); p[{e}] = 1; }} free(p);",
    "void *a[16]; {loop} a[i & 15] = malloc({c}); for (int j = 0; j < {d}; ++j) free(a[{e} - 1 - j]);",
    "void *a[16]; {loop} free(a[{c} - 1 - i]);",
    "{loop} if (__atomic_load_n(&extreme_word, __ATOMIC_ACQUIRE) == {c}) break;",
    "{type} i = {c}; while (__atomic_load_n(&extreme_word, __ATOMIC_ACQUIRE) != {d} && i {compare} {e}) {step};",
    "{type} i = {c}; do {{ if (__sync_bool_compare_and_swap(&extreme_word, {d}, {e})) break; }} while (i-- {compare} {c});",
    "{loop} {{ usleep({c}); if (extreme_word & {d}) break; }}",
    "{loop} madvise((char *)p0 + i * {c}, {c}, MADV_DONTNEED);",
    "mallopt({c}, {d}); malloc_trim({e});",
    "{loop} mallopt(M_TRIM_THRESHOLD, {c});",
    "static double big[1 << 16]; for ({type} i = {c}; i {compare} {d}; {step}) big[i & 65535] = {e};",
    "sem_t s; sem_init(&s, {c}, {d}); pthread_barrier_t b; pthread_barrier_init(&b, 0, {e});",
    "struct timespec t = {{(time_t)({c}), (long)({d})}}; pthread_mutex_lock(&extreme_mutex); while (extreme_word == {e})"
    " pthread_cond_timedwait(&extreme_cond, &extreme_mutex, &t); pthread_mutex_unlock(&extreme_mutex);",
    "unsigned long mask = (unsigned long)({c}) | 1ul << ({d} & 63); sched_setaffinity(0, sizeof mask, (cpu_set_t *)&mask);",
    "{loop} {{ pthread_t t; pthread_create(&t, 0, 0, (void *)(uintptr_t)({c})); pthread_join(t, 0); }}",
)
IN_CXX = (
    "std::vector<int> v; v.reserve((size_t)({c})); {loop} v.push_back((int)i);",
    "{loop} {{ std::vector<long> v((size_t)({c}), {d}); extreme_use(&v); }}",
    "{loop} {{ char *p = new char[(size_t)({c}) & 65535]; extreme_use(p); delete[] p; }}",
    "auto *p = new double[(size_t)({c}) & 65535]; {loop} p[i] = {d}; delete[] p;",
    "{loop} {{ auto p = std::make_unique<char[]>((size_t)({c})); extreme_use(p.get()); }}",
)


class Functions:
    """The text of some functions, always the same for a seed."""

    def __init__(self, seed, cxx):
        self.draw, self.cxx = random.Random(f"extremes {seed}"), cxx

    def values(self):
        values = {name: self.draw.choice(CONSTANTS) for name in "cde"}
        values.update(type=self.draw.choice(TYPES), compare=self.draw.choice(COMPARES))
        values["step"] = self.draw.choice(STEPS).format(c=self.draw.choice(CONSTANTS))
        start, end = self.draw.choice(CONSTANTS), self.draw.choice(CONSTANTS)
        values["loop"] = f"for ({values['type']} i = ({values['type']})({start}); i {values['compare']} {end}; {values['step']})"
        return values

    def around(self, program):
        """Returns program with the functions behind it: a fix may add to the first block of includes."""
        return INCLUDES + (INCLUDES_CXX if self.cxx else "") + program + self.text()

    def text(self):
        shapes = IN_BOTH + (IN_CXX if self.cxx else ())
        bodies = [self.draw.choice(shapes).format(**self.values()) for _ in range(12)]
        return "".join([DECLARATIONS, *(f"void extreme{n}(void *p0) {{ {body} }}\n" for n, body in enumerate(bodies))])
