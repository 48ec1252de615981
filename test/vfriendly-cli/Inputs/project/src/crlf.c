// CRLF.
volatile int crlf;

void wait_crlf(void) {
  while (!crlf) {
  }
}
