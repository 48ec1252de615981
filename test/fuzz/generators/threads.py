# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of threads that wait for each other by spinning.

A program is some scenes, one after the other: flags, barriers, locks, retries, queues,
signals, timers and forked processes. What it prints does not depend on the schedule.
"""

import random

PRELUDE = """#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef FACTOR // The test of the fuzzer sets it.
#define FACTOR 31
#endif
#define APART __attribute__((noinline))
#define BARRIER __asm__ volatile("" ::: "memory")
static unsigned sum;
static void see(unsigned v) { sum = sum * FACTOR + v; }
static void *page(void) { void *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) _exit(98); return p; }
static void nap(long ms) { struct timespec t = {0, ms * 1000000}; nanosleep(&t, 0); }
static void run(int n, void *(*body)(void *)) {
  pthread_t t[8];
  for (long k = 0; k < n; ++k) if (pthread_create(&t[k], 0, body, (void *)k)) _exit(97);
  for (int k = 0; k < n; ++k) pthread_join(t[k], 0);
}
"""

# (declaration of $F, store of $V, load). A store of each kind of memory, by every means.
FLAGS = [
    ("static atomic_int $F;", ["atomic_store(&$F, $V);", "atomic_store_explicit(&$F, $V, memory_order_release);", "$F = $V;",
                               "atomic_exchange(&$F, $V);", "{ int e = atomic_load(&$F); while (!atomic_compare_exchange_weak(&$F, &e, $V)) ; }",
                               "atomic_fetch_add(&$F, $V - atomic_load(&$F));"],
     ["atomic_load(&$F)", "atomic_load_explicit(&$F, memory_order_acquire)", "$F"]),
    ("static _Atomic unsigned char $F;", ["atomic_store(&$F, $V);", "$F = $V;"], ["atomic_load(&$F)", "$F"]),
    ("static _Atomic short $F;", ["atomic_store(&$F, $V);", "atomic_exchange(&$F, $V);"], ["atomic_load(&$F)"]),
    ("static _Atomic long $F;", ["atomic_store(&$F, $V);", "atomic_store_explicit(&$F, $V, memory_order_release);"], ["atomic_load(&$F)"]),
    ("static volatile int $F;", ["BARRIER; $F = $V;"], ["$F"]),
    ("static volatile unsigned char $F;", ["BARRIER; $F = $V;"], ["$F"]),
    ("static volatile long $F;", ["BARRIER; $F = $V;", "BARRIER; __atomic_store_n(&$F, $V, __ATOMIC_RELEASE);"], ["$F"]),
    ("static int $F;", ["__atomic_store_n(&$F, $V, __ATOMIC_RELEASE);", "BARRIER; $F = $V; BARRIER;", "__atomic_exchange_n(&$F, $V, __ATOMIC_ACQ_REL);",
                        "{ int given = $V; __atomic_store(&$F, &given, __ATOMIC_SEQ_CST); }"],
     ["__atomic_load_n(&$F, __ATOMIC_ACQUIRE)", "*(volatile int *)&$F", "__sync_fetch_and_add(&$F, 0)"]),
    ("static struct { long pad; atomic_int at; } $F[3];", ["atomic_store(&$F[1].at, $V);", "atomic_store(&$F[$V & 0 | 1].at, $V);"], ["atomic_load(&$F[1].at)"]),
    ("static atomic_int *$F; __attribute__((constructor)) static void make_$F(void) { $F = calloc(1, 64); }",
     ["atomic_store($F, $V);", "atomic_store_explicit($F, $V, memory_order_release);"], ["atomic_load($F)"]),
    ("static _Atomic uintptr_t $F;", ["atomic_store(&$F, (uintptr_t)$V);"], ["atomic_load(&$F)"]),
    ("static _Atomic(void *) $F;", ["atomic_store(&$F, (void *)(uintptr_t)$V);"], ["(int)(uintptr_t)atomic_load(&$F)"]),
    ("static _Atomic float $F;", ["atomic_store(&$F, (float)$V);"], ["(int)atomic_load(&$F)"]),
    ("extern int $F; int $F;", ["__atomic_store_n(&$F, $V, __ATOMIC_RELEASE);", "BARRIER; $F = $V; BARRIER;", "{ int given = $V; BARRIER; memcpy(&$F, &given, 4); BARRIER; }",
                                '__asm__ volatile("movl %1, %0" : "=m"($F) : "r"($V) : "memory");'],
     ["__atomic_load_n(&$F, __ATOMIC_ACQUIRE)", "*(volatile int *)&$F"]),
]
WAITS = [
    "while ($C) ;", "while ($C) { }", "do { } while ($C);", "for (;;) { if (!($C)) break; }", "for (;;) { $H if (!($C)) break; }",
    "again$N: if ($C) { $H goto again$N; }", "while ($C) { $H }", "while ($C) { for (int d = 0; d < 8; ++d) __builtin_ia32_pause(); }",
    "for (unsigned turns = 0; $C; ++turns) if (turns > 100) sched_yield();", "while ($C) while ($C) $H",
    "{ unsigned polls$N = 0; while ($C) ++polls$N; if (polls$N == ~0u) see(1); }",
    "{ volatile int d; while ($C) for (d = 0; d < 20; ++d) ; }",
]
HINTS = ["", "", "BARRIER;", "sched_yield();", "__builtin_ia32_pause();", "atomic_thread_fence(memory_order_acquire);"]
ATTRIBUTES = ["", "", "", "APART ", "APART ", "__attribute__((optnone, noinline)) ", '__attribute__((annotate("vfriendly:keep"))) ',
              "__attribute__((always_inline)) ", "__attribute__((minsize)) ", '__attribute__((no_sanitize("thread"))) ',
              '__attribute__((no_sanitize("thread"), noinline)) ', "__attribute__((cold)) "]

LOCKS = {
    "tas": ("static atomic_int l$N;", "while (atomic_exchange(&l$N, 1)) $H;", "atomic_store(&l$N, 0);"),
    "ttas": ("static atomic_int l$N;", "while (atomic_load(&l$N) || atomic_exchange(&l$N, 1)) $H;", "atomic_store_explicit(&l$N, 0, memory_order_release);"),
    "nested": ("static volatile int l$N;", "while (__sync_lock_test_and_set(&l$N, 1)) while (l$N) $H;", "__sync_lock_release(&l$N);"),
    "flag": ("static atomic_flag l$N = ATOMIC_FLAG_INIT;", "while (atomic_flag_test_and_set(&l$N)) $H;", "atomic_flag_clear(&l$N);"),
    "cas": ("static atomic_int l$N;", "for (int e = 0; !atomic_compare_exchange_weak(&l$N, &e, 1); e = 0) $H;", "atomic_store(&l$N, 0);"),
    "bit": ("static atomic_uint l$N;", "while (atomic_fetch_or(&l$N, 4) & 4) $H;", "atomic_fetch_and(&l$N, ~4u);"),
    "ticket": ("static atomic_uint l$N, o$N;", "{ unsigned t = atomic_fetch_add(&l$N, 1); while (atomic_load(&o$N) != t) $H; }", "atomic_fetch_add(&o$N, 1);"),
    "ticket-store": ("static atomic_uint l$N, o$N;", "{ unsigned t = atomic_fetch_add(&l$N, 1); while (o$N != t) $H; }", "o$N = o$N + 1;"),
    "mcs": ("static struct m$N { struct m$N *_Atomic next; atomic_int held; } *_Atomic l$N; static _Thread_local struct m$N q$N;",
            "{ q$N.next = 0; q$N.held = 1; struct m$N *b = atomic_exchange(&l$N, &q$N); if (b) { b->next = &q$N; while (q$N.held) $H; } }",
            "{ struct m$N *e = &q$N; if (q$N.next || !atomic_compare_exchange_strong(&l$N, &e, 0)) { while (!q$N.next) $H; q$N.next->held = 0; } }"),
    "clh": ("static struct h$N { atomic_int held; } d$N, *_Atomic l$N = &d$N; static _Thread_local struct h$N *mine$N, *before$N;",
            "{ if (!mine$N) mine$N = calloc(1, 64); mine$N->held = 1; before$N = atomic_exchange(&l$N, mine$N); while (before$N->held) $H; }",
            "{ struct h$N *m = mine$N; mine$N = before$N; m->held = 0; }"),
    "trylock": ("static pthread_mutex_t l$N = PTHREAD_MUTEX_INITIALIZER;", "while (pthread_mutex_trylock(&l$N)) $H;", "pthread_mutex_unlock(&l$N);"),
    "trywait": ("static sem_t l$N; __attribute__((constructor)) static void init$N(void) { sem_init(&l$N, 0, 1); }", "while (sem_trywait(&l$N)) $H;", "sem_post(&l$N);"),
    "spin": ("static pthread_spinlock_t l$N; __attribute__((constructor)) static void init$N(void) { pthread_spin_init(&l$N, 0); }", "pthread_spin_lock(&l$N);", "pthread_spin_unlock(&l$N);"),
    "readers": ("static atomic_int l$N;", "for (;;) { int v = l$N; if (!v && atomic_compare_exchange_weak(&l$N, &v, -1)) break; $H; }", "atomic_store(&l$N, 0);"),
}

# $W waits while $C; $SET(V) is a call of a function that stores V, $GET an expression.
SCENES = {
    # Two threads in turn.
    "ping": ("$DECL $SETTER static int box$N; static void *body$N(void *a) { long me = (long)a; for (int i = 0; i < $R; ++i) { int v = 2 * i + (int)me; "
             "{ $WAIT{$GET != v} } $ORDER box$N = box$N * 3 + v; set$N(v + 1); } return 0; }", "run(2, body$N); see((unsigned)box$N);"),
    # One publishes, the others read and count.
    "publish": ("$DECL $SETTER static int box$N; static atomic_int got$N, total$N; static void *body$N(void *a) { if (!a) { for (int v = 1; v <= $R; ++v) { box$N = v * 7; set$N(v); "
                "while (atomic_load(&got$N) < v * ($T - 1)) $H; } } else for (int v = 1; v <= $R; ++v) { { $WAIT{$GET < v} } $ORDER atomic_fetch_add(&total$N, box$N); atomic_fetch_add(&got$N, 1); } return 0; }",
                "run($T, body$N); see((unsigned)total$N);"),
    "delayed": ("$DECL $SETTER static void *body$N(void *a) { if (a) { nap(3); set$N(9); } else { $WAIT{$GET != 9} } return 0; }", "run(2, body$N); see(1);"),
    "sense": ("static atomic_int in$N, sense$N; static atomic_int cell$N[$R]; static atomic_int bad$N; static APART void meet$N(int *mine) { *mine = !*mine; if (atomic_fetch_add(&in$N, 1) == $T - 1) { in$N = 0; sense$N = *mine; } else while (sense$N != *mine) $H; }"
              "static void *body$N(void *a) { int mine = 0; for (int i = 0; i < $R; ++i) { cell$N[i]++; meet$N(&mine); if (cell$N[i] != $T) bad$N++; meet$N(&mine); } return 0; }",
              "run($T, body$N); see((unsigned)bad$N);"),
    "counting": ("static atomic_uint in$N; static atomic_int cell$N[$R], bad$N; static void *body$N(void *a) { for (unsigned i = 0; i < $R; ++i) { cell$N[i]++; atomic_fetch_add(&in$N, 1); while (atomic_load(&in$N) < (i + 1) * $T) $H; if (cell$N[i] != $T) bad$N++; } return 0; }",
                 "run($T, body$N); see((unsigned)bad$N);"),
    "generation": ("static volatile unsigned in$N, gen$N; static atomic_int bad$N, cell$N[$R]; static void *body$N(void *a) { for (int i = 0; i < $R; ++i) { unsigned g = gen$N; cell$N[i]++; if (__sync_add_and_fetch(&in$N, 1) == $T) { in$N = 0; __sync_synchronize(); gen$N = g + 1; } else while (gen$N == g) $H; if (cell$N[i] != $T) bad$N++; } return 0; }",
                   "run($T, body$N); see((unsigned)bad$N);"),
    "lock": ("$LOCK static long count$N; static $A void lock$N(void) { $ACQUIRE } static $A2 void unlock$N(void) { $RELEASE } static void *body$N(void *a) { for (int i = 0; i < $R * 8; ++i) { lock$N(); count$N = count$N * 1 + 1; unlock$N(); } return 0; }",
             "run($T, body$N); see((unsigned)count$N);"),
    "retry": ("static atomic_long n$N; static void *body$N(void *a) { for (int i = 0; i < $R * 20; ++i) { long o = atomic_load(&n$N); while (!atomic_compare_exchange_weak(&n$N, &o, o * 1 + 3)) $H; } return 0; }",
              "run($T, body$N); see((unsigned)n$N);"),
    "stack": ("static struct s$N { struct s$N *next; int v; } *_Atomic top$N, cells$N[4][$R]; static atomic_int got$N; static void *body$N(void *a) { struct s$N *c = cells$N[(long)a]; for (int i = 0; i < $R; ++i) { c[i].v = i; struct s$N *t = top$N; do c[i].next = t; while (!atomic_compare_exchange_weak(&top$N, &t, &c[i])); } "
              "return 0; }", "run($T, body$N); for (struct s$N *t = top$N; t; t = t->next) got$N += t->v; see((unsigned)got$N);"),
    "seqlock": ("static atomic_uint seq$N; static volatile int x$N, y$N; static atomic_int bad$N; static void *body$N(void *a) { if (!a) for (int i = 1; i < $R * 10; ++i) { atomic_fetch_add(&seq$N, 1); x$N = i; y$N = -i; atomic_fetch_add(&seq$N, 1); } "
                "else for (int i = 0; i < $R; ++i) { unsigned s; int x, y; do { while ((s = atomic_load(&seq$N)) & 1) $H; x = x$N; y = y$N; atomic_thread_fence(memory_order_acquire); } while (s != atomic_load(&seq$N)); if (x + y) bad$N++; } return 0; }",
                "run(2, body$N); see((unsigned)bad$N);"),
    "ring": ("static int slot$N[4]; static $Q head$N, tail$N; static long sum$N; static void *body$N(void *a) { for (unsigned i = 0; i < $R * 4; ++i) if (a) { while (head$N - tail$N == 4) $H; slot$N[i & 3] = (int)i; BARRIER; head$N = i + 1; } else { while (head$N == tail$N) $H; sum$N += slot$N[i & 3] * (int)i; BARRIER; tail$N = i + 1; } return 0; }",
             "run(2, body$N); see((unsigned)sum$N);"),
    "slots": ("static _Atomic(int *) at$N; static int cells$N[$R]; static long sum$N; static void *body$N(void *a) { for (int i = 0; i < $R; ++i) if (a) { cells$N[i] = i; while (at$N) $H; at$N = &cells$N[i]; } else { int *p; while (!(p = at$N)) $H; sum$N = sum$N * 3 + *p; at$N = 0; } return 0; }",
              "run(2, body$N); see((unsigned)sum$N);"),
    "handler": ("static $S flag$N; static void on$N(int s) { flag$N = 1; } static pthread_t main$N; static void *body$N(void *a) { nap(2); pthread_kill(main$N, SIGUSR1); return 0; }",
                "signal(SIGUSR1, on$N); main$N = pthread_self(); pthread_t t$N; if (pthread_create(&t$N, 0, body$N, 0)) _exit(97); while (!flag$N) $H; pthread_join(t$N, 0); see(3);"),
    "itimer": ("static $S flag$N; static void on$N(int s) { flag$N = 1; }", "{ struct itimerval v = {{0, 0}, {0, 30000}}; signal($ALARM, on$N); flag$N = 0; setitimer($WHICH, &v, 0); while (!flag$N) $H; see(4); }"),
    "timer": ("static $S flag$N; static void on$N(int s) { flag$N = 1; }", "{ timer_t t; struct sigevent e; memset(&e, 0, sizeof e); e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = SIGUSR2; signal(SIGUSR2, on$N); "
              "if (timer_create($CLOCK, &e, &t)) _exit(96); struct itimerspec v = {{0, 0}, {0, 30000000}}; timer_settime(t, 0, &v, 0); while (!flag$N) $H; timer_delete(t); see(5); }"),
    "cpu-limit": ("static $S flag$N; static void on$N(int s) { flag$N = 1; }", "{ struct rlimit r; struct rusage u; getrusage(RUSAGE_SELF, &u); getrlimit(RLIMIT_CPU, &r); signal(SIGXCPU, on$N); r.rlim_cur = (rlim_t)u.ru_utime.tv_sec + 1; setrlimit(RLIMIT_CPU, &r); while (!flag$N) $H; r.rlim_cur = r.rlim_max; setrlimit(RLIMIT_CPU, &r); see(6); }"),
    "clock": ("", "{ clock_t end = clock() + CLOCKS_PER_SEC / 50; while (clock() < end) $H; struct timespec a, b; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a); do { $H; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b); } while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 20000000); see(7); }"),
    "fork": ("", "{ atomic_int *s = page(); pid_t p = fork(); if (!p) { for (int i = 0; i < $R; ++i) { while (atomic_load(s) != 2 * i) $H; atomic_store(s, 2 * i + 1); } _exit(5); } "
             "for (int i = 0; i < $R; ++i) { while (atomic_load(s) != 2 * i + 1) $H; atomic_store(s, 2 * i + 2); } int w = 0; waitpid(p, &w, 0); see((unsigned)w); }"),
    "fork-late": ("", "{ volatile int *s = page(); pid_t p = fork(); if (!p) { while (!*s) $H; _exit(6); } nap(3); *s = 1; int w = 0; waitpid(p, &w, 0); see((unsigned)w); }"),
    "seccomp": ("", "{ atomic_int *s = page(); pid_t p = fork(); if (!p) { if (prctl(PR_SET_SECCOMP, 1)) syscall(SYS_exit, 7); while (!atomic_load(s)) $H2; syscall(SYS_exit, 7); } nap(50); atomic_store(s, 1); int w = 0; waitpid(p, &w, 0); see((unsigned)w); }"),
    "child": ("", "{ pid_t p = fork(); if (!p) { nap(2); _exit(8); } int w = 0; while (waitpid(p, &w, WNOHANG) == 0) $H; see((unsigned)w); }"),
    "tryjoin": ("static void *body$N(void *a) { nap(2); return a; }", "{ pthread_t t; if (pthread_create(&t, 0, body$N, (void *)11)) _exit(97); void *r; while (pthread_tryjoin_np(t, &r)) $H; see((unsigned)(uintptr_t)r); }"),
    "retry-read": ("static int fd$N[2]; static void *body$N(void *a) { if (a) { nap(2); (void)!write(fd$N[1], \"k\", 1); } else { char c = 0; ssize_t n; while ((n = read(fd$N[0], &c, 1)) < 0 && errno == EAGAIN) $H; see((unsigned)c); } return 0; }",
                   "if (pipe2(fd$N, O_NONBLOCK)) _exit(96); run(2, body$N);"),
    "bounded": ("$DECL static int tries$N; static APART int try$N(int most) { for (int i = 0; i < most; ++i) { if ($GET == 77) return i; $H } return -1; }", "see((unsigned)try$N(200)); see((unsigned)try$N(3));"),
    "masked": ("static atomic_uint bits$N; static void *body$N(void *a) { long me = (long)a; for (unsigned i = 0; i < $R; ++i) { while (((atomic_load(&bits$N) >> 4) & 1) != (unsigned)me) $H; if (me) atomic_fetch_and(&bits$N, ~16u); else atomic_fetch_or(&bits$N, 16u); } return 0; }",
               "run(2, body$N); see((unsigned)bits$N);"),
    "pair": ("static atomic_int a$N, b$N; static void *body$N(void *p) { if (p) { nap(1); atomic_store(&a$N, 1); nap(1); atomic_store(&b$N, 1); } else { while (!atomic_load(&a$N) || !atomic_load(&b$N)) $H; while (!(a$N & b$N)) $H; } return 0; }", "run(2, body$N); see(9);"),
}
# A second of CPU time: rarely.
RARE = {"cpu-limit": 0.02}


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.count = 0

    def wait(self, condition):
        hint = self.r.choice(HINTS)
        return self.r.choice(WAITS).replace("$C", condition).replace("$H", hint or ";").replace("$N", f"{self.count}_{self.r.randrange(10**6)}")

    def scene(self, name):
        self.count += 1
        n = str(self.count)
        declaration, stores, loads = self.r.choice(FLAGS)
        store = self.r.choice(stores).replace("$V", "v")
        # The setter may be called by a pointer, which the pass cannot follow.
        setter = f"static {self.r.choice(ATTRIBUTES)}void set{n}(int v) {{ {store} }}"
        if self.r.random() < 0.2:
            setter = setter.replace(f"set{n}", f"direct{n}") + f" static void (*volatile set{n})(int) = direct{n};"
        lock = LOCKS[self.r.choice(sorted(LOCKS))]
        which, alarm = self.r.choice([("ITIMER_REAL", "SIGALRM"), ("ITIMER_VIRTUAL", "SIGVTALRM"), ("ITIMER_PROF", "SIGPROF")])
        hint = self.r.choice(HINTS)
        get = self.r.choice(loads)
        names = {
            # Nothing else orders a volatile read before plain ones.
            "$ORDER": "BARRIER;" if "volatile" in declaration + get else "",
            "$DECL": declaration, "$SETTER": setter, "$LOCK": lock[0], "$ACQUIRE": lock[1], "$RELEASE": lock[2],
            "$GET": get, "$A2": self.r.choice(ATTRIBUTES), "$A": self.r.choice(ATTRIBUTES), "$F": f"f{n}", "$T": str(self.r.choice([2, 2, 3])),
            "$R": str(self.r.choice([4, 8, 12])), "$WHICH": which, "$ALARM": alarm, "$Q": self.r.choice(["atomic_uint", "volatile unsigned"]),
            "$S": self.r.choice(["volatile sig_atomic_t", "atomic_int", "volatile unsigned char"]),
            "$CLOCK": self.r.choice(["CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID", "CLOCK_REALTIME"]),
            # No system call: strict seccomp allows none.
            "$H2": hint if "sched" not in hint and hint else "{ }", "$H": hint or "{ }", "$N": n,
        }
        parts = []
        for part in SCENES[name]:
            while "$WAIT{" in part:
                before, _, rest = part.partition("$WAIT{")
                condition, _, after = rest.partition("}")
                part = before + self.wait(condition) + after
            for key in sorted(names, key=lambda k: (k in ("$F", "$N"), -len(k))):
                part = part.replace(key, names[key])
            parts.append(part)
        return f"// {name}\n{parts[0]}\nstatic void scene{n}(void) {{ {parts[1]} }}\n"

    def text(self):
        names = [n for n in SCENES if self.r.random() < RARE.get(n, 1)]
        chosen = [self.r.choice(names) for _ in range(self.r.randrange(2, 5))]
        scenes = "".join(self.scene(name) for name in chosen)
        calls = " ".join(f"scene{k + 1}();" for k in range(len(chosen)))
        return PRELUDE + scenes + f'int main(void) {{ {calls} printf("%u\\n", sum); return 0; }}\n'
