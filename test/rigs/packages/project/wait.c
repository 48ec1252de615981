#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;
static int value;

static void *produce(void *unused) {
  value = 42;
  atomic_store_explicit(&ready, 1, memory_order_release);
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, produce, 0);
  while (!atomic_load_explicit(&ready, memory_order_acquire)) {
  }
  pthread_join(other, 0);
  return value != 42;
}
