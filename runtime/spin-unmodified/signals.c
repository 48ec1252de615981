/*===- spin-unmodified/signals.c - Signals beside those of the program ----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/signals.h"
#include "common/process_wide.h"
#include "peek.h"
#include "platform/linux/kernel.h"
#include "spin-unmodified/next.h"
#include <string.h>

/* As the kernel takes it, on x86-64. */
struct kernel_action {
  void *handler;
  unsigned long flags;
  void *restorer;
  uint64_t mask;
};

enum { FAULT, BUS, OWN, CLAIMED };

static int number; /* of the library's own signal */
static void (*own_handler)(int, siginfo_t *, void *);
static uint32_t is_started;
/* What the program asked for. Written with all signals blocked and `lock` held.
 */
static struct sigaction programs[CLAIMED];
static uint32_t lock;

int vf_signal_number(void) {
  return __atomic_load_n(&number, __ATOMIC_RELAXED);
}

static bool has_started(void) {
  return __atomic_load_n(&is_started, __ATOMIC_ACQUIRE) != 0;
}

static int index_of(int signal) {
  return signal == SIGSEGV            ? FAULT
         : signal == SIGBUS           ? BUS
         : signal == number && number ? OWN
                                      : -1;
}

static int signal_of(int index) {
  return index == FAULT ? SIGSEGV : index == BUS ? SIGBUS : number;
}

static void block_all(uint64_t *before) {
  uint64_t all = ~UINT64_C(0);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof all);
}

static void unblock(const uint64_t *before) {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof *before);
}

static void take_lock(uint64_t *mask) {
  block_all(mask);
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
    vf_yield();
}

static void release_lock(const uint64_t *mask) {
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  unblock(mask);
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  if (!vf_peek_fault(context))
    vf_signals_pass_on(signal, info, context);
}

static int kernel_action(int signal, const struct kernel_action *set,
                         struct kernel_action *old) {
  return (int)syscall(SYS_rt_sigaction, signal, set, old, sizeof set->mask);
}

/* Installs the library's handler, with what the program has asked for its own.
 */
static int install(int index) {
  struct sigaction action = programs[index];
  bool is_own = index == OWN;
  action.sa_sigaction = is_own ? own_handler : on_fault;
  action.sa_flags |= SA_SIGINFO;
  action.sa_flags &= ~(int)SA_RESETHAND;
  if (is_own) {
    action.sa_flags |= SA_RESTART | SA_ONSTACK;
    action.sa_flags &= ~(int)SA_NODEFER;
  }
  if (vf_spin_next()->sigaction(signal_of(index), &action, NULL) != 0)
    return errno;
  if (!is_own)
    return 0;
  /* While a thread gives way it handles no signals, not even those of pthreads,
   * which glibc takes out of a mask. Faults must come through. */
  struct kernel_action kernel;
  if (kernel_action(number, NULL, &kernel) != 0)
    return errno;
  kernel.mask = ~(UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1));
  return kernel_action(number, &kernel, NULL) == 0 ? 0 : errno;
}

static bool is_default(int signal) {
  struct sigaction action;
  return vf_spin_next()->sigaction(signal, NULL, &action) == 0 &&
         action.sa_handler == SIG_DFL && !(action.sa_flags & SA_SIGINFO);
}

int vf_signals_choose(void) {
  static const int candidates[] = {SIGURG, SIGWINCH};
  for (size_t i = 0; i != sizeof candidates / sizeof *candidates; ++i)
    if (is_default(candidates[i])) {
      __atomic_store_n(&number, candidates[i], __ATOMIC_RELAXED);
      return candidates[i];
    }
  return 0;
}

int vf_signals_start(void (*handler)(int, siginfo_t *, void *)) {
  uint64_t mask;
  int error = 0;
  if (has_started())
    return 0;
  take_lock(&mask);
  if (!has_started()) {
    own_handler = handler;
    for (int i = 0; i != CLAIMED; ++i)
      vf_spin_next()->sigaction(signal_of(i), NULL, &programs[i]);
    /* From now on sigaction leaves these signals to `programs`. */
    __atomic_store_n(&is_started, 1, __ATOMIC_RELEASE);
    for (int i = 0; i != CLAIMED && !error; ++i)
      error = install(i);
  }
  release_lock(&mask);
  return error;
}

bool vf_signals_guard(const ucontext_t *context) {
  static const int faults[] = {SIGSEGV, SIGBUS};
  for (int i = 0; i != 2; ++i) {
    struct kernel_action is;
    if (sigismember(&context->uc_sigmask, faults[i]) ||
        kernel_action(faults[i], NULL, &is) != 0 ||
        is.handler != (void *)on_fault)
      return false;
  }
  return true;
}

bool vf_signals_pending(const ucontext_t *context) {
  uint64_t pending = 0, blocked;
  memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
  if (syscall(SYS_rt_sigpending, &pending, sizeof pending) != 0)
    return false;
  return (pending & ~blocked & ~(UINT64_C(1) << (number - 1))) != 0;
}

/* Lets the signal do what it does by default: a fault by executing the
 * instruction again, another one by sending it again. */
static void act_by_default(int signal, siginfo_t *info) {
  struct kernel_action action = {.handler = (void *)SIG_DFL};
  struct kernel_action is;
  if (kernel_action(signal, NULL, &is) == 0) {
    action.flags = is.flags & ~(unsigned long)SA_SIGINFO;
    action.restorer = is.restorer;
  }
  if (signal == number)
    return; /* ignored by default */
  kernel_action(signal, &action, NULL);
  if (info->si_code <= 0)
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info);
}

void vf_signals_pass_on(int signal, siginfo_t *info, ucontext_t *context) {
  int index = index_of(signal);
  if (index < 0)
    return;
  uint64_t mask;
  take_lock(&mask);
  struct sigaction action = programs[index];
  if (action.sa_flags & (int)SA_RESETHAND)
    programs[index] = (struct sigaction){.sa_handler = SIG_DFL};
  release_lock(&mask);
  bool is_fault = index != OWN && info->si_code > 0;
  if (!(action.sa_flags & SA_SIGINFO) &&
      (action.sa_handler == SIG_DFL ||
       (action.sa_handler == SIG_IGN && is_fault))) {
    act_by_default(signal, info);
    return;
  }
  if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
    return;
  if (index == OWN) {
    /* The handler was entered with another mask than the program's. */
    sigset_t inner = context->uc_sigmask;
    sigorset(&inner, &inner, &action.sa_mask);
    if (!(action.sa_flags & SA_NODEFER))
      sigaddset(&inner, signal);
    vf_spin_next()->pthread_sigmask(SIG_SETMASK, &inner, NULL);
  }
  if (action.sa_flags & SA_SIGINFO)
    action.sa_sigaction(signal, info, context);
  else
    action.sa_handler(signal);
}

VF_API int sigaction(int signal, const struct sigaction *restrict set,
                     struct sigaction *restrict old) {
  int index = has_started() ? index_of(signal) : -1, error = 0;
  uint64_t mask;
  if (index < 0)
    return vf_spin_next()->sigaction(signal, set, old);
  /* Copies: the memory may be protected, which must fail here as there. */
  struct sigaction wanted, was;
  if (set)
    wanted = *set;
  take_lock(&mask);
  was = programs[index];
  if (set) {
    programs[index] = wanted;
    error = install(index);
  }
  release_lock(&mask);
  if (old)
    *old = was;
  if (error)
    errno = error;
  return error ? -1 : 0;
}

VF_API vf_signal_handler signal(int signal, vf_signal_handler handler) {
  if (!has_started() || index_of(signal) < 0)
    return vf_spin_next()->signal(signal, handler);
  struct sigaction set = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  sigemptyset(&set.sa_mask);
  sigaddset(&set.sa_mask, signal);
  return sigaction(signal, &set, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* Sets the mask without the library's signal, and tells what the program had
 * set before. */
static int set_mask(int (*next)(int, const sigset_t *, sigset_t *), int how,
                    const sigset_t *set, sigset_t *old) {
  struct vf_thread *thread = vf_this_thread;
  if (!thread || !number)
    return next(how, set, old);
  sigset_t copy;
  bool is_named = set && sigismember(set, number) == 1,
       was_blocked = thread->blocks_signal;
  if (is_named && how != SIG_UNBLOCK) {
    copy = *set;
    sigdelset(&copy, number);
    set = &copy;
  }
  int result = next(how, set, old);
  if (result == 0 && old && was_blocked)
    sigaddset(old, number);
  if (result == 0 && set && (is_named || how == SIG_SETMASK))
    thread->blocks_signal = is_named && how != SIG_UNBLOCK;
  return result;
}

VF_API int pthread_sigmask(int how, const sigset_t *restrict set,
                           sigset_t *restrict old) {
  return set_mask(vf_spin_next()->pthread_sigmask, how, set, old);
}

VF_API int sigprocmask(int how, const sigset_t *restrict set,
                       sigset_t *restrict old) {
  return set_mask(vf_spin_next()->sigprocmask, how, set, old);
}

static void set_own_stack(const struct vf_thread *thread) {
  char *top = vf_thread_stack_top(thread);
  stack_t stack = {.ss_sp = top - 3 * (VF_STACK_SIZE / 4),
                   .ss_size = 3 * (VF_STACK_SIZE / 4)};
  vf_spin_next()->sigaltstack(&stack, NULL);
}

static bool is_own(const struct vf_thread *thread, const stack_t *stack) {
  return !(stack->ss_flags & SS_DISABLE) &&
         vf_thread_is_on_stack(thread, stack->ss_sp);
}

void vf_signals_enter(struct vf_thread *thread) {
  sigset_t one, before;
  stack_t stack;
  if (vf_spin_next()->sigaltstack(NULL, &stack) == 0) {
    thread->has_stack = !(stack.ss_flags & SS_DISABLE);
    if (!thread->has_stack)
      set_own_stack(thread);
  }
  sigemptyset(&one);
  sigaddset(&one, number);
  if (vf_spin_next()->pthread_sigmask(SIG_UNBLOCK, &one, &before) == 0)
    thread->blocks_signal = sigismember(&before, number) == 1;
}

void vf_signals_leave(struct vf_thread *thread) {
  stack_t stack, none = {.ss_flags = SS_DISABLE};
  if (vf_spin_next()->sigaltstack(NULL, &stack) == 0 && is_own(thread, &stack))
    vf_spin_next()->sigaltstack(&none, NULL);
}

VF_API int sigaltstack(const stack_t *restrict set, stack_t *restrict old) {
  struct vf_thread *thread = vf_this_thread;
  stack_t was;
  int result = vf_spin_next()->sigaltstack(set, &was);
  if (result != 0)
    return result;
  if (old)
    *old = thread && is_own(thread, &was) ? (stack_t){.ss_flags = SS_DISABLE}
                                          : was;
  if (!thread || !set)
    return 0;
  thread->has_stack = !(set->ss_flags & SS_DISABLE);
  if (!thread->has_stack)
    set_own_stack(thread);
  return 0;
}
