/*===- platform/linux/thread_state.c - Which threads are off their CPUs ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What asks for the page calls the kernel by syscall, which the libraries name
 * anyway: each further function is one more symbol to find in every process
 * that starts.
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct ucred */
#endif
#include "platform/linux/thread_state.h"
#include "platform/linux/privilege.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* gleaner/hints.bpf.h: in the header, the offset of the words of threads. */
#define THREADS_AT 16u
#define RECORD_SIZE 128u

#define SOCKET "/run/gleaner/hints"
/* Time for an answer, which takes some 0.2 ms. A process whose question is not
 * answered has no hints, and has lost that time. */
#define ANSWER_MS 20

struct vf_thread_states vf_thread_states; /* Zero: there is no page. */

bool vf_thread_is_off(vf_thread_number number) {
  return number < VF_THREAD_NUMBERS &&
         __atomic_load_n(&vf_thread_states.threads[number], __ATOMIC_RELAXED) ==
             VF_THREAD_OFF;
}

int vf_thread_states_map(int file) {
  struct vf_vcpu_states cpus = {0};
  int error = vf_vcpu_records_map(file, RECORD_SIZE, &cpus);
  if (error)
    return error;
  /* The header and the words of threads are before the records. */
  const unsigned char *page = cpus.records - cpus.offset;
  uint32_t threads;
  memcpy(&threads, page + THREADS_AT, sizeof threads);
  if (threads % sizeof threads != 0 || threads > cpus.offset ||
      cpus.offset - threads < VF_THREAD_NUMBERS * sizeof threads) {
    munmap((void *)page, cpus.offset + (size_t)cpus.cpus * cpus.stride);
    return EINVAL;
  }
  vf_thread_states.threads = (const uint32_t *)(page + threads);
  vf_thread_states.cpus.cpus = cpus.cpus;
  vf_thread_states.cpus.stride = cpus.stride;
  __atomic_store_n(&vf_thread_states.cpus.records, cpus.records,
                   __ATOMIC_RELEASE);
  return 0;
}

/* Returns the descriptor that comes, or -1. */
static int receive(int from) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
  } control;
  char byte;
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  struct pollfd ready = {.fd = from, .events = POLLIN};
  struct timespec most = {.tv_nsec = ANSWER_MS * 1000000L};
  if (syscall(SYS_ppoll, &ready, 1, &most, NULL, 0) != 1 ||
      syscall(SYS_recvmsg, from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) !=
          1)
    return -1;
  struct cmsghdr *first = CMSG_FIRSTHDR(&message);
  int file;
  if (!first || first->cmsg_level != SOL_SOCKET ||
      first->cmsg_type != SCM_RIGHTS ||
      first->cmsg_len != CMSG_LEN(sizeof file))
    return -1;
  memcpy(&file, CMSG_DATA(first), sizeof file);
  return file;
}

static bool is_trusted(int peer) {
  struct ucred who;
  socklen_t size = sizeof who;
  return syscall(SYS_getsockopt, peer, SOL_SOCKET, SO_PEERCRED, &who, &size) ==
             0 &&
         (who.uid == 0 || who.uid == (uid_t)syscall(SYS_geteuid));
}

static int ask(int own, const char *path) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof at.sun_path)
    return ENAMETOOLONG;
  memcpy(at.sun_path, path, length);
  /* Not blocking: if nobody accepts, the queue may be full. */
  if (syscall(SYS_connect, own, &at, sizeof at) != 0)
    return errno;
  if (!is_trusted(own))
    return EPERM;
  int file = receive(own);
  if (file < 0)
    return ETIMEDOUT;
  int error = vf_thread_states_map(file);
  close(file);
  return error;
}

int vf_thread_states_ask(const char *path) {
  int saved = errno;
  int own = (int)syscall(SYS_socket, AF_UNIX,
                         SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = own < 0 ? errno : ask(own, path);
  if (own >= 0)
    close(own);
  errno = saved;
  return error;
}

/* Returns true if no filter of system calls is known to be set, which may end
 * the process for those of a socket. Reading files is what the loader has done
 * already. */
static bool may_ask(void) {
  static const char key[] = "\nSeccomp:\t0\n";
  char text[2048];
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : read(file, text, sizeof text);
  if (file >= 0)
    close(file);
  for (ssize_t at = 0; at + (ssize_t)sizeof key - 1 <= got; ++at)
    if (memcmp(text + at, key, sizeof key - 1) == 0)
      return true;
  return false;
}

void vf_thread_states_begin(const char *path) {
  if (vf_is_privileged())
    return;
  int saved = errno;
  if (!path)
    path = SOCKET;
  /* Most machines have no such socket: that is one system call. */
  if (access(path, W_OK) == 0 && may_ask())
    vf_thread_states_ask(path);
  errno = saved;
}
