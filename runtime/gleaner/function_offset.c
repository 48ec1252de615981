/*===- gleaner/function_offset.c - Where a function is in its file --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/function_offset.h"
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
  const char *bytes;
  uint64_t size;
};

/* Returns the address of `n` entries of `each` bytes at `at`, or null where the
 * file, which may be damaged, does not have them. */
static const void *part(const struct file *file, uint64_t at, uint64_t n,
                        uint64_t each) {
  return at <= file->size && each > 0 && n <= (file->size - at) / each
             ? file->bytes + at
             : NULL;
}

static uint64_t offset_of(const struct file *file, const Elf64_Ehdr *header,
                          uint64_t address) {
  const Elf64_Phdr *segments =
      part(file, header->e_phoff, header->e_phnum, sizeof *segments);
  for (int i = 0; segments && i < header->e_phnum; ++i) {
    const Elf64_Phdr *segment = &segments[i];
    if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
        address - segment->p_vaddr < segment->p_filesz)
      return address - segment->p_vaddr + segment->p_offset;
  }
  return 0;
}

static uint64_t look_up(const struct file *file, const char *function) {
  const Elf64_Ehdr *header = part(file, 0, 1, sizeof *header);
  if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  const Elf64_Shdr *sections =
      part(file, header->e_shoff, header->e_shnum, sizeof *sections);
  for (int i = 0; sections && i < header->e_shnum; ++i) {
    const Elf64_Shdr *table = &sections[i];
    if ((table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) ||
        table->sh_link >= header->e_shnum)
      continue;
    const Elf64_Shdr *strings = &sections[table->sh_link];
    uint64_t n = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = part(file, table->sh_offset, n, sizeof *symbols);
    const char *names = part(file, strings->sh_offset, strings->sh_size, 1);
    if (!symbols || !names || strings->sh_size == 0 ||
        names[strings->sh_size - 1] != '\0')
      continue;
    for (uint64_t s = 0; s < n; ++s)
      if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC &&
          symbols[s].st_shndx != SHN_UNDEF &&
          symbols[s].st_name < strings->sh_size &&
          strcmp(names + symbols[s].st_name, function) == 0)
        return offset_of(file, header, symbols[s].st_value);
  }
  return 0;
}

uint64_t gl_function_offset(const char *path, const char *function) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat stat;
  uint64_t offset = 0;
  if (fd < 0)
    return 0;
  if (fstat(fd, &stat) == 0 && stat.st_size > 0) {
    struct file file = {.size = (uint64_t)stat.st_size};
    void *bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED) {
      file.bytes = bytes;
      offset = look_up(&file, function);
      munmap(bytes, file.size);
    }
  }
  close(fd);
  return offset;
}
