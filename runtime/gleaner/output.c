/*===- gleaner/output.c - A run in Prometheus' format and as JSON ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/output.h"
#include "gleaner/policy.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

struct value {
  const char *name, *type, *help;
  double is;
};

enum { MOST_VALUES = 13 };

static int values_of(const struct gl_record *record,
                     struct value values[MOST_VALUES]) {
  const struct gl_load load = gl_load_of(&record->sample);
  const struct value all[] = {
      {"cpus", "gauge", "CPUs that the workload may use", record->sample.cpus},
      {"kept_cpus", "gauge", "CPUs to which it is confined", record->n_kept},
      {"retained", "gauge", "1 if idle CPUs are kept awake", record->retained},
      {"used_cpus", "gauge", "CPUs that the workload used", load.used},
      {"computation_seconds", "gauge",
       "mean computation of a CPU between two idle periods", load.l_comp},
      {"granularity_seconds", "gauge",
       "mean computation of a thread between two switches", load.g_comp},
      {"idle_period_seconds", "gauge",
       "mean idle period of CPUs in use; 0 while it is not counted", load.gap},
      {"moved_bytes_per_second", "gauge",
       "bytes that the workload read and wrote; 0 if unknown",
       record->sample.moved / record->sample.seconds},
      {"trials_total", "counter", "trials that ended", (double)record->trials},
      {"trials_won_total", "counter", "trials that the new setting won",
       (double)record->won},
      {"changes_total", "counter", "changes of the CPUs",
       (double)record->changes},
      {"daemon_cpu_seconds_total", "counter", "CPU time of measuring",
       record->daemon_s},
      {"retention_cpu_seconds_total", "counter",
       "CPU time in which idle CPUs were kept awake", record->retained_s},
  };
  for (int i = 0; i < MOST_VALUES; ++i)
    values[i] = all[i];
  return MOST_VALUES;
}

/* Returns the length of the UTF-8 sequence at text, or 0 if it is none. Longer
 * forms of a character and surrogates pass as no reader here rejects them. */
static int utf8_length(const char *text) {
  unsigned char c = (unsigned char)*text;
  int length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  for (int i = 1; i < length; ++i)
    if (((unsigned char)text[i] & 0xc0) != 0x80)
      return 0;
  return c < 0xf5 ? length : 0;
}

void gl_print_quoted(const char *text, FILE *to) {
  fputc('"', to);
  for (int length; *text; text += length ? length : 1) {
    length = utf8_length(text);
    bool is_control = (unsigned char)*text < ' ' || *text == 0x7f;
    if (*text == '"' || *text == '\\')
      fputc('\\', to);
    /* A name may be any bytes, and cut within a character. */
    if (length == 0 || is_control)
      fputc('?', to);
    else
      fwrite(text, 1, (size_t)length, to);
  }
  fputc('"', to);
}

/* Creates a file that did not exist. Whoever else can write in the folder may
 * have made a link of this name, or another file: the name is removed first,
 * and what a link leads to is neither opened nor changed. */
static FILE *create(const char *path) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    int file =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file >= 0) {
      FILE *to = fdopen(file, "w");
      if (!to)
        close(file);
      return to;
    }
    if (errno != EEXIST || unlink(path) != 0)
      break;
  }
  return NULL;
}

int gl_write_prometheus(const struct gl_record *record, const char *path) {
  char draft[600];
  if (!gl_print(draft, sizeof draft, "%s.%d", path, record->supervisor))
    return ENAMETOOLONG;
  FILE *to = create(draft);
  if (!to)
    return errno;
  struct value values[MOST_VALUES];
  int n = values_of(record, values);
  for (int i = 0; i < n; ++i) {
    const struct value *v = &values[i];
    fprintf(to,
            "# HELP gleaner_%s %s\n# TYPE gleaner_%s %s\ngleaner_%s{command=",
            v->name, v->help, v->name, v->type, v->name);
    gl_print_quoted(record->name, to);
    fprintf(to, ",pid=\"%d\"} %.9g\n", record->command, v->is);
  }
  int error = ferror(to) ? EIO : 0;
  if (fclose(to) != 0)
    error = errno;
  if (!error && rename(draft, path) != 0)
    error = errno;
  if (error)
    remove(draft);
  return error;
}

int gl_print_json(const struct gl_record *record, FILE *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  fprintf(to, "{\"time\": %lld.%03ld, \"pid\": %d, \"command\": ",
          (long long)now.tv_sec, now.tv_nsec / 1000000, record->command);
  gl_print_quoted(record->name, to);
  fprintf(to, ", \"reason\": ");
  gl_print_quoted(gl_reason_text(record->reason), to);
  fprintf(to, ", \"gain\": %.4f", record->gain);
  struct value values[MOST_VALUES];
  int n = values_of(record, values);
  for (int i = 0; i < n; ++i)
    fprintf(to, ", \"%s\": %.9g", values[i].name, values[i].is);
  fputs("}\n", to);
  return fflush(to) == 0 ? 0 : errno;
}
