// The program of the README's commands: one thread waits 10 ms for a flag.
#include <pthread.h>
#include <stdio.h>

volatile int ready;

static void *wait_for_it(void *unused) {
  while (!ready) {
  }
  return unused;
}

int main(void) {
  pthread_t waiter;
  pthread_create(&waiter, NULL, wait_for_it, NULL);
  nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  ready = 1;
  pthread_join(waiter, NULL);
  puts("done");
  return 0;
}
