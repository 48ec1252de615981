/*===- gleaner/hints.c - Which holders of locks are off their CPUs --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   gleaner hints [--at SOCKET]
 *
 * Loads hints.bpf.c, and gives each process that connects to the socket a page
 * (hints.bpf.h) that says which of its threads are off their CPUs. A process
 * gets the page as a file descriptor for reading only, and knows no other
 * process's. The socket says who asks: nothing is read from it.
 *
 * A page lives as long as a thread of the process, or of a child that it has
 * forked, runs the program that asked. Another process gets another page, as it
 * might be watched by the old one.
 *
 * When this process ends, its programs leave the kernel, and pages stay as they
 * are: hints.bpf.h says why they then do no harm.
 *===----------------------------------------------------------------------===*/

#include "gleaner/hints.bpf.h"
#include "gleaner/hints_kernel.h"
#include "gleaner/options.h"
#include "gleaner/system.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD /* Linux 6.5; libc's headers may be older. */
#define SO_PEERPIDFD 77
#endif
#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

/* Pages that are ready. Making some takes a tenth of a second, in which the
 * kernel waits until no BPF program runs, and a process waits for 20 ms at most
 * when it starts. */
#define SPARES 64
/* Between two looks for pages that nobody uses. */
#define LOOK_MS 1000

/* EMPTY: to be made. USED: of a process, until none of its threads uses it. The
 * other thread changes EMPTY to SPARE, this one SPARE to USED and USED to
 * EMPTY. */
enum state { EMPTY, SPARE, USED };
static struct {
  enum state state;
  uid_t user;
  uint32_t map; /* the kernel's number of the page */
} pages[VF_HINT_PAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;

static const char *path = GL_HINTS_SOCKET;

static int fail(const char *what, int error) {
  fprintf(stderr, "gleaner: hints: %s: %s\n", what, strerror(error));
  return GL_FAILED;
}

/* Lists empty pages, as many as there are too few spare ones. */
static uint32_t list_empty(uint32_t *empty) {
  uint32_t spares = 0, count = 0;
  for (uint32_t i = 0; i < VF_HINT_PAGES; ++i)
    spares += pages[i].state == SPARE;
  for (uint32_t i = 0; i < VF_HINT_PAGES && spares + count < SPARES; ++i)
    if (pages[i].state == EMPTY)
      empty[count++] = i;
  return count;
}

static void *make_spares(void *unused) {
  uint32_t empty[SPARES], map[SPARES];
  pthread_mutex_lock(&lock);
  for (;;) {
    uint32_t count = list_empty(empty);
    if (count == 0) {
      pthread_cond_wait(&wanted, &lock);
      continue;
    }
    pthread_mutex_unlock(&lock);
    uint32_t made = gl_hint_make(empty, count, map);
    if (made == 0)
      sleep(1);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i != made; ++i) {
      pages[empty[i]].map = map[i];
      pages[empty[i]].state = SPARE;
    }
  }
  return unused;
}

/* Empties pages without users. Returns true if there are others. */
static bool sweep(void) {
  bool some = false;
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < VF_HINT_PAGES; ++i) {
    if (pages[i].state == USED && gl_hint_uses(i) == 0)
      pages[i].state = EMPTY;
    some |= pages[i].state == USED;
  }
  pthread_cond_signal(&wanted);
  pthread_mutex_unlock(&lock);
  return some;
}

/* Takes a spare page for a user. Returns VF_HINT_PAGES if there is none, or the
 * user has many. */
static uint32_t take_spare(uid_t user) {
  uint32_t found = VF_HINT_PAGES, of_user = 0;
  pthread_mutex_lock(&lock);
  for (uint32_t i = VF_HINT_PAGES; i-- > 0;)
    if (pages[i].state == SPARE)
      found = i;
    else if (pages[i].state == USED && pages[i].user == user)
      ++of_user;
  if (user != 0 && of_user >= VF_HINT_PAGES_OF_USER)
    found = VF_HINT_PAGES;
  if (found < VF_HINT_PAGES) {
    pages[found].state = USED;
    pages[found].user = user;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static bool is_alive(int process) {
  struct pollfd file = {.fd = process, .events = POLLIN};
  return poll(&file, 1, 0) == 0;
}

/* Adds a thread that the folder of the process's threads lists. Only if it is
 * still there afterwards, the number is that of this thread. */
static bool add_thread(int process, const char *tasks, const char *number,
                       uint32_t page) {
  char name[64];
  int thread = (int)syscall(SYS_pidfd_open, atoi(number), PIDFD_THREAD);
  if (thread < 0)
    return false;
  bool added = gl_print(name, sizeof name, "%s/%s", tasks, number) &&
               access(name, F_OK) == 0 && is_alive(process) &&
               gl_hint_add(thread, page);
  close(thread);
  return added;
}

/* Adds the threads that the process has besides its first: it asks before it
 * has any, unless the library was opened later. Repeated, as a thread that is
 * not added yet may create others. */
static void add_others(int process, pid_t number, uint32_t page) {
  char tasks[32];
  gl_print(tasks, sizeof tasks, "/proc/%d/task", (int)number);
  bool added = true;
  for (int tries = 0; added && tries != 4; ++tries) {
    added = false;
    DIR *folder = opendir(tasks);
    if (!folder)
      return;
    for (struct dirent *entry; (entry = readdir(folder));)
      if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != number)
        added |= add_thread(process, tasks, entry->d_name, page);
    closedir(folder);
  }
}

/* Returns a descriptor of the page of a process, which it gets now if it has
 * none; -1 if it cannot have one. */
static int page_of(int process, const struct ucred *who) {
  uint32_t page = gl_hint_page_of(process);
  if (page < VF_HINT_PAGES)
    return gl_hint_open(pages[page].map);
  page = take_spare(who->uid);
  if (page == VF_HINT_PAGES || !gl_hint_add(process, page))
    return -1; /* If it has ended, the page is swept. */
  add_others(process, who->pid, page);
  return gl_hint_open(pages[page].map);
}

static void send_page(int client, int file) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
  } control = {0};
  struct iovec data = {.iov_base = (char[]){'p'}, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(&control.header), &file, sizeof file);
  sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer(int client) {
  struct ucred who;
  int process;
  socklen_t size = sizeof who, its_size = sizeof process;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
      getsockopt(client, SOL_SOCKET, SO_PEERPIDFD, &process, &its_size) != 0)
    return;
  int file = page_of(process, &who);
  if (file >= 0) {
    send_page(client, file);
    close(file);
  }
  close(process);
}

/* Returns true if the kernel tells who has connected, so that it cannot be
 * somebody else who has got the number since. */
static bool tells_who_asks(void) {
  int pair[2], process = -1;
  socklen_t size = sizeof process;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return false;
  getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &process, &size);
  close(pair[0]);
  close(pair[1]);
  if (process >= 0)
    close(process);
  return process >= 0;
}

/* Returns the listening socket; only one process may have it. */
static int listen_at(void) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  char lock[sizeof at.sun_path + 8];
  if (!gl_print(at.sun_path, sizeof at.sun_path, "%s", path))
    return -ENAMETOOLONG;
  if (path[0] == '/' && strcmp(path, GL_HINTS_SOCKET) == 0)
    mkdir(GL_HINTS_FOLDER, 0755);
  gl_print(lock, sizeof lock, "%s.lock", path);
  int locked = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (locked < 0)
    return -errno;
  if (flock(locked, LOCK_EX | LOCK_NB) != 0)
    return -EADDRINUSE; /* The lock stays open until this process ends. */
  unlink(path);
  int own = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (own < 0 || bind(own, (struct sockaddr *)&at, sizeof at) != 0 ||
      chmod(path, 0666) != 0 || listen(own, 128) != 0)
    return -errno;
  return own;
}

static int serve(int own, int signals) {
  struct pollfd files[] = {{.fd = own, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
  for (bool some = false; !(files[1].revents & POLLIN);) {
    if (poll(files, 2, some ? LOOK_MS : -1) < 0 && errno != EINTR)
      return fail("poll", errno);
    int client = accept4(own, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0) {
      answer(client);
      close(client);
    }
    some = sweep();
  }
  unlink(path);
  return 0;
}

int gl_hints(int argc, char **argv) {
  static const struct option names[] = {{"at", required_argument, NULL, 'a'},
                                        {0}};
  for (int option; (option = getopt_long(argc, argv, "+", names, NULL)) != -1;)
    if (option == 'a')
      path = optarg;
    else
      return GL_USAGE;
  if (optind != argc) {
    fputs("usage: gleaner hints [--at SOCKET]\n", stderr);
    return GL_USAGE;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  int signals = signalfd(-1, &ends, SFD_CLOEXEC);
  const char *error =
      tells_who_asks() ? gl_hint_load()
                       : "this kernel does not tell who asks: Linux 6.5 does";
  if (error) {
    fprintf(stderr, "gleaner: hints: %s\n", error);
    return GL_FAILED;
  }
  int own = listen_at();
  if (own < 0)
    return fail(path, -own);
  pthread_t maker;
  int error_of_thread = pthread_create(&maker, NULL, make_spares, NULL);
  if (error_of_thread)
    return fail("thread", error_of_thread);
  printf("gleaner: hints for processes that ask at %s\n", path);
  fflush(stdout);
  return serve(own, signals);
}
