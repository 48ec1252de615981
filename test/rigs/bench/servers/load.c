/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * load PORT CONNECTIONS MILLISECONDS [WARM-UP]: asks a memcached on this
 * machine, each connection one request after another, nine gets for each set of
 * 100 bytes. Prints requests per second and how long they took, but of those in
 * the first milliseconds, the WARM-UP. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEYS 1000
#define SIZE 100
/* More answers than a second brings here; later ones are not sampled. */
#define SAMPLES_MAX 4000000

struct connection {
  int socket;
  unsigned long asked; /* requests so far */
  double at;           /* of the last one */
};

static float *samples;
static long samples_n;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void ask(struct connection *c, unsigned key, int set) {
  char text[SIZE + 64];
  int length;
  if (set)
    length = snprintf(text, sizeof text, "set k%u 0 0 %d\r\n%0*d\r\n", key,
                      SIZE, SIZE, 1);
  else
    length = snprintf(text, sizeof text, "get k%u\r\n", key);
  c->at = now();
  ++c->asked;
  if (write(c->socket, text, (size_t)length) != length)
    fail("write");
}

/* Returns 1 once the answer is complete: "STORED", "END" or an error. */
static int answered(struct connection *c) {
  char text[4096];
  long got = read(c->socket, text, sizeof text - 1);
  if (got <= 0)
    fail("read");
  text[got] = '\0';
  if (strstr(text, "ERROR"))
    fail(text);
  /* "END\r\n" and "STORED\r\n" may come in parts. */
  return got >= 3 && text[got - 1] == '\n' && strchr("DE", text[got - 3]);
}

static int by_time(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5)
    return 2;
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((unsigned short)atoi(argv[1])),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int n = atoi(argv[2]), epoll = epoll_create1(0), yes = 1;
  struct connection *all = calloc((size_t)n, sizeof *all);
  samples = malloc(SAMPLES_MAX * sizeof *samples);
  double begin = now() + (argc == 5 ? atof(argv[4]) / 1e3 : 0);
  double end = begin + atof(argv[3]) / 1e3;
  for (int i = 0; i < n; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
    all[i].socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(all[i].socket, (struct sockaddr *)&to, sizeof to))
      fail("connect");
    setsockopt(all[i].socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].socket, &event);
    ask(&all[i], (unsigned)rand() % KEYS, 1);
  }
  /* On a busy machine the first answer may come late. */
  while (now() < end || samples_n == 0) {
    struct epoll_event events[64];
    int ready = epoll_wait(epoll, events, 64, 100);
    for (int i = 0; i < ready; i++) {
      struct connection *c = events[i].data.ptr;
      if (!answered(c))
        continue;
      double at = now();
      if (samples_n < SAMPLES_MAX && at >= begin)
        samples[samples_n++] = (float)(at - c->at);
      ask(c, (unsigned)rand() % KEYS, c->asked % 10 == 0);
    }
  }
  qsort(samples, (size_t)samples_n, sizeof *samples, by_time);
  printf("{\"rps\": %.1f, \"p50_ms\": %.4f, \"p99_ms\": %.4f}\n",
         (double)samples_n / (now() - begin), samples[samples_n / 2] * 1e3,
         samples[samples_n - 1 - samples_n / 100] * 1e3);
  free(samples);
  free(all);
  return 0;
}
