#include "vfriendly/spin_wait.h"
#include <sched.h>
#define API __attribute__((visibility("default")))
API uint32_t vf_spin_armed;
API uint64_t vf_spin_wait(const volatile void *a, uint64_t o, uint64_t s, uint32_t h) { sched_yield(); return s + 1; }
API uint64_t vf_spin_backoff(uint64_t s, uint32_t h) { return vf_spin_wait(0, 0, s, h); }
API void vf_spin_notify(const volatile void *a) {}
