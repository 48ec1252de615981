// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cases of guest.c about signals and their stacks.

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
