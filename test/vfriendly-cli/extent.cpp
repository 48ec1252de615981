// Checks export the construct that a report is about, then the name of its function or class:
// a review knows by them that a loop's body has changed, and a report whose line moved.
//
// RUN: rm -f %t.yaml && %vf_clang_tidy --checks='-*,vfriendly-*' --export-fixes=%t.yaml %s -- > /dev/null 2>&1
// RUN: %python %S/Inputs/ranges.py %t.yaml | FileCheck %s

#include <mutex>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

volatile int ready;

namespace zone {
struct Gate {
  void wait();
};
} // namespace zone

// CHECK: vfriendly-spin-loops: while (!ready) {  }  // in zone::Gate::wait
void zone::Gate::wait() {
  while (!ready) {
  }
}

#define UNTIL(X)                                                               \
  while (!(X)) {                                                               \
  }

// CHECK: vfriendly-spin-loops: UNTIL(ready) // in in_macro
void in_macro() { UNTIL(ready) }

// CHECK: vfriendly-spin-loops: while (!ready) ; // in outer
void outer() {
  auto inner = [] {
    while (!ready)
      ;
  };
  inner();
}

// CHECK: vfriendly-spin-loops: again: if (!ready) goto again // in by_goto
void by_goto() {
again:
  if (!ready)
    goto again;
}

void use(char *);

// CHECK: vfriendly-heap-churn-loop-allocation: for (int i = 0; i < n; ++i) { char *p = (char *)malloc(n); use(p); free(p); } // in churn
void churn(int n) {
  for (int i = 0; i < n; ++i) {
    char *p = (char *)malloc(n);
    use(p);
    free(p);
  }
}

pthread_mutex_t mutex;
int done;

// CHECK: vfriendly-blocking-sync-sleep-poll: for (;;) { pthread_mutex_lock(&mutex); if (done) break; pthread_mutex_unlock(&mutex); usleep(100); } // in poll
void poll() {
  for (;;) {
    pthread_mutex_lock(&mutex);
    if (done)
      break;
    pthread_mutex_unlock(&mutex);
    usleep(100);
  }
}

// Not the loop around it, which may be all that a program does.
// CHECK: vfriendly-blocking-sync-spinlock: pthread_spin_lock(&spin) // in serve
pthread_spinlock_t spin;
void serve(int (*next)()) {
  while (next()) {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
  }
}

// CHECK: vfriendly-blocking-sync-monitor: std::recursive_mutex again // in Holder
struct Holder {
  std::recursive_mutex again;
  void hold() { std::lock_guard<std::recursive_mutex> guard(again); }
};

// CHECK: vfriendly-blocking-sync-monitor: std::recursive_mutex global // in global
std::recursive_mutex global;
void holdGlobal() { std::lock_guard<std::recursive_mutex> guard(global); }
