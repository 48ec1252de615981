//===- LongNames.cpp - Library functions that may take long ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/LongNames.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace vfriendly {

std::optional<LongKind> longByName(StringRef Name) {
  static const llvm::StringMap<LongKind> Names = [] {
    llvm::StringMap<LongKind> Map;
    auto Add = [&](LongKind Kind, std::initializer_list<StringRef> List) {
      for (StringRef Each : List)
        Map[Each] = Kind;
    };
    Add(LongKind::Memory,
        {"malloc", "calloc", "realloc", "reallocarray", "free",
         "posix_memalign", "aligned_alloc", "memalign", "valloc", "strdup",
         "strndup", "asprintf", "vasprintf", "getline"});
    Add(LongKind::System, {"mmap",
                           "mmap64",
                           "munmap",
                           "mremap",
                           "madvise",
                           "mprotect",
                           "mlock",
                           "munlock",
                           "msync",
                           "brk",
                           "sbrk",
                           "read",
                           "write",
                           "pread",
                           "pwrite",
                           "pread64",
                           "pwrite64",
                           "readv",
                           "writev",
                           "preadv",
                           "pwritev",
                           "send",
                           "sendto",
                           "sendmsg",
                           "recv",
                           "recvfrom",
                           "recvmsg",
                           "open",
                           "open64",
                           "openat",
                           "close",
                           "fsync",
                           "fdatasync",
                           "sync_file_range",
                           "ioctl",
                           "fcntl",
                           "stat",
                           "fstat",
                           "lseek",
                           "ftruncate",
                           "fallocate",
                           "rename",
                           "unlink",
                           "mkdir",
                           "socket",
                           "connect",
                           "bind",
                           "listen",
                           "accept",
                           "accept4",
                           "setsockopt",
                           "sigprocmask",
                           "pthread_sigmask",
                           "sigaction",
                           "setitimer",
                           "timer_settime",
                           "timerfd_settime",
                           "timer_create",
                           "timer_delete",
                           "inotify_init",
                           "inotify_init1",
                           "inotify_add_watch",
                           "inotify_rm_watch",
                           "epoll_create",
                           "epoll_create1",
                           "memfd_create",
                           "pipe",
                           "pipe2",
                           "dup",
                           "dup2",
                           "pthread_cancel",
                           "sendfile",
                           "splice",
                           "prctl",
                           "shmdt",
                           "semop",
                           "msgsnd",
                           "msgrcv",
                           "mq_send",
                           "mq_receive",
                           "ftruncate64",
                           "opendir",
                           "readdir",
                           "closedir",
                           "access",
                           "readlink",
                           "rmdir",
                           "eventfd",
                           "kill",
                           "tgkill",
                           "pthread_kill",
                           "getpid",
                           "gettid",
                           "getrusage",
                           "sched_setaffinity",
                           "syscall",
                           "system",
                           "execve",
                           "dlopen",
                           "dlsym",
                           "getaddrinfo",
                           "pthread_cond_signal",
                           "pthread_cond_broadcast",
                           "sem_post",
                           "epoll_ctl",
                           "fopen",
                           "fclose",
                           "getrandom",
                           "process_vm_readv",
                           "shmget",
                           "shmat",
                           "shm_open"});
    Add(LongKind::Output,
        {"printf",    "fprintf",  "vprintf", "vfprintf", "dprintf",
         "puts",      "fputs",    "putchar", "fputc",    "putc",
         "fwrite",    "fflush",   "perror",  "syslog",   "vsyslog",
         "fread",     "fgets",    "fgetc",   "errstart", "errstart_cold",
         "errfinish", "backtrace"});
    Add(LongKind::Sleep, {"sleep", "usleep", "nanosleep", "clock_nanosleep",
                          "sched_yield", "thrd_sleep", "thrd_yield", "pause"});
    Add(LongKind::Wait, {"pthread_mutex_lock",
                         "pthread_mutex_timedlock",
                         "pthread_rwlock_rdlock",
                         "pthread_rwlock_wrlock",
                         "pthread_cond_wait",
                         "pthread_cond_timedwait",
                         "pthread_join",
                         "pthread_create",
                         "pthread_barrier_wait",
                         "sem_wait",
                         "sem_timedwait",
                         "mtx_lock",
                         "cnd_wait",
                         "thrd_join",
                         "thrd_create",
                         "epoll_wait",
                         "poll",
                         "ppoll",
                         "select",
                         "futex",
                         "waitpid",
                         "wait",
                         "flock",
                         "vf_mutex_lock",
                         "sigwait"});
    Add(LongKind::Fork, {"fork", "vfork", "posix_spawn", "posix_spawnp"});
    return Map;
  }();
  auto Where = Names.find(Name);
  return Where == Names.end() ? std::nullopt
                              : std::optional<LongKind>(Where->second);
}

} // namespace vfriendly
