volatile int done;

void wait_done(void) {
  while (!done) {
  }
}
