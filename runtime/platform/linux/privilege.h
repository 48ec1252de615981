/*===- platform/linux/privilege.h - Is the environment to be trusted?
 * --------===* Part of the vfriendly project, under the Apache License v2.0
 * with LLVM Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The policy of all libraries for programs that are setuid or setgid, have file
 * capabilities, or change their domain at exec: whoever started such a program
 * chose its environment, its limits and its standard files, but may not have
 * its privileges. In such a process the libraries read no variable
 * (vf_env_get), open no file, print nothing and start no thread.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_LINUX_PRIVILEGE_H
#define VFRIENDLY_PLATFORM_LINUX_PRIVILEGE_H

#include <stdbool.h>
#include <sys/auxv.h>

/* Returns true if exec gave the process privileges that its caller may not
 * have. The answer does not change until the next exec. */
static inline bool vf_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

#endif /* VFRIENDLY_PLATFORM_LINUX_PRIVILEGE_H */
