/*===- gleaner/repair.c - After both processes were killed ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/halt_poll.h"
#include "gleaner/options.h"
#include "gleaner/place.h"
#include <dirent.h>
#include <unistd.h>

int gl_repair(void) {
  char path[400];
  gl_record_folder(path, sizeof path);
  DIR *folder = path[0] ? opendir(path) : NULL;
  if (!folder) {
    printf("gleaner: nothing to repair\n");
    return 0;
  }
  unsigned repaired = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char file[700];
    gl_print(file, sizeof file, "%s/%s", path, entry->d_name);
    struct gl_record *record = gl_record_map(file, true);
    if (!record)
      continue;
    if (!gl_record_is_live(record)) {
      gl_place_close(record);
      gl_halt_poll_end(record);
      printf("gleaner: %s, run %d: gave back CPUs\n", record->name,
             record->supervisor);
      unlink(file);
      ++repaired;
    }
    gl_record_unmap(record);
  }
  closedir(folder);
  if (!repaired)
    printf("gleaner: nothing to repair\n");
  return 0;
}
