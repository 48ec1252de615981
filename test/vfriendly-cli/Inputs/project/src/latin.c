// Latin-1: été.
volatile int caf;
void wait_latin(void) {
  /* éè */ while (!caf) {
  }
}
