// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded into a program that vfriendly measure starts where it may have
// neither BPF nor perf events: each thread samples itself by a timer of its CPU
// time, and copies its registers and stack into a file that is mapped,
// VF_SAMPLE. vfriendly/measuring/preloading.py reads it and has the same
// layouts.
//
// It is a guest in somebody's process:
// - No system call of the program ends early. Since Linux 5.11, a timer of CPU
//   time sends its signal when the thread returns to user space, after the
//   system call; the reader starts this on no older kernel.
// - The signal is one of real time that the program has no handler for. A
//   handler that the program sets for it later is called for all signals but
//   the timer's. It is never blocked, so that sigwait and signalfd do not see
//   it; a thread that gets one of the program's while the program believes it
//   blocked is sampled no more, and has it blocked.
// - No file stays open. A timer ends with its thread and at exec; a child has
//   its own.
// Not seen: threads that do not come from pthread_create, and those whose stack
// is too small for a signal. A program that filters its own system calls may be
// ended by timer_create in its new threads.
#define _GNU_SOURCE
#include "ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
// In the library's static TLS: a signal handler must not allocate it.
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

// The kernel looks at timers of CPU time at its ticks, of which it has 250 a
// second or more in most distributions. One that was missed is in si_overrun.
#define PERIOD_NS 4000000
// As perf events copy; the frames of libc and the program's last few.
#define STACK 2048
#define REGISTERS 17
#define MAGIC 0x31656c706d617376 // "vsample1"
// Bytes of a stack below which its thread has no timer: with AVX-512 or AMX, a
// signal takes up to 11 KiB of it.
#define LEAST_STACK (64 << 10)

struct head {
  uint64_t magic;
  _Atomic uint64_t next, lost;
};

enum { FREE, WRITTEN, READY };

struct slot {
  _Atomic uint32_t state;
  uint32_t process, thread, each;
  uint64_t ns;
  uint32_t size, cpu;
  uint64_t registers[REGISTERS]; // in the order of DWARF, then ip
  unsigned char stack[STACK];
};

static struct head *ring; // NULL while nothing is sampled
static struct slot *slots;
static uint64_t slot_count;
static int number; // of the signal
static struct sigaction of_program;
static const char mark; // its address tells the timer's signals from others

THREAD_LOCAL timer_t timer;
THREAD_LOCAL bool has_timer;
THREAD_LOCAL bool blocked; // as the program sees it
THREAD_LOCAL uint32_t process, thread;
THREAD_LOCAL uintptr_t stack_begin, stack_end;

static int (*next_create)(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
static int (*next_action)(int, const struct sigaction *, struct sigaction *);
static int (*next_mask)(int, const sigset_t *, sigset_t *);
static int (*next_process_mask)(int, const sigset_t *, sigset_t *);
static sighandler_t (*next_signal)(int, sighandler_t);

// Others' constructors may call these before this library's. Two calls at once
// write the same.
static void look_up(void) {
  next_action = dlsym(RTLD_NEXT, "sigaction");
  next_mask = dlsym(RTLD_NEXT, "pthread_sigmask");
  next_process_mask = dlsym(RTLD_NEXT, "sigprocmask");
  next_signal = dlsym(RTLD_NEXT, "signal");
  next_create = dlsym(RTLD_NEXT, "pthread_create");
}

static void *next(void *function) {
  if (!*(void **)function)
    look_up();
  return *(void **)function;
}

// Returns how many bytes above sp can be read for sure. A coroutine's stack is
// not the thread's; of it, only the page at sp is known to be there.
static size_t readable(uintptr_t sp) {
  size_t size =
      stack_begin <= sp && sp < stack_end ? stack_end - sp : 4096 - (sp & 4095);
  return size < STACK ? size : STACK;
}

static void sample(const siginfo_t *info, const ucontext_t *context) {
  static const int order[REGISTERS] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
      REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  uint64_t at = atomic_fetch_add_explicit(&ring->next, 1, memory_order_relaxed);
  struct slot *s = &slots[at % slot_count];
  uint32_t expected = FREE;
  if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, WRITTEN,
                                               memory_order_acquire,
                                               memory_order_relaxed)) {
    atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
    return;
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now); // The vDSO's: no system call.
  s->process = process;
  s->thread = thread;
  s->each = 1 + (info->si_overrun > 0 ? info->si_overrun : 0);
  s->ns = now.tv_sec * 1000000000ull + now.tv_nsec;
  s->cpu = (uint32_t)sched_getcpu(); // The vDSO's, too, or of struct rseq.
  const greg_t *registers = context->uc_mcontext.gregs;
  for (int i = 0; i < REGISTERS; i++)
    s->registers[i] = registers[order[i]];
  s->size = readable(registers[REG_RSP]);
  memcpy(s->stack, (const void *)registers[REG_RSP], s->size);
  atomic_store_explicit(&s->state, READY, memory_order_release);
}

// What a signal that the program itself has sent does, had it this number for
// itself.
static void pass_on(int signal_number, siginfo_t *info, void *context) {
  struct sigaction action = of_program;
  if (action.sa_flags & SA_SIGINFO)
    return action.sa_sigaction(signal_number, info, context);
  if (action.sa_handler == SIG_IGN)
    return;
  if (action.sa_handler != SIG_DFL)
    return action.sa_handler(signal_number);
  // Ends the process, as the signal is not blocked any more after this handler.
  struct sigaction fatal = {.sa_handler = SIG_DFL};
  next_action(signal_number, &fatal, NULL);
  raise(signal_number);
}

static void end(void *unused) {
  (void)unused;
  if (has_timer && process == (uint32_t)getpid())
    timer_delete(timer);
  has_timer = false;
}

// The program waits for this number by sigwait or signalfd. Sent to the process
// again, it comes to a thread that does, in the end.
static void give_back(siginfo_t *info, ucontext_t *context) {
  end(NULL);
  sigaddset(&context->uc_sigmask, number);
  if (info->si_code == SI_TKILL) { // by pthread_kill, for this thread
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info);
    return;
  }
  if (info->si_code >= 0) // Only the kernel may send these.
    info->si_code = SI_QUEUE;
  syscall(SYS_rt_sigqueueinfo, getpid(), number, info);
}

static void on_signal(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark)
    sample(info, context);
  else if (blocked)
    give_back(info, context);
  else
    pass_on(signal_number, info, context);
  errno = saved;
}

static void begin_timer(void) {
  process = getpid();
  thread = (uint32_t)syscall(SYS_gettid);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                           .sigev_signo = number,
                           .sigev_value.sival_ptr = (void *)&mark};
  event._sigev_un._tid = (pid_t)thread;
  has_timer = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0;
  if (!has_timer)
    return;
  struct itimerspec every = {{0, PERIOD_NS}, {0, PERIOD_NS}};
  timer_settime(timer, 0, &every, NULL);
}

// Begins to sample the calling thread.
static void begin(void) {
  int saved = errno;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void *base;
    size_t size;
    if (pthread_attr_getstack(&attributes, &base, &size) == 0 &&
        size >= LEAST_STACK) {
      stack_begin = (uintptr_t)base;
      stack_end = stack_begin + size;
    }
    pthread_attr_destroy(&attributes);
  }
  if (stack_end) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    next_mask(SIG_UNBLOCK, &only, NULL);
    begin_timer();
  }
  errno = saved;
}

// Timers are not inherited. The parent's number may be the child's for another.
static void in_child(void) {
  if (has_timer)
    begin_timer();
}

struct start {
  void *(*function)(void *);
  void *argument;
  bool blocked;
};

static void *run(void *data) {
  struct start start = *(struct start *)data;
  free(data);
  void *result;
  blocked = start.blocked;
  pthread_cleanup_push(end, NULL);
  begin();
  result = start.function(start.argument);
  pthread_cleanup_pop(1);
  return result;
}

API int pthread_create(pthread_t *restrict created,
                       const pthread_attr_t *restrict attributes,
                       void *(*function)(void *), void *restrict argument) {
  __typeof__(next_create) create = next(&next_create);
  struct start *start = ring ? malloc(sizeof *start) : NULL;
  if (!start)
    return create(created, attributes, function, argument);
  *start = (struct start){function, argument, blocked};
  int error = create(created, attributes, run, start);
  if (error)
    free(start);
  return error;
}

API int sigaction(int which, const struct sigaction *restrict action,
                  struct sigaction *restrict old) {
  if (!ring || which != number)
    return ((__typeof__(next_action))next(&next_action))(which, action, old);
  if (old)
    *old = of_program;
  if (action)
    of_program = *action;
  return 0;
}

API sighandler_t signal(int which, sighandler_t handler) {
  if (!ring || which != number)
    return ((__typeof__(next_signal))next(&next_signal))(which, handler);
  sighandler_t old = of_program.sa_handler;
  of_program = (struct sigaction){.sa_handler = handler};
  return old;
}

// Returns the mask without the timer's signal, where it would be blocked.
static const sigset_t *allowed(int how, const sigset_t *mask, sigset_t *room) {
  if (!ring || !mask)
    return mask;
  bool named = sigismember(mask, number) == 1;
  if (how == SIG_SETMASK || named)
    blocked = named && how != SIG_UNBLOCK;
  if (how == SIG_UNBLOCK || !has_timer)
    return mask;
  *room = *mask;
  sigdelset(room, number);
  return room;
}

API int pthread_sigmask(int how, const sigset_t *restrict mask,
                        sigset_t *restrict old) {
  sigset_t room;
  return ((__typeof__(next_mask))next(&next_mask))(
      how, allowed(how, mask, &room), old);
}

API int sigprocmask(int how, const sigset_t *restrict mask,
                    sigset_t *restrict old) {
  sigset_t room;
  return ((__typeof__(next_process_mask))next(&next_process_mask))(
      how, allowed(how, mask, &room), old);
}

// Returns a signal of real time that nobody handles, or 0.
static int unused_signal(void) {
  for (int candidate = SIGRTMAX - 1; candidate > SIGRTMIN; candidate--) {
    struct sigaction now;
    if (next_action(candidate, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
      return candidate;
  }
  return 0;
}

__attribute__((constructor)) static void start(void) {
  int saved = errno;
  look_up();
  char *mapped = map_ring("VF_SAMPLE", MAGIC, sizeof(struct slot), &slot_count);
  number = mapped ? unused_signal() : 0;
  if (number) {
    slots = (struct slot *)(mapped + RING_HEADER);
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    next_action(number, &action, NULL);
    sigset_t inherited;
    next_mask(SIG_BLOCK, NULL, &inherited);
    blocked = sigismember(&inherited, number) == 1;
    pthread_atfork(NULL, NULL, in_child);
    ring = (struct head *)mapped;
    begin();
  }
  errno = saved;
}
