// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the real runtime/blocking-sync/*.c under Relacy, so that model and code
// cannot drift apart: they are compiled with -fsanitize=thread, which calls a
// function before each plain access to memory and instead of each atomic one. Here
// these functions are Relacy's, not ThreadSanitizer's: each atomic object is an
// rl::atomic, whose loads may return what another thread overwrote, and plain memory
// is watched as rl::var is. A plain write begins a new object, so whatever was
// atomic before must be over by then: that is how a lock that is touched after it was
// given up shows.
//
// What is not covered: forks; signal handlers; statistics, which are off; values
// older than the last three. How long a wait spins is spin-wait's and left open
// (others.c); constants that only say how often something is repeated are lowered by
// orders.py. A compare-and-swap may fail by reading an old value, as C has it.

#include <errno.h>
// Relacy's headers define these anew.
constexpr int Again = EAGAIN, Interrupted = EINTR, TimedOut = ETIMEDOUT;
#include <relacy/relacy.hpp>
// And these for its tests; this file is no test but a part of Relacy.
#undef new
#undef delete
#undef malloc
#undef free
#undef assert
#undef errno

#include "model.h"
#include "platform/linux/kernel.h"
#include "platform/linux/vcpu_state.h"

extern "C" {
// runtime/blocking-sync/parking_table.c, spin-wait/shared.c and limit.c reserve these.
extern char vf_parking_2[266240], vf_generations_1[4], vf_spin_shared_1[16640],
    vf_limit_1[2752];
// The linker's: what lies between is static, all else here a thread's stack.
extern char __data_start, _end;
}

namespace {

const scenario *the_scenario;

/*===- memory -------------------------------------------------------------===*/

template <typename T> using Atomic = rl::generic_atomic<T, true>;

// What is known of four bytes.
struct Cell {
  uintptr_t Address; // 0: free
  rl::var_data *Plain;
  // What is atomic may be read plainly where a lock orders it after the writes.
  rl::var_data *AtomicWrites;
  // The atomic object that begins here or, if it is of eight bytes, 4 before.
  uintptr_t Begin;
  size_t Size; // 0: none
  alignas(Atomic<uint64_t>) char Object[sizeof(Atomic<uint64_t>)];
};

constexpr size_t MaxCells = 4096;
Cell Cells[MaxCells];
Cell *Used[MaxCells];
size_t NUsed;

// Atomic objects that are there when the threads begin. Learnt as they are met, so
// the first runs are for learning.
struct Static {
  uintptr_t Begin;
  size_t Size;
} Statics[256];
size_t NStatics;
bool Beginning;

void fail(const char *What, rl::test_result_e Result, uintptr_t Pc) {
  static char At[32];
  snprintf(At, sizeof At, "0x%lx", (unsigned long)Pc - 1);
  rl::ctx().fail_test(What, Result, rl::debug_info("", At, 0));
}

Cell &cellOf(uintptr_t Address) {
  Address &= ~uintptr_t(3);
  size_t I = (Address >> 2) * 0x9E3779B97F4A7C15u >> 52;
  while (Cells[I].Address != 0 && Cells[I].Address != Address)
    I = (I + 1) % MaxCells;
  Cell &C = Cells[I];
  if (C.Address == 0) {
    C.Address = Address;
    C.Plain = rl::ctx().var_ctor();
    C.AtomicWrites = rl::ctx().var_ctor();
    C.Size = 0;
    Used[NUsed++] = &C;
    if (NUsed > MaxCells / 2)
      abort();
  }
  return C;
}

template <typename T> Atomic<T> &objectAt(Cell &C) {
  return *reinterpret_cast<Atomic<T> *>(C.Object);
}

void endAtomic(Cell &C) {
  Cell &First = cellOf(C.Begin);
  if (First.Size == 8) {
    objectAt<uint64_t>(First).~Atomic<uint64_t>();
    cellOf(C.Begin + 4).Size = 0;
  } else {
    objectAt<uint32_t>(First).~Atomic<uint32_t>();
  }
  First.Size = 0;
}

bool isStatic(uintptr_t Address) {
  return Address >= (uintptr_t)&__data_start && Address < (uintptr_t)&_end;
}

template <typename T> Atomic<T> &atomicAt(uintptr_t Address) {
  Cell &C = cellOf(Address);
  if (C.Size == sizeof(T) && C.Begin == Address)
    return objectAt<T>(C);
  if (C.Size != 0)
    fail("atomic objects that overlap", rl::test_result_user_assert_failed, 0);
  if (isStatic(Address) && !Beginning)
    Statics[NStatics++] = {Address, sizeof(T)};
  Atomic<T> *Object = ::new (C.Object) Atomic<T>;
  for (uintptr_t A = Address; A < Address + sizeof(T); A += 4) {
    cellOf(A).Begin = Address;
    cellOf(A).Size = sizeof(T);
  }
  T Value = *(T *)Address;
  if (Value != 0 || Beginning || !isStatic(Address))
    Object->store(Value, rl::mo_relaxed, $);
  return *Object;
}

// Outside the threads, in constructors, memory is memory.
bool isModelled(uintptr_t Address) {
  return rl::is_ctx() && rl::ctx().threadx_ &&
         // What waits learn from each other is ordered by nothing, and steers
         // only for how long they spin.
         Address - (uintptr_t)vf_spin_shared_1 >= sizeof vf_spin_shared_1 &&
         Address - (uintptr_t)vf_limit_1 >= sizeof vf_limit_1;
}

void plain(uintptr_t Address, size_t Size, bool Write, uintptr_t Pc) {
  if (!isModelled(Address) || Size == 0)
    return;
  rl::context &Ctx = rl::ctx();
  for (uintptr_t A = Address & ~uintptr_t(3); A < Address + Size; A += 4) {
    Cell &C = cellOf(A);
    if (!(Write ? C.Plain->store(*Ctx.threadx_) : C.Plain->load(*Ctx.threadx_)))
      fail("data race", rl::test_result_data_race, Pc);
    if (!C.AtomicWrites->load(*Ctx.threadx_))
      fail("data race: plain beside atomic", rl::test_result_data_race, Pc);
    if (C.Size != 0 && Write)
      endAtomic(C);
  }
}

void noteWrite(uintptr_t Address, size_t Size) {
  for (size_t I = 0; I < Size; I += 4)
    cellOf(Address + I).AtomicWrites->init(*rl::ctx().threadx_);
}

// One atomic operation: op takes the object and returns what the code gets.
template <typename T, typename F>
auto atomically(volatile T *Word, uintptr_t Pc, F Op) {
  uintptr_t Address = (uintptr_t)Word;
  rl::context &Ctx = rl::ctx();
  Ctx.sched();
  Ctx.disable_preemption();
  for (size_t I = 0; I < sizeof(T); I += 4)
    if (!cellOf(Address + I).Plain->load(*Ctx.threadx_))
      fail("data race: not an atomic object here", rl::test_result_data_race,
           Pc);
  Atomic<T> &Object = atomicAt<T>(Address);
  auto Result = Op(Object);
  *Word = Object.debug_value();
  Ctx.enable_preemption();
  return Result;
}

// Where it stands, for the history, which keeps the pointer.
rl::debug_info at(uintptr_t Pc) {
  if (!rl::ctx().collecting_history())
    return rl::debug_info();
  char *Site = (char *)::malloc(32);
  snprintf(Site, 32, "0x%lx", (unsigned long)Pc - 1);
  return rl::debug_info("", Site, 0);
}

template <typename T>
bool compareExchange(volatile T *Word, T *Expected, T Desired, int Success,
                     int Failure, uintptr_t Pc) {
  using namespace rl;
  return atomically(Word, Pc, [&](Atomic<T> &Object) {
    // It may fail because of an old value, which is then a load.
    if (ctx().rand(4, sched_type_cas_fail) == 0) {
      T Old = Object.load((memory_order)Failure, at(Pc));
      if (Old != *Expected) {
        *Expected = Old;
        return false;
      }
    }
    // Relacy does not know orders that are stronger for failure.
    bool Equal = Object.debug_value() == *Expected;
    if (Equal)
      noteWrite((uintptr_t)Word, sizeof(T));
    return Object.compare_exchange(
        bool_t<false>(), *Expected, Desired,
        Equal ? (memory_order)Success : (memory_order)Failure,
        Equal ? mo_relaxed : (memory_order)Failure, at(Pc));
  });
}

/*===- futexes, time ------------------------------------------------------===*/

// Waits and wakes order nothing: the code must not count on it. The comparison sees
// the last value, as the kernel's does by its lock for all that a wake follows.
struct Sleeper {
  uintptr_t Word;
  int Scope;
  int Thread;
} Sleepers[8];
unsigned NSleepers;

void removeSleeper(unsigned I) {
  for (--NSleepers; I < NSleepers; ++I)
    Sleepers[I] = Sleepers[I + 1];
}

uint32_t lastValue(uintptr_t Word) {
  Cell &C = cellOf(Word);
  if (C.Size == 8) {
    uint64_t Value = objectAt<uint64_t>(cellOf(C.Begin)).debug_value();
    uint32_t Halves[2];
    memcpy(Halves, &Value, 8);
    return Halves[C.Begin != Word];
  }
  return C.Size == 4 ? objectAt<uint32_t>(C).debug_value() : *(uint32_t *)Word;
}

uint64_t Now;

// Whether this run has /dev/vcpu_state: every fourth, as in those acquisitions go
// another way, which the other runs are to find weakenings without.
unsigned Runs;
bool hasDevice() { return Runs % 4 == 0; }

} // namespace

extern "C" {

uint64_t vf_now_ns(void) {
  // Beyond all that anything here waits for, or nearly nothing.
  Now += rl::rand(4) == 0 ? 2000000 : 100;
  return Now;
}

void vf_yield(void) { rl::ctx().yield(1, $); }
void vf_sleep_ns(uint64_t) { rl::ctx().yield(1, $); }

int vf_futex_wait_until(uint32_t *Word, uint32_t Value,
                        const struct vf_deadline *Deadline,
                        enum vf_scope Scope) {
  rl::context &Ctx = rl::ctx();
  Ctx.sched();
  if (lastValue((uintptr_t)Word) != Value)
    return Again;
  int Self = Ctx.threadx_->index_;
  Sleepers[NSleepers++] = {(uintptr_t)Word, Scope, Self};
  rl::unpark_reason Why = Ctx.park_current_thread(
      Deadline != nullptr, /*allow_spurious_wakeup=*/true, false, $);
  if (Why == rl::unpark_reason_normal)
    return 0;
  for (unsigned I = 0; I < NSleepers; ++I)
    if (Sleepers[I].Thread == Self)
      removeSleeper(I--);
  return Why == rl::unpark_reason_timeout ? TimedOut : Interrupted;
}

void vf_futex_wake(uint32_t *Word, int N, enum vf_scope Scope) {
  rl::context &Ctx = rl::ctx();
  Ctx.sched();
  for (; N > 0; --N) {
    unsigned Found[8], NFound = 0;
    for (unsigned I = 0; I < NSleepers; ++I)
      if (Sleepers[I].Word == (uintptr_t)Word && Sleepers[I].Scope == Scope)
        Found[NFound++] = I;
    if (NFound == 0)
      return;
    unsigned I = Found[rl::rand(NFound)];
    int Thread = Sleepers[I].Thread;
    removeSleeper(I);
    Ctx.unpark_thread(Thread, false, $);
  }
}

bool vf_vcpu_states_are_there(void) { return hasDevice(); }

// The only atomic objects of this size hold numbers of a CPU and a thread and a count of spins,
// hints that order nothing.
uint16_t __tsan_atomic16_load(const volatile uint16_t *A, int) { return *A; }
void __tsan_atomic16_store(volatile uint16_t *A, uint16_t V, int) { *A = V; }

unsigned model_choose(unsigned N) { return rl::rand(N); }

void model_check(bool Holds, const char *What) {
  if (!Holds)
    fail(What, rl::test_result_user_assert_failed,
         (uintptr_t)__builtin_return_address(0));
}

/*===- what -fsanitize=thread calls ---------------------------------------===*/

#define PC (uintptr_t) __builtin_return_address(0)

void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}

#define PLAIN(size)                                                            \
  void __tsan_read##size(void *A) { plain((uintptr_t)A, size, false, PC); }    \
  void __tsan_write##size(void *A) { plain((uintptr_t)A, size, true, PC); }    \
  void __tsan_unaligned_read##size(void *A) {                                  \
    plain((uintptr_t)A, size, false, PC);                                      \
  }                                                                            \
  void __tsan_unaligned_write##size(void *A) {                                 \
    plain((uintptr_t)A, size, true, PC);                                       \
  }                                                                            \
  void __tsan_read_write##size(void *A) {                                      \
    plain((uintptr_t)A, size, true, PC);                                       \
  }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

void *__tsan_memset(void *A, int Value, size_t N) {
  plain((uintptr_t)A, N, true, PC);
  return memset(A, Value, N);
}

void *__tsan_memcpy(void *To, const void *From, size_t N) {
  plain((uintptr_t)From, N, false, PC);
  plain((uintptr_t)To, N, true, PC);
  return memcpy(To, From, N);
}

#define RMW(bits, name, type)                                                  \
  uint##bits##_t __tsan_atomic##bits##_##name(                                 \
      volatile uint##bits##_t *A, uint##bits##_t V, int Order) {               \
    if (!isModelled((uintptr_t)A)) {                                           \
      uint##bits##_t Old = *A;                                                 \
      *A = rl::perform_rmw(rl::rmw_type_t<rl::type>(), Old, V);                \
      return Old;                                                              \
    }                                                                          \
    uintptr_t Pc = PC;                                                         \
    return atomically(A, Pc, [&](Atomic<uint##bits##_t> &Object) {             \
      noteWrite((uintptr_t)A, bits / 8);                                       \
      return Object.rmw(rl::rmw_type_t<rl::type>(), V,                         \
                        (rl::memory_order)Order, at(Pc));                 \
    });                                                                        \
  }

#define ATOMIC(bits)                                                           \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *A,  \
                                            int Order) {                       \
    if (!isModelled((uintptr_t)A))                                             \
      return *A;                                                               \
    uintptr_t Pc = PC;                                                         \
    return atomically((volatile uint##bits##_t *)A, Pc,                        \
                      [&](Atomic<uint##bits##_t> &Object) {                    \
                        return Object.load((rl::memory_order)Order,            \
                                           at(Pc));                       \
                      });                                                      \
  }                                                                            \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t *A,                 \
                                   uint##bits##_t V, int Order) {              \
    if (!isModelled((uintptr_t)A)) {                                           \
      *A = V;                                                                  \
      return;                                                                  \
    }                                                                          \
    uintptr_t Pc = PC;                                                         \
    atomically(A, Pc, [&](Atomic<uint##bits##_t> &Object) {                    \
      noteWrite((uintptr_t)A, bits / 8);                                       \
      Object.store(V, (rl::memory_order)Order, at(Pc));                   \
      return 0;                                                                \
    });                                                                        \
  }                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(                           \
      volatile uint##bits##_t *A, uint##bits##_t *Expected,                    \
      uint##bits##_t V, int Success, int Failure) {                            \
    return compareExchange(A, Expected, V, Success, Failure, PC);              \
  }                                                                            \
  uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                   \
      volatile uint##bits##_t *A, uint##bits##_t Expected, uint##bits##_t V,   \
      int Success, int Failure) {                                              \
    compareExchange(A, &Expected, V, Success, Failure, PC);                    \
    return Expected;                                                           \
  }                                                                            \
  RMW(bits, exchange, rmw_type_swap)                                           \
  RMW(bits, fetch_add, rmw_type_add)                                           \
  RMW(bits, fetch_sub, rmw_type_sub)                                           \
  RMW(bits, fetch_and, rmw_type_and)                                           \
  RMW(bits, fetch_or, rmw_type_or)
ATOMIC(32) ATOMIC(64)

} // extern "C"

/*===- the search ---------------------------------------------------------===*/

template <int N> struct Suite : rl::test_suite<Suite<N>, N> {
  void before() {
    // After a failure Relacy's objects went with its context.
    for (size_t I = 0; I < NUsed; ++I)
      Used[I]->Address = 0;
    NUsed = NSleepers = 0;
    Now = 10000000;
    ++Runs;
    memset(vf_parking_2, 0, sizeof vf_parking_2);
    memset(vf_generations_1, 0, sizeof vf_generations_1);
    memset(vf_spin_shared_1, 0, sizeof vf_spin_shared_1);
    the_scenario->before();
    Beginning = true;
    for (size_t I = 0; I < NStatics; ++I)
      if (Statics[I].Size == 8)
        atomicAt<uint64_t>(Statics[I].Begin);
      else
        atomicAt<uint32_t>(Statics[I].Begin);
    Beginning = false;
  }
  void thread(unsigned Number) { the_scenario->thread((int)Number); }
  void after() {
    if (the_scenario->after)
      the_scenario->after();
    for (size_t I = 0; I < NUsed; ++I) {
      if (Used[I]->Size != 0)
        endAtomic(*Used[I]);
      rl::ctx().var_dtor(Used[I]->Plain);
      rl::ctx().var_dtor(Used[I]->AtomicWrites);
    }
    for (size_t I = 0; I < NUsed; ++I)
      Used[I]->Address = 0;
    NUsed = 0;
  }
};

static bool search(unsigned long Runs, std::ostream &Out) {
  rl::test_params Params;
  Params.iteration_count = Runs;
  Params.execution_depth_limit = 20000;
  Params.output_stream = &Out;
  Params.progress_stream = &Out;
  switch (the_scenario->threads) {
  case 2:
    return rl::simulate<Suite<2>>(Params);
  case 3:
    return rl::simulate<Suite<3>>(Params);
  default:
    return rl::simulate<Suite<4>>(Params);
  }
}

// model [FACTOR [NAME...]]: the scenarios whose names begin so, or all, each for FACTOR
// times as many runs as it asks for. Prints the first error with what led to it, and
// returns 1.
int main(int Argc, char **Argv) {
  unsigned long Factor = Argc > 1 ? strtoul(Argv[1], nullptr, 10) : 1;
  for (unsigned I = 0; I < n_scenarios; ++I) {
    the_scenario = &scenarios[I];
    bool Wanted = Argc <= 2;
    for (int A = 2; A < Argc; ++A)
      Wanted |= strncmp(the_scenario->name, Argv[A], strlen(Argv[A])) == 0;
    if (!Wanted)
      continue;
    NStatics = 0;
    rl::ostringstream Learning, Out;
    search(100, Learning);
    bool Ok = search(the_scenario->runs * Factor, Out);
    printf("%s: %s\n", the_scenario->name, Ok ? "ok" : "error");
    if (!Ok) {
      fputs(Out.str().c_str(), stdout);
      return 1;
    }
    fflush(stdout);
  }
  return 0;
}
