// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that never end, for verdicts.c. `expected` has the letters of the
// verdicts that are right: polls, counts, times, delays; "-" for code that
// computes.

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define LOOP(name) __attribute__((noinline)) static void name(void)
#define PAUSE __builtin_ia32_pause()

// Waits.
static volatile int v_int;
static volatile unsigned char v_byte;
static volatile short v_short;
static volatile long v_long;
// Not static: nobody must know that nobody else writes them.
atomic_int a_int, a_other = 1, taken = 1;
static atomic_long a_long;
static atomic_flag a_flag = ATOMIC_FLAG_INIT;
static _Atomic unsigned char a_byte = 1;
static _Thread_local volatile int t_int;

LOOP(plain_volatile) { while (!v_int); }
LOOP(acquire) { while (!atomic_load_explicit(&a_int, memory_order_acquire)); }
LOOP(sequential) { while (!atomic_load(&a_int)); }
LOOP(with_pause) { while (!atomic_load_explicit(&a_int, memory_order_acquire)) PAUSE; }
LOOP(two_pauses) { while (!v_int) { PAUSE; PAUSE; } }
LOOP(byte) { while (!v_byte); }
LOOP(half) { while (v_short != 7); }
LOOP(wide) { while (v_long >= 0); }
LOOP(bit) { while (!(v_int & 4)); }
LOOP(masked) { while ((v_long & 0xff0) != 0x120) PAUSE; }
LOOP(do_while) { int x; do x = v_int; while (x == 0); }
LOOP(thread_local_word) { while (!t_int); }
LOOP(fenced) { while (!v_int) atomic_thread_fence(memory_order_seq_cst); }
LOOP(shifted) { while ((v_int >> 3 & 1) == 0); }
LOOP(negated) { while (!(-v_int > 5)); }
LOOP(product) { while (v_int * 12 < 30); }

struct node { struct node *volatile next; volatile int ready; volatile char padding[48]; };
static struct node first, second = {0, 0, {0}}, *volatile head = &first;
static struct node nodes[8];
static struct node *volatile nothing;
LOOP(null_pointer) { while (!nothing) PAUSE; }
LOOP(through_pointer) { while (!head->ready); }
LOOP(through_two) { first.next = &second; while (!head->next->ready) PAUSE; }
LOOP(element) { for (volatile int i = 5; !nodes[i].ready;) PAUSE; }
static volatile unsigned begin_at, end_at;
LOOP(empty_ring) { while (begin_at == end_at) PAUSE; }
LOOP(ring_room) { while (end_at - begin_at > 0x80000000u || end_at == begin_at) ; }
LOOP(less_than) { while ((int)(v_int - 10) < 0) PAUSE; }
LOOP(both) { while (!v_int || !v_byte) PAUSE; }
LOOP(either) { while (!v_int && !v_byte) PAUSE; }

atomic_uint next_ticket, serving = 1000;
LOOP(exchange) { while (atomic_exchange_explicit(&taken, 1, memory_order_acquire)); }
LOOP(exchange_pause) { while (atomic_exchange(&taken, 1)) PAUSE; }
LOOP(test_and_set) { atomic_flag_test_and_set(&a_flag); while (atomic_flag_test_and_set_explicit(&a_flag, memory_order_acquire)); }
LOOP(byte_exchange) { while (atomic_exchange(&a_byte, 1)) PAUSE; }
LOOP(then_exchange) { for (;;) { while (atomic_load_explicit(&taken, memory_order_relaxed)) PAUSE; if (!atomic_exchange(&taken, 1)) break; } }
LOOP(compare_exchange) { int zero; do zero = 0; while (!atomic_compare_exchange_weak(&taken, &zero, 1)); }
LOOP(compare_exchange_pause) { for (int zero = 0; !atomic_compare_exchange_strong(&taken, &zero, 1); zero = 0) PAUSE; }
LOOP(fetch_or) { while (atomic_fetch_or(&taken, 1) & 1); }
LOOP(fetch_add_zero) { while (!atomic_fetch_add(&a_int, 0)) PAUSE; }
LOOP(ticket) { unsigned me = 7; while (atomic_load_explicit(&serving, memory_order_acquire) != me); }
LOOP(ticket_taken) { unsigned me = atomic_fetch_add(&next_ticket, 1); while (atomic_load(&serving) != me) PAUSE; }
// Two iterations must fit into STEPS_MAX of prove.c, at -O0, too, where a pause takes eleven instructions.
LOOP(ticket_back_off) { unsigned me = 1006, is; while ((is = atomic_load(&serving)) != me) for (unsigned i = 0; i < (me - is) * 2; ++i) PAUSE; }
static _Atomic(struct node *) tail;
LOOP(mcs) { struct node mine = {0, 0, {0}}; atomic_exchange(&tail, &mine); while (!mine.ready) PAUSE; }
LOOP(clh) { struct node *before = &second; while (!before->ready); }
LOOP(reader) { for (;;) { while (atomic_load(&a_other) & 1) PAUSE; int is = 0; if (atomic_compare_exchange_weak(&a_other, &is, 2)) break; } }
static volatile unsigned sequence = 1;
LOOP(odd_sequence) { while (sequence & 1) PAUSE; }
static volatile int sense;
LOOP(barrier_sense) { int mine = 1; while (sense != mine); }
LOOP(barrier_count) { while (atomic_load(&a_int) < 4) PAUSE; }
static volatile int wants[2] = {1, 1}, turn = 1;
LOOP(peterson) { while (wants[1] && turn == 1); }

__attribute__((noinline)) static int is_ready(volatile int *p) { __asm__ volatile(""); return *p != 0; }
__attribute__((noinline)) static int is_ready_twice(volatile int *p) { __asm__ volatile(""); int r = is_ready(p); __asm__ volatile(""); return r; }
static int (*volatile predicate)(volatile int *) = is_ready;
LOOP(call) { while (!is_ready(&v_int)) PAUSE; }
LOOP(call_chain) { while (!is_ready_twice(&v_int)); }
LOOP(call_pointer) { while (!predicate(&v_int)) PAUSE; }
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
LOOP(try_mutex) { pthread_mutex_lock(&mutex); while (pthread_mutex_trylock(&mutex)) PAUSE; }
LOOP(spin_lock) { pthread_spin_init(&spin, 0); pthread_spin_lock(&spin); pthread_spin_lock(&spin); }
LOOP(yielding) { while (!v_int) sched_yield(); }
LOOP(yielding_exchange) { while (atomic_exchange(&taken, 1)) sched_yield(); }
LOOP(all_of_four) { for (;;) { int done = 1; for (int i = 0; i < 4; ++i) if (!nodes[i].ready) { done = 0; break; } if (done) break; PAUSE; } }
LOOP(any_of_four) { for (;;) { for (int i = 0; i < 4; ++i) if (nodes[i].ready) return; PAUSE; } }
LOOP(state_machine) { for (;;) switch (v_int) { case 0: PAUSE; continue; case 1: return; case 2: v_int = 1; break; default: return; } }
LOOP(pop_nothing) { for (;;) { struct node *top = nothing; if (top) { nothing = top->next; return; } PAUSE; } }

// Waits that give up, or do so in part.
LOOP(back_off) { for (;;) { int wait = 1; while (atomic_exchange(&taken, 1)) { for (int i = 0; i < wait; ++i) PAUSE; if (wait < 64) wait *= 2; } } }
LOOP(back_off_fixed) { while (atomic_exchange(&taken, 1)) for (int i = 0; i < 30; ++i) PAUSE; }
LOOP(gives_up) { for (;;) { int i; for (i = 0; i < 100000000; ++i) { if (atomic_load_explicit(&a_int, memory_order_acquire)) return; PAUSE; } } }
LOOP(gives_up_down) { for (;;) for (long i = 1000000000; i > 0; --i) if (atomic_load_explicit(&a_int, memory_order_acquire)) return; }
static unsigned long most = 300000000;
LOOP(gives_up_at_variable) { for (;;) for (unsigned long i = 0; i < most; ++i) { if (atomic_load_explicit(&a_int, memory_order_acquire) != 0) return; PAUSE; } }
LOOP(counted_statistics) { static long spins; long n = 0; while (!v_int) { ++n; PAUSE; } spins = n; (void)spins; }
LOOP(until_time) { uint64_t end = __rdtsc() + UINT64_C(1000000000000); while (!v_int && __rdtsc() < end) PAUSE; }
static uint64_t clock_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }
LOOP(until_clock) { uint64_t end = clock_ns() + UINT64_C(1000000000000); while (!v_int && clock_ns() < end) PAUSE; }
LOOP(pauses) { for (volatile long i = 0; i < 1000000000000; ++i) PAUSE; }

// Code that computes.
static uint64_t table[1024], zeros[1024];
static volatile uint64_t sink;
static volatile int never;
LOOP(c_xorshift) { uint64_t x = 88172645463325252u; while (!never) { for (int i = 0; i < 100000; ++i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } sink = x; } }
LOOP(c_congruence) { uint32_t x = 1; for (;;) { for (int i = 0; i < 100000; ++i) x = x * 1664525 + 1013904223; sink = x; } }
LOOP(c_sum) { for (;;) { uint64_t s = 0; for (int i = 0; i < 20000; ++i) s += table[i & 1023]; sink = s; } }
LOOP(c_sum_of_zeros) { for (;;) { uint64_t s = 0; for (int i = 0; i < 20000; ++i) s += zeros[i & 1023]; sink = s; } }
LOOP(c_sum_of_one) { for (;;) { uint64_t s = 0; for (int i = 0; i < 20000; ++i) s += *(volatile uint64_t *)&table[3]; sink = s; } }
LOOP(c_sum_of_one_zero) { for (;;) { uint64_t s = 0; for (int i = 0; i < 20000; ++i) s += *(volatile uint64_t *)&zeros[3]; sink = s; } }
LOOP(c_counter) { uint64_t c = 0; while (!never) ++c; sink = c; }
LOOP(c_empty) { for (;;) for (volatile int i = 0; i < 50000; ++i); }
static volatile int length = 50000;
LOOP(c_empty_to_variable) { for (;;) for (volatile int i = 0; i < length; ++i); }
LOOP(c_scan) { for (;;) { int c = 0; const volatile unsigned char *p = (unsigned char *)table; for (int i = 0; i < 8000; ++i) if (p[i] == 7) ++c; sink = (uint64_t)c; } }
LOOP(c_find) { for (;;) { const volatile unsigned char *p = (unsigned char *)zeros; int i = 0; while (i < 8000 && p[i] != 7) ++i; sink = (uint64_t)i; } }
LOOP(c_chase) { struct node *p = nodes; for (int i = 0; i < 8; ++i) nodes[i].next = &nodes[(i + 3) & 7]; for (;;) { for (int i = 0; i < 5000; ++i) p = p->next; sink = (uint64_t)(uintptr_t)p; } }
LOOP(c_float) { for (;;) { double x = 1; for (int i = 0; i < 10000; ++i) x = x * 1.0000001 + 1e-9; sink = (uint64_t)x; } }
LOOP(c_same_store) { for (;;) for (long r = 0; r < 2000000; ++r) *(volatile uint64_t *)&table[2] = table[0] + table[1]; }
LOOP(c_copy) { static char from[4096], to[4096]; for (;;) { for (volatile int i = 0; i < 4096; ++i) to[i] = (char)(from[i] + 1); sink = (uint64_t)to[5]; } }
LOOP(c_increments) { static atomic_long count; for (;;) atomic_fetch_add(&count, 1); }
LOOP(c_lock_and_unlock) { static atomic_int mine; for (;;) { while (atomic_exchange(&mine, 1)) PAUSE; atomic_store(&mine, 0); } }
LOOP(c_toggles) { for (;;) { atomic_store(&a_long, 1); atomic_store(&a_long, 0); } }
LOOP(c_gcd) { for (;;) { uint64_t a = 1134903170 + sink % 3, b = 701408733; while (b) { uint64_t t = a - b; if (a < b) { t = a; a = b; b = t; } else a = t; } sink = a; } }
LOOP(c_collatz) { for (uint64_t n = 1;; ++n) { uint64_t x = n; while (x != 1) x = x & 1 ? 3 * x + 1 : x / 2; sink = x; } }
LOOP(c_sort) { for (;;) { for (int i = 0; i < 256; ++i) table[i] = (uint64_t)(i * 7919) & 255; for (int i = 0; i < 256; ++i) for (int k = 0; k + 1 < 256; ++k) if (table[k] > table[k + 1]) { uint64_t t = table[k]; table[k] = table[k + 1]; table[k + 1] = t; } } }
LOOP(c_checksum) { for (;;) { uint32_t c = 0; for (int i = 0; i < 8000; ++i) { c ^= ((unsigned char *)table)[i]; for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1; } sink = c; } }
LOOP(c_multiply) { static uint64_t a[16][16], b[16][16], c[16][16]; for (;;) for (int i = 0; i < 16; ++i) for (int k = 0; k < 16; ++k) { uint64_t s = 0; for (int j = 0; j < 16; ++j) s += a[i][j] * b[j][k]; c[i][k] = s; sink = s; } }
LOOP(c_popcount) { for (;;) { uint64_t n = 0; for (uint64_t x = 0xfedcba9876543210u; x; x &= x - 1) ++n; sink += n; } }

static const struct {
  const char *name;
  void (*run)(void);
  const char *expected;
} loops[] = {
#define WAIT(name) {#name, name, "p"}
    WAIT(plain_volatile), WAIT(acquire), WAIT(sequential), WAIT(with_pause),
    WAIT(two_pauses), WAIT(byte), WAIT(half), WAIT(wide), WAIT(bit),
    WAIT(masked), WAIT(do_while), WAIT(thread_local_word), WAIT(fenced),
    WAIT(shifted), WAIT(negated), WAIT(product), WAIT(null_pointer),
    WAIT(through_pointer), WAIT(through_two), WAIT(element), WAIT(empty_ring),
    WAIT(ring_room), WAIT(less_than), WAIT(both), WAIT(either), WAIT(exchange),
    WAIT(exchange_pause), WAIT(test_and_set), WAIT(byte_exchange),
    WAIT(then_exchange), WAIT(compare_exchange), WAIT(compare_exchange_pause),
    WAIT(fetch_or), WAIT(fetch_add_zero), WAIT(ticket), WAIT(ticket_taken),
    {"ticket_back_off", ticket_back_off, "pd"}, WAIT(mcs), WAIT(clh),
    WAIT(reader), WAIT(odd_sequence), WAIT(barrier_sense),
    WAIT(barrier_count), WAIT(peterson), WAIT(call), WAIT(call_chain),
    WAIT(call_pointer), WAIT(try_mutex), WAIT(spin_lock), WAIT(yielding),
    WAIT(yielding_exchange), WAIT(all_of_four), WAIT(any_of_four),
    WAIT(state_machine), WAIT(pop_nothing),
    {"back_off", back_off, "pd"}, {"back_off_fixed", back_off_fixed, "pd"},
    {"gives_up", gives_up, "c"}, {"gives_up_down", gives_up_down, "c"},
    {"gives_up_at_variable", gives_up_at_variable, "c"},
    {"counted_statistics", counted_statistics, "pc"},
    {"until_time", until_time, "t"}, {"until_clock", until_clock, "t"},
    {"pauses", pauses, "d"},
#define WORK(name) {#name, c_##name, "-"}
    WORK(xorshift), WORK(congruence), WORK(sum), WORK(sum_of_zeros),
    WORK(sum_of_one), WORK(sum_of_one_zero), WORK(counter), WORK(empty),
    WORK(empty_to_variable), WORK(scan), WORK(find), WORK(chase), WORK(float),
    WORK(same_store), WORK(copy), WORK(increments), WORK(lock_and_unlock),
    WORK(toggles), WORK(gcd), WORK(collatz), WORK(sort), WORK(checksum),
    WORK(multiply), WORK(popcount),
};
#define LOOPS (sizeof loops / sizeof *loops)
