# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognizes the functions of allocators in stacks, by their names: of glibc, jemalloc, mimalloc and tcmalloc, and of
C++ and Rust. In the libraries of allocators every function counts."""

import os
import re
from collections.abc import Sequence

from vfriendly.measuring.symbols import Frame

_LIBRARY = re.compile(r"lib(jemalloc|mimalloc|tcmalloc|hoard|scalloc|vfmalloc|vfblocks)\b.*")
_C = r"(malloc|calloc|realloc|reallocarray|free|cfree|memalign|aligned_alloc|posix_memalign|p?valloc)"
_FUNCTION = re.compile(
    rf"(__|__libc_|__GI_|__GI___libc_|je_|tc_|mi_|scalable_|vf_)?{_C}(@.*)?"
    # glibc's own, where its symbols are known.
    r"|_int_(malloc|free|realloc|memalign)\w*|malloc_consolidate|sysmalloc|systrim(\.\w+)*|unlink_chunk(\.\w+)*|tcache_\w+"
    r"|_?mi_\w+|je_\w+|tcmalloc::.*|operator (new|delete)(\[\])?(\(.*\))?|_Zn[wa]\w+|_Zd[la]\w+"
    r"|__rust_(alloc|dealloc|realloc|alloc_zeroed)|__r[dg]l_\w+")
# Functions of programs around those: what calls them says more.
_WRAPPER = re.compile(r"(.*::)?\w*(malloc|calloc|realloc|zalloc|strdup|strndup)(\(.*\))?|(x|z|app_)free")
_HEADER = re.compile(r"/usr/(include|lib)/|.*/c\+\+/(v1|\d+)/")


def is_allocator(frame: Frame) -> bool:
    return bool(_LIBRARY.fullmatch(os.path.basename(frame.module)) or _FUNCTION.fullmatch(frame.function))


def entry(frames: Sequence[Frame]) -> int:
    """Returns the index of the frame by which a stack enters an allocator, from the innermost; -1 if it does not.

    Allocators call no function of the program but the handlers of failures, so all time below the entry is theirs.
    """
    return max((i for i, f in enumerate(frames) if is_allocator(f)), default=-1)


def caller(frames: Sequence[Frame]) -> Frame | None:
    """Returns the frame that says for what the program allocates: neither a header of a library nor a wrapper."""
    own = (f for f in frames[entry(frames) + 1:] if f.file and not _HEADER.match(f.file))
    return next((f for f in own if not _WRAPPER.fullmatch(f.function)), None)
