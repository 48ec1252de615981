/*===- common/report.c - Statistics that VF_STATS=1 prints ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* program_invocation_short_name */
#endif
#include "common/report.h"
#include "common/environment.h"
#include "common/process_wide.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The linker's search for each function that a library names costs every
 * process 1000 instructions at its start. What only a report needs is therefore
 * done by functions that the libraries name anyway, such as syscall. */

/* As many as there are libraries. */
#define VF_REPORTS 8
/* Minimum number of the descriptor that duplicates stderr. Programs may expect
 * that their own files get certain lower numbers. */
#define VF_COPY_FROM 200

/* State shared by all libraries of a process. It is written by constructors,
 * which run one at a time, and in forked children. */
struct vf_reports {
  struct {
    const char *library;
    void (*print)(void);
  } list[VF_REPORTS];
  /* device and inode identify the file that was stderr when the first library
   * was loaded. copy is a duplicate of its descriptor, because many programs
   * close stderr before they end; 0 if there is none. The report is written
   * only to a descriptor that still refers to this file, because the program
   * may have reused the number of the descriptor for another file. */
  uint64_t device, inode;
  int copy;
  uint32_t prepared;
  /* Id of the process that handles SIGTERM. A flag would not do, because a
   * child of vfork shares this memory. */
  int terminating;
};

#define VF_REPORTS_SIZE 160
VF_PROCESS_WIDE(vf_reports_1, VF_REPORTS_SIZE);
_Static_assert(sizeof(struct vf_reports) == VF_REPORTS_SIZE,
               "VF_REPORTS_SIZE is what the assembler reserves");
extern VF_API struct vf_reports vf_reports_1;
#ifdef VF_FINDS_OTHERS
#define vf_reports_1 (*(struct vf_reports *)vf_reports_1_found.at)
#endif

static char path[512]; /* from VF_STATS; empty: stderr */

static bool is_stderr(int file) {
  struct stat now;
  return fstat(file, &now) == 0 && now.st_dev == vf_reports_1.device &&
         now.st_ino == vf_reports_1.inode;
}

/* Returns a descriptor of the file that was stderr when the first library was
 * loaded, or -1 if there is none. */
static int first_stderr(void) {
  if (is_stderr(STDERR_FILENO))
    return STDERR_FILENO;
  int copy = vf_reports_1.copy;
  return copy != 0 && is_stderr(copy) ? copy : -1;
}

/* Closes the duplicate of stderr in a forked child. If stderr is a pipe, a
 * daemon closes stderr so that the reader of the pipe sees its end; the
 * duplicate would keep the pipe open. */
void vf_report_drop_copy(void) {
  int copy = vf_reports_1.copy;
  vf_reports_1.copy = 0;
  if (copy != 0 && is_stderr(copy))
    close(copy);
}

static void keep_stderr(void) {
  struct stat now;
  if (fstat(STDERR_FILENO, &now) != 0)
    return;
  vf_reports_1.device = now.st_dev;
  vf_reports_1.inode = now.st_ino;
  if (*path)
    return;
  int copy =
      (int)syscall(SYS_fcntl, STDERR_FILENO, F_DUPFD_CLOEXEC, VF_COPY_FROM);
  if (copy < 0)
    return;
  vf_reports_1.copy = copy;
  pthread_atfork(NULL, NULL, vf_report_drop_copy);
}

static void copy(char *to, const char *from) {
  memcpy(to, from, strlen(from) + 1);
}

static bool is_terminal(int file) {
  char settings[128]; /* The kernel's structure has 36 bytes. */
  return syscall(SYS_ioctl, file, TCGETS, settings) == 0;
}

static void terminate(int number);

static void let_end(int number) {
  struct sigaction fatal = {.sa_handler = SIG_DFL};
  sigaction(number, &fatal, NULL);
}

static bool terminates_by_us(void) {
  struct sigaction now;
  return sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == terminate;
}

/* Returns true if there is another copy of the library before that end of the
 * list. Copies count in the same objects, so one of them prints: the one that
 * goes last, as the others may still count. */
static bool has_copy(int i, int end) {
  for (int k = 0; k < end; ++k)
    if (k != i && vf_reports_1.list[k].print &&
        strcmp(vf_reports_1.list[k].library, vf_reports_1.list[i].library) == 0)
      return true;
  return false;
}

/* Prints all reports, then lets SIGTERM end the process. A second SIGTERM ends
 * it at once. */
static void terminate(int number) {
  if (!terminates_by_us())
    return; /* Called by a handler of the program that replaced this one. */
  int self = (int)getpid();
  if (__atomic_exchange_n(&vf_reports_1.terminating, self, __ATOMIC_RELAXED) !=
      self)
    for (int i = 0; i < VF_REPORTS; ++i)
      if (vf_reports_1.list[i].print && !has_copy(i, i))
        vf_reports_1.list[i].print();
  let_end(number);
  uint64_t this_one = UINT64_C(1) << (number - 1);
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &this_one, NULL, sizeof this_one);
  syscall(SYS_tgkill, self, syscall(SYS_gettid), number);
}

/* Does nothing in the first process of a container: the kernel would not let
 * SIGTERM end that process once the handler is removed. */
static void handle_sigterm(void) {
  struct sigaction action;
  if (getpid() == 1 || sigaction(SIGTERM, NULL, &action) != 0 ||
      (action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL)
    return;
  action = (struct sigaction){.sa_handler = terminate, .sa_flags = SA_RESTART};
  sigaction(SIGTERM, &action, NULL);
}

static bool read_setting(void) {
  const char *value = vf_env_get("VF_STATS");
  /* A name with a point is a file of the working directory; a word is not, so
   * that VF_STATS=yes is an error and not a file. */
  if (!value || (!strchr(value, '/') && !strchr(value, '.')) ||
      strlen(value) >= sizeof path)
    return vf_env_choice("VF_STATS", "0", "1", false);
  copy(path, value);
  return true;
}

bool vf_report_is_wanted(void) {
  if (!read_setting())
    return false;
  if (__atomic_exchange_n(&vf_reports_1.prepared, 1, __ATOMIC_RELAXED) == 0) {
    keep_stderr();
    handle_sigterm();
  }
  return true;
}

/* Returns the entry for another library or copy of one, or -1 if there is none
 * left. A library that is not listed takes the entry of a copy then. What
 * copies that are not listed count after the last listed one has gone is not
 * printed. */
static int entry_for(const char *library) {
  int entry = -1;
  bool is_listed = false;
  for (int i = 0; i < VF_REPORTS; ++i) {
    if (!vf_reports_1.list[i].print)
      return i;
    if (strcmp(vf_reports_1.list[i].library, library) == 0)
      is_listed = true;
    else if (has_copy(i, i))
      entry = i;
  }
  return is_listed ? -1 : entry;
}

void vf_report_register(const char *library, void (*print)(void)) {
  int i = entry_for(library);
  if (i < 0)
    return;
  vf_reports_1.list[i].library = library;
  vf_reports_1.list[i].print = print;
}

void vf_report_at_exit(void (*print)(void)) {
  for (int i = 0; i < VF_REPORTS; ++i) {
    if (vf_reports_1.list[i].print != print)
      continue;
    /* From now on the handler of SIGTERM must neither print this report a
     * second time nor call functions of a library that may be unloaded. */
    if (terminates_by_us())
      let_end(SIGTERM);
    if (!has_copy(i, VF_REPORTS))
      print();
    vf_reports_1.list[i].print = NULL;
    vf_reports_1.list[i].library = NULL;
  }
}

/* Returns a descriptor, or -1 with errno. */
static int open_at(int folder, const char *name, int flags) {
  return (int)syscall(SYS_openat, folder, name, flags | O_CLOEXEC, 0600);
}

/* Links on a path that are followed: as many as the kernel follows. */
#define VF_LINKS_MAX 40

/* The rest of a path, which begins in an open folder. */
struct walk {
  int folder;
  unsigned links;
  char *at; /* in rest */
  char rest[2 * sizeof path];
};

static char *after_slashes(char *at) {
  while (*at == '/')
    ++at;
  return at;
}

/* Returns true if only this process's user and root can write in the folder. */
static bool is_private(int folder) {
  struct stat status;
  return fstat(folder, &status) == 0 && (status.st_mode & 022) == 0 &&
         (status.st_uid == 0 || (long)status.st_uid == syscall(SYS_geteuid));
}

/* Replaces the folder by the next one, and closes the former. */
static bool enter(struct walk *walk, int next) {
  int error = errno;
  close(walk->folder);
  walk->folder = next;
  errno = error;
  return next >= 0;
}

/* Puts what the link leads to before the rest of the path. */
static bool follow(struct walk *walk, int link, const char *after) {
  char target[sizeof walk->rest];
  long n = syscall(SYS_readlinkat, link, "", target, sizeof target);
  close(link);
  if (!is_private(walk->folder) || ++walk->links > VF_LINKS_MAX) {
    errno = ELOOP;
    return enter(walk, -1);
  }
  if (n <= 0 || (size_t)n + 1 + strlen(after) >= sizeof target) {
    errno = ENAMETOOLONG;
    return enter(walk, -1);
  }
  target[n] = '/';
  copy(target + n + 1, after);
  copy(walk->rest, target);
  walk->at = walk->rest;
  return *target != '/' ||
         enter(walk, open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
}

/* Walks to the folder of the path's last name. Returns that name, or NULL with
 * errno and without a folder. */
static const char *walk_to_last(struct walk *walk) {
  for (;;) {
    char *name = after_slashes(walk->at), *end = name;
    while (*end != '\0' && *end != '/')
      ++end;
    char *after = after_slashes(end);
    if (*after == '\0')
      return name;
    *end = '\0';
    walk->at = after;
    struct stat status = {.st_mode = 0};
    int next = open_at(walk->folder, name, O_PATH | O_NOFOLLOW);
    bool is_link =
        next >= 0 && fstat(next, &status) == 0 && S_ISLNK(status.st_mode);
    if (!(is_link ? follow(walk, next, after) : enter(walk, next)))
      return NULL;
  }
}

/* Opens the file that VF_STATS names, and creates it for its owner only. The
 * process may have more rights than the users who can write to a folder on the
 * path, so no link that they may have made is followed: a link is followed only
 * before the path's last name, in a folder that others cannot write. Does not
 * wait for a reader of a FIFO. Calls only functions that a handler of SIGTERM
 * may call. Returns a descriptor, or -1 with errno. */
static int open_to_append(const char *name) {
  struct walk walk;
  walk.links = 0;
  copy(walk.rest, name);
  walk.at = walk.rest;
  walk.folder =
      open_at(AT_FDCWD, *name == '/' ? "/" : ".", O_PATH | O_DIRECTORY);
  const char *last = walk.folder < 0 ? NULL : walk_to_last(&walk);
  if (!last)
    return -1;
  int file = open_at(walk.folder, last,
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
                         O_NOCTTY);
  struct stat status;
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_nlink > 1) {
    close(file); /* Others may have linked another file to this name. */
    file = -1;
    errno = EMLINK;
  }
  enter(&walk, -1);
  return file;
}

/* Returns the descriptor of the file that VF_STATS names or, if that file
 * cannot be opened, of stderr, which the caller must not close. */
static int open_file(void) {
  char name[sizeof path + 32];
  const char *mark = strchr(path, '%');
  while (mark && mark[1] != 'p')
    mark = strchr(mark + 1, '%');
  if (mark)
    snprintf(name, sizeof name, "%.*s%ld%s", (int)(mark - path), path,
             (long)getpid(), mark + strlen("%p"));
  else
    copy(name, path);
  int file = open_to_append(name);
  if (file >= 0)
    return file;
  char line[sizeof name + 128];
  int n = snprintf(line, sizeof line,
                   "vfriendly: VF_STATS: %s: %m; writing to stderr\n", name);
  if (n > 0 && write(first_stderr(), line, (size_t)n) < 0)
    n = 0; /* There is nowhere to report it. */
  *path = '\0';
  return first_stderr();
}

static void write_out(struct vf_report *report) {
  size_t length = report->length;
  report->length = 0;
  bool is_named = *path != '\0';
  int file = is_named ? open_file() : first_stderr();
  if (write(file, report->text, length) < 0)
    return; /* A failed write is ignored: there is nowhere to report it. */
  if (is_named && *path != '\0')
    close(file);
}

static void add_text(struct vf_report *report, const char *format,
                     va_list arguments) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    size_t left = sizeof report->text - report->length;
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(report->text + report->length, left, format, again);
    va_end(again);
    if (n < 0)
      return;
    if ((size_t)n < left) {
      report->length += (size_t)n;
      return;
    }
    if (report->length == 0) { /* The text is longer than the whole buffer. */
      report->length = left - 1;
      return;
    }
    write_out(report);
  }
}

void vf_report_add(struct vf_report *report, const char *format, ...) {
  if (report->is_for_people)
    return;
  va_list arguments;
  va_start(arguments, format);
  add_text(report, format, arguments);
  va_end(arguments);
}

void vf_report_text(struct vf_report *report, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_text(report, format, arguments);
  va_end(arguments);
}

void vf_report_tell(struct vf_report *report, const char *format, ...) {
  if (!report->is_for_people)
    return;
  va_list arguments;
  va_start(arguments, format);
  add_text(report, format, arguments);
  va_end(arguments);
}

void vf_report_verdict(struct vf_report *report, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report->verdict, sizeof report->verdict, format, arguments);
  va_end(arguments);
}

bool vf_report_is_idle(const uint64_t *counters, int n) {
  if (!__libc_single_threaded)
    return false;
  for (int i = 0; i < n; ++i)
    if (__atomic_load_n(&counters[i], __ATOMIC_RELAXED) != 0)
      return false;
  return true;
}

/* Tells the counters that are not 0. */
static void tell_counters(struct vf_report *report, const char *library,
                          const char *const *names, const uint64_t *counters,
                          int n) {
  vf_report_tell(report, "vfriendly: lib%s in %s, process %ld: %s\n", library,
                 program_invocation_short_name, (long)getpid(),
                 report->verdict);
  const char *before = "  ";
  for (int i = 0; i < n; ++i) {
    uint64_t counter = __atomic_load_n(&counters[i], __ATOMIC_RELAXED);
    if (counter == 0)
      continue;
    vf_report_tell(report, "%s%s %" PRIu64, before, names[i], counter);
    before = ", ";
  }
  if (*before == ',')
    vf_report_tell(report, "\n");
}

void vf_report_counters(struct vf_report *report, const char *library,
                        const char *const *names, const uint64_t *counters,
                        int n) {
  report->is_for_people = !*path && is_terminal(first_stderr());
  if (report->is_for_people) {
    tell_counters(report, library, names, counters, n);
    return;
  }
  vf_report_add(report, "{\"%s\": {", library);
  for (int i = 0; i < n; ++i)
    vf_report_add(report, "%s\"%s\": %" PRIu64, i ? ", " : "", names[i],
                  __atomic_load_n(&counters[i], __ATOMIC_RELAXED));
}

/* Adds the program's name as a JSON string. */
static void add_program(struct vf_report *report) {
  if (report->is_for_people)
    return;
  vf_report_add(report, "\"");
  for (const char *c = program_invocation_short_name; *c; ++c)
    vf_report_add(report, *c == '"' || *c == '\\' ? "\\%c" : "%c",
                  (unsigned char)*c < ' ' ? '?' : *c);
  vf_report_add(report, "\"");
}

void vf_report_end(struct vf_report *report) {
  vf_report_add(report, "}, \"verdict\": \"%s\", \"pid\": %ld, \"program\": ",
                report->verdict, (long)getpid());
  add_program(report);
  vf_report_add(report, "}\n");
  write_out(report);
}
