// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program may notice of libvfspin.so: nothing. Each case runs threads
// that spin while the library interrupts them, and does what could go wrong.
//
// REQUIRES: host-x86_64, native, sanitizers, spin-unmodified, perf-events
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror %s -pthread -ldl -o %t
// RUN: clang -std=gnu11 -O1 -shared -fPIC -DMODULE %s -o %t.so
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -w -fsanitize=undefined,address %s -pthread -ldl -o %t-sanitized
// RUN: bash %S/Inputs/guest.sh %t %vf_lib/libvfspin.so %t.stats

#ifdef MODULE
void wait_for(volatile int *flag) {
  while (!*flag)
    ;
}
#else
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(x)                                                                \
  do {                                                                         \
    if (!(x)) {                                                                \
      printf("%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #x, errno);         \
      fflush(stdout);                                                          \
      _exit(1);                                                                \
    }                                                                          \
  } while (0)

static volatile int stop;
static char *program;

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void pass(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&t, &t) != 0)
    ;
}

// The number of threads that the library watches closely.
static int armed(void) {
  int n = 0;
  for (int file = 200; file != 1000; ++file)
    n += fcntl(file, F_GETSIG) == SIGURG;
  return n;
}

// Lets threads spin for some time; on a busy machine, until the library has
// interrupted them, unless it should leave them alone.
static void work(int ms) {
  pass(ms);
  if (!getenv("GUEST_AWAITS"))
    return;
  for (int i = 0; i != 500 && armed() == 0; ++i)
    pass(20);
  pass(200);
}

static void *spin(void *data) {
  (void)data;
  while (!stop)
    ;
  return NULL;
}

static void together(int threads, size_t stack, int ms) {
  pthread_t thread[512];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack)
    MUST(pthread_attr_setstacksize(&attributes, stack) == 0);
  stop = 0;
  for (int i = 0; i != threads; ++i)
    MUST(pthread_create(&thread[i], &attributes, spin, NULL) == 0);
  work(ms);
  stop = 1;
  for (int i = 0; i != threads; ++i)
    pthread_join(thread[i], NULL);
}

// The program's own use of the library's signal, and of those that it handles.
static volatile sig_atomic_t seen;
static void note(int number) { seen = number; }
static void note_more(int number, siginfo_t *info, void *context) {
  MUST(info->si_signo == number && context);
  seen = number;
}

static void actions(void) {
  static const int numbers[] = {SIGURG, SIGSEGV, SIGBUS, SIGWINCH};
  for (int round = 0; round != 2; ++round) {
    for (size_t i = 0; i != sizeof numbers / sizeof *numbers; ++i) {
      struct sigaction is;
      MUST(sigaction(numbers[i], NULL, &is) == 0);
      MUST(is.sa_handler == SIG_DFL && !(is.sa_flags & SA_SIGINFO));
      struct sigaction set = {.sa_sigaction = note_more,
                              .sa_flags = SA_SIGINFO};
      sigaddset(&set.sa_mask, SIGUSR2);
      MUST(sigaction(numbers[i], &set, &is) == 0);
      MUST(is.sa_handler == SIG_DFL);
      MUST(sigaction(numbers[i], NULL, &is) == 0);
      MUST(is.sa_sigaction == note_more && is.sa_flags & SA_SIGINFO);
      MUST(!(is.sa_flags & (SA_RESTART | SA_ONSTACK)));
      MUST(sigismember(&is.sa_mask, SIGUSR2) && !sigismember(&is.sa_mask, SIGUSR1));
      seen = 0;
      raise(numbers[i]);
      MUST(seen == numbers[i]);
      MUST((void *)signal(numbers[i], note) == (void *)note_more);
      seen = 0;
      kill(getpid(), numbers[i]);
      MUST(seen == numbers[i]);
      MUST(signal(numbers[i], SIG_IGN) == note);
      raise(numbers[i]);
      MUST(signal(numbers[i], SIG_DFL) == SIG_IGN);
    }
    if (round == 0)
      together(3, 0, 500);
  }
  raise(SIGURG); // ignored by default
}

static void *masks_of(void *data) {
  (void)data;
  sigset_t all, is;
  sigfillset(&all);
  MUST(pthread_sigmask(SIG_BLOCK, NULL, &is) == 0 && !sigismember(&is, SIGURG));
  MUST(pthread_sigmask(SIG_SETMASK, &all, &is) == 0 && !sigismember(&is, SIGURG));
  MUST(sigprocmask(SIG_BLOCK, NULL, &is) == 0 && sigismember(&is, SIGURG));
  int file = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  while (!stop)
    ;
  struct signalfd_siginfo info;
  MUST(read(file, &info, sizeof info) < 0 && errno == EAGAIN);
  MUST(sigtimedwait(&all, NULL, &(struct timespec){0, 1000}) < 0);
  MUST(sigprocmask(SIG_UNBLOCK, &all, &is) == 0 && sigismember(&is, SIGURG));
  MUST(sigprocmask(SIG_BLOCK, NULL, &is) == 0 && !sigismember(&is, SIGURG));
  return NULL;
}

static void masks(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, masks_of, NULL);
  work(300);
  stop = 1;
  for (int i = 0; i != 3; ++i)
    pthread_join(thread[i], NULL);
}

static sigjmp_buf back;
static void jump(int number) { siglongjmp(back, number); }

__attribute__((noinline)) static int deep(int n) {
  volatile char room[4096];
  memset((char *)room, n, sizeof room);
  return n < 1000000 ? deep(n + 1) + room[7] : 0;
}

// A handler of stack overflows on a stack of its own.
static void *overflows(void *data) {
  stack_t is, own = {.ss_sp = data, .ss_size = SIGSTKSZ};
  MUST(sigaltstack(NULL, &is) == 0 && is.ss_flags == SS_DISABLE);
  MUST(sigaltstack(&own, &is) == 0 && is.ss_flags == SS_DISABLE);
  MUST(sigaltstack(NULL, &is) == 0 && is.ss_sp == data && is.ss_flags == 0);
  while (!stop)
    ;
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&one_at_a_time);
  if (sigsetjmp(back, 1) == 0)
    deep(0);
  pthread_mutex_unlock(&one_at_a_time);
  own.ss_flags = SS_DISABLE;
  MUST(sigaltstack(&own, &is) == 0 && is.ss_sp == data);
  MUST(sigaltstack(NULL, &is) == 0 && is.ss_flags == SS_DISABLE);
  return NULL;
}

static void stacks(void) {
  pthread_t thread[3];
  struct sigaction set = {.sa_handler = jump, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &set, NULL);
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, overflows, malloc(SIGSTKSZ));
  work(300);
  stop = 1;
  for (int i = 0; i != 3; ++i)
    pthread_join(thread[i], NULL);
}

static void small_stacks(void) { together(4, 16384, 500); }
static void many(void) { together(500, 65536, 700); }

// A page that the loop reads is protected: the handler of the program sees the
// program's address, as Java's does at a safepoint.
static char *page;
static volatile int faults;
static void *volatile fault_ip;
static void on_fault(int number, siginfo_t *info, void *data) {
  ucontext_t *context = data;
  MUST(number == SIGSEGV && info->si_addr == page);
  fault_ip = (void *)context->uc_mcontext.gregs[REG_RIP];
  ++faults;
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
__attribute__((noinline)) static void *reads_page(void *data) {
  (void)data;
  while (!stop)
    (void)*(volatile char *)page;
  return NULL;
}
static void safepoints(void) {
  pthread_t thread[3];
  struct sigaction set = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &set, NULL);
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, reads_page, NULL);
  work(100);
  uint64_t end = now_ms() + 800;
  while (now_ms() < end) {
    mprotect(page, 4096, PROT_NONE);
    pass(1);
  }
  mprotect(page, 4096, PROT_READ);
  stop = 1;
  for (int i = 0; i != 3; ++i)
    pthread_join(thread[i], NULL);
  MUST(faults > 0);
  ptrdiff_t at = (char *)fault_ip - (char *)reads_page;
  MUST(at >= 0 && at < 64);
}

// A real fault ends the process as without the library.
static void crash(void) {
  together(3, 0, 300);
  pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    together(3, 0, 300);
    *(volatile int *)8 = 1;
  }
  int status;
  MUST(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
       WTERMSIG(status) == SIGSEGV);
  child = fork();
  if (child == 0) {
    together(3, 0, 100);
    raise(SIGBUS);
    _exit(0);
  }
  MUST(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
       WTERMSIG(status) == SIGBUS);
}

// From now on a filter kills the process at calls that only the library makes.
static void filter(void) {
  static const int calls[] = {SYS_perf_event_open, SYS_timer_create,
                              SYS_process_vm_readv, SYS_ioctl,
                              SYS_sched_getscheduler};
  together(3, 0, 200);
  struct sock_filter code[16] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned n = 1;
  for (unsigned i = 0; i != 5; ++i) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog all = {(unsigned short)n, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
               &all) == 0);
  unsetenv("GUEST_AWAITS");
  together(3, 0, 400);
}

static void forks(void) {
  together(3, 0, 400);
  for (int i = 0; i != 3; ++i) {
    pid_t child = fork();
    if (child == 0) {
      together(3, 0, 300);
      _exit(7);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  }
}

// Threads spin while others fork, vfork and spawn.
static void executes(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  work(200);
  char *arguments[] = {(char *)"true", NULL};
  for (int i = 0; i != 20; ++i) {
    pid_t child = i % 2 ? vfork() : fork();
    int status;
    if (child == 0) {
      execvp("true", arguments);
      _exit(9);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    MUST(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  // The process itself becomes another one while its threads are armed.
  execl(program, program, "executed", NULL);
  MUST(false);
}
static void executed(void) { pass(100); }

static void *ends_last(void *data) {
  (void)data;
  work(300);
  stop = 1;
  return NULL;
}
// The process ends by its last thread.
static void main_ends(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  pthread_create(&thread[0], NULL, ends_last, NULL);
  pthread_exit(NULL);
}

// After its threads have ended, a process is allowed what needs it to have one.
static void alone_again(void) {
  together(3, 0, 400);
  for (int i = 0; i != 200 && unshare(CLONE_NEWUSER) != 0; ++i) {
    MUST(errno == EINVAL);
    MUST(i != 199);
    pass(20);
  }
}

static void jump_out(int number) { (void)number; siglongjmp(back, 1); }
// A handler that leaves a wait by a jump, from a thread that gives way.
static void *left(void *data) {
  pthread_sigmask(SIG_UNBLOCK, data, NULL);
  for (int i = 0; i != 12; ++i)
    if (sigsetjmp(back, 1) == 0) {
      struct itimerval at = {.it_value = {0, 10000}};
      setitimer(ITIMER_REAL, &at, NULL);
      while (!stop)
        ;
    }
  return NULL;
}
static void jumps(void) {
  pthread_t thread[3], jumper;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGALRM);
  signal(SIGALRM, jump_out);
  pthread_sigmask(SIG_BLOCK, &one, NULL);
  pthread_create(&jumper, NULL, left, &one);
  for (int i = 0; i != 2; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  pthread_join(jumper, NULL);
  stop = 1;
  for (int i = 0; i != 2; ++i)
    pthread_join(thread[i], NULL);
}

// A handler sets what the interrupted thread polls.
static volatile int turn;
static void set_turn(int number) { (void)number; ++turn; }
static void handler_ends_wait(void) {
  pthread_t thread[3];
  signal(SIGALRM, set_turn);
  for (int i = 0; i != 2; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  struct itimerval each = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_REAL, &each, NULL);
  for (int i = 0; i != 20; ++i)
    while (turn <= i)
      ;
  stop = 1;
  for (int i = 0; i != 2; ++i)
    pthread_join(thread[i], NULL);
}

// The queue of signals is full.
static void queue(void) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN + 3);
  sigprocmask(SIG_BLOCK, &one, NULL);
  setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){64, 64});
  while (sigqueue(getpid(), SIGRTMIN + 3, (union sigval){0}) == 0)
    ;
  MUST(errno == EAGAIN);
  together(3, 0, 600);
}

// All descriptors are closed, and others get their numbers.
static void closes(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  work(200);
  for (int file = 3; file != 1000; ++file)
    close(file);
  int pipes[400];
  for (int i = 0; i != 400; i += 2)
    MUST(pipe(&pipes[i]) == 0);
  pass(400);
  for (int i = 0; i != 400; ++i)
    MUST(fcntl(pipes[i], F_GETFD) >= 0 && fcntl(pipes[i], F_GETSIG) == 0);
  stop = 1;
  for (int i = 0; i != 3; ++i)
    pthread_join(thread[i], NULL);
  for (int i = 0; i != 400; i += 2)
    MUST(write(pipes[i + 1], "x", 1) == 1 && close(pipes[i]) == 0);
}

static void unloads(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s.so", program);
  for (int round = 0; round != 3; ++round) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    MUST(module);
    void (*wait_for)(volatile int *) =
        (void (*)(volatile int *))(void *)dlsym(module, "wait_for");
    pthread_t thread[3];
    stop = 0;
    for (int i = 0; i != 3; ++i)
      pthread_create(&thread[i], NULL, (void *(*)(void *))(void *)wait_for, (void *)&stop);
    work(100);
    stop = 1;
    for (int i = 0; i != 3; ++i)
      pthread_join(thread[i], NULL);
    dlclose(module);
  }
  void *self = dlopen("libvfspin.so", RTLD_NOW | RTLD_NOLOAD);
  if (self)
    dlclose(self);
}

static void *cancelled(void *data) {
  (void)data;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  while (!stop)
    ;
  return NULL;
}
static void cancels(void) {
  for (int round = 0; round != 4; ++round) {
    pthread_t thread[3];
    void *result;
    for (int i = 0; i != 3; ++i)
      pthread_create(&thread[i], NULL, cancelled, NULL);
    work(100);
    for (int i = 0; i != 3; ++i) {
      pthread_cancel(thread[i]);
      MUST(pthread_join(thread[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
  }
}

// System calls that block end early only if the program's signals say so.
static int interrupted;
static void *blocks(void *data) {
  (void)data;
  while (!stop) {
    uint64_t end = now_ms() + 2;
    while (now_ms() < end && !stop)
      ;
    if (poll(NULL, 0, 1) < 0)
      __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
    struct timespec t = {0, 500000};
    if (nanosleep(&t, NULL) != 0)
      __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}
static void calls(void) {
  pthread_t thread[5];
  for (int i = 0; i != 5; ++i)
    pthread_create(&thread[i], NULL, i < 2 ? spin : blocks, NULL);
  work(600);
  stop = 1;
  for (int i = 0; i != 5; ++i)
    pthread_join(thread[i], NULL);
  MUST(interrupted == 0);
}

// Threads that are left alone.
static void *real_time(void *data) {
  struct sched_param one = {.sched_priority = 1};
  if (pthread_setschedparam(pthread_self(), SCHED_RR, &one) != 0)
    *(int *)data = 1;
  uint64_t end = now_ms() + 200;
  while (now_ms() < end)
    ;
  for (int file = 200; file != 1000; ++file) {
    struct f_owner_ex owner;
    MUST(fcntl(file, F_GETOWN_EX, &owner) != 0 || owner.pid != gettid());
  }
  return NULL;
}
static void real_time_threads(void) {
  pthread_t thread;
  int refused = 0;
  pthread_create(&thread, NULL, real_time, &refused);
  pthread_join(thread, NULL);
}

// The wait ends only by CPU time.
static void cpu_timer(void) {
  pthread_t thread;
  signal(SIGPROF, set_turn);
  // It stays set after its first signal.
  struct itimerval at = {{0, 300000}, {0, 300000}};
  setitimer(ITIMER_PROF, &at, NULL);
  pthread_create(&thread, NULL, spin, NULL);
  while (!turn)
    MUST(armed() == 0);
  stop = 1;
  pthread_join(thread, NULL);
}

// A debugger would see each signal.
static void traced(void) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execl(program, program, "spins", NULL);
  }
  int status;
  while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
    int number = WSTOPSIG(status);
    ptrace(PTRACE_CONT, child, 0, number == SIGTRAP ? 0 : number);
    MUST(number == SIGTRAP);
  }
  MUST(status == 0);
}
static void spins(void) { together(3, 0, 400); }

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(actions), CASE(masks), CASE(stacks), CASE(small_stacks), CASE(many),
    CASE(safepoints), CASE(crash), CASE(filter), CASE(forks), CASE(executes),
    CASE(executed), CASE(main_ends), CASE(alone_again), CASE(jumps),
    CASE(handler_ends_wait), CASE(queue), CASE(closes), CASE(unloads),
    CASE(cancels), CASE(calls), CASE(real_time_threads), CASE(cpu_timer), CASE(traced), CASE(spins)};

int main(int argc, char **argv) {
  program = argv[0];
  for (size_t i = 0; i != sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      return 0;
    }
  return 2;
}
#endif
