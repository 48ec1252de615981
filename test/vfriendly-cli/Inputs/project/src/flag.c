#include "flag.h"

_Atomic int ready;
_Atomic int go;

// Two loops whose lines agree: twins.
void both(void) {
  while (!go)
    ;
  ready = 1;
  while (!go)
    ;
}

void other(void) {
  while (!go)
    ;
  wait_ready();
}
