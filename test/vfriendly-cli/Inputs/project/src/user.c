#include "flag.h"

// Nothing of its own to find.
int user(void) {
  wait_ready();
  return ready;
}
