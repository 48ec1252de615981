"""Runs tests for another processor: builds the runtime for it, and starts the tests where the
kernel runs its programs by qemu-user.

`./dev test --target aarch64` uses it. The runtime's tree is BUILD/TARGET, with the tools that
tests call by name: clang for that processor. The emulator is registered in a user namespace of
the run, so that nothing of the machine changes. qemu-user keeps the memory order of the machine
that it runs on: on x86-64 no test finds a missing barrier of the runtime.
"""

import os
import shutil
import subprocess
import sys

TARGETS = ("aarch64", "riscv64")
BINFMT = "/proc/sys/fs/binfmt_misc"


class Broken(Exception):
    """Something is missing, or does not work on this machine."""


def _configure(source, tree, target, with_malloc):
    triple = f"{target}-linux-gnu"
    options = {
        "CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": target,
        "CMAKE_C_COMPILER_TARGET": triple, "CMAKE_CXX_COMPILER_TARGET": triple,
        "CMAKE_FIND_ROOT_PATH": f"/usr/{triple}", "CMAKE_FIND_ROOT_PATH_MODE_LIBRARY": "ONLY",
        "VF_BUILD_PASSES": "OFF", "VF_BUILD_CHECKERS": "OFF", "VF_BUILD_TESTS": "OFF",
        # There may be no linker of gcc's, and no C++ library: the runtime is C.
        "CMAKE_EXE_LINKER_FLAGS": "-fuse-ld=lld", "CMAKE_SHARED_LINKER_FLAGS": "-fuse-ld=lld",
        "CMAKE_MODULE_LINKER_FLAGS": "-fuse-ld=lld", "CMAKE_CXX_COMPILER_WORKS": "TRUE",
        # jemalloc takes most of the time.
        "VF_JEMALLOC_BUILD": "ON" if with_malloc else "OFF",
        "CMAKE_CROSSCOMPILING_EMULATOR": f"qemu-{target}-static;-L;/usr/{triple}",
    }
    subprocess.run(["cmake", "--preset", "dev", "-S", source, "-B", tree]
                   + [f"-D{name}={value}" for name, value in options.items()],
                   check=True, stdout=subprocess.DEVNULL, cwd=source)


def _has_malloc(tree):
    with open(os.path.join(tree, "CMakeCache.txt"), encoding="utf-8") as cache:
        return "VF_JEMALLOC_BUILD:BOOL=ON" in cache.read()


def _write_tools(tree, target):
    for name in ("libvfriendly.so", "libvfriendly-tidy.so"):
        link = os.path.join(tree, "lib", name)
        if not os.path.islink(link):
            os.symlink(os.path.join("..", "..", "lib", name), link)
    # It names the files beside itself.
    shutil.copy(os.path.join(tree, "..", "lib", "vfriendly.cfg"), os.path.join(tree, "lib"))
    # Tests write the hint of x86-64.
    hint = {"aarch64": "'-D__builtin_ia32_pause()=__builtin_arm_yield()'",
            "riscv64": "-march=rv64gc_zihintpause '-D__builtin_ia32_pause()=__builtin_riscv_pause()'"}[target]
    folder = os.path.join(tree, "tools")
    os.makedirs(folder, exist_ok=True)
    for name in ("clang", "clang++"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            # A test that names another linker does so later on the command line. There are no sanitizers for
            # TARGET: what they would look at runs without.
            file.write('#!/bin/sh\nfor word; do\n  shift\n'
                       '  case "$word" in -fsanitize=* | -fno-sanitize-recover=*) ;; *) set -- "$@" "$word" ;; esac\ndone\n'
                       f'exec {name}-22 --target={target}-linux-gnu {hint} -fuse-ld=lld -Wno-unused-command-line-argument "$@"\n')
        os.chmod(path, 0o755)


# Those for which jemalloc is built; RISC-V has only waits and locks.
WITH_MALLOC = ("aarch64",)
# What the tests of an ordinary run need (test/driver/aarch64.test).
FEW_LIBRARIES = ("vfrt-shared", "vfrt-static", "vfrt-link-object", "vfpthread")


def build(source, build_tree, target, libraries=()):
    """Builds the runtime for TARGET, or only these libraries of it."""
    tree = os.path.join(build_tree, target)
    try:
        with_malloc = target in WITH_MALLOC and not libraries
        if not os.path.exists(os.path.join(tree, "build.ninja")):
            _configure(source, tree, target, with_malloc)
        elif with_malloc and not _has_malloc(tree):
            # Without the preset: CMake takes its names of compilers for others than the cache's paths, and
            # would forget all options.
            subprocess.run(["cmake", "-DVF_JEMALLOC_BUILD=ON", tree], check=True, stdout=subprocess.DEVNULL)
        only = ["--target", *libraries] if libraries else []
        subprocess.run(["cmake", "--build", tree, *only], check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as error:
        raise Broken(f"the runtime does not build for {target}: {error}") from None
    _write_tools(tree, target)


def missing(target):
    """Returns why TARGET's programs cannot be linked and run here, or None."""
    if not os.path.exists(f"/usr/{target}-linux-gnu/lib/crt1.o"):
        return f"no libc to link with for {target}"
    try:
        _registration(target)
    except Broken as error:
        return str(error)
    if os.path.exists(f"{BINFMT}/qemu-{target}"):
        return None
    # A container may forbid it.
    mounts = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "binfmt_misc", "none", BINFMT],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return mounts.stderr.strip() if mounts.returncode else None


def _registration(target):
    """The emulator's line for the kernel, as its package has it."""
    path = f"/usr/lib/binfmt.d/qemu-{target}.conf"
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError as error:
        raise Broken(f"{error}: install qemu-user-static") from None


def enter(target):
    """Replaces this process by itself in a namespace where TARGET's programs run. Returns if
    they run already."""
    if os.path.exists(f"{BINFMT}/qemu-{target}"):
        return
    line = _registration(target)
    if "VF_TEST_NAMESPACE" in os.environ:
        try:
            with open(f"{BINFMT}/register", "w", encoding="ascii") as file:
                file.write(line)
        except OSError as error:
            raise Broken(f"the kernel does not register an emulator: {error}") from None
        return
    os.environ["VF_TEST_NAMESPACE"] = "1"
    mount = f'mount -t binfmt_misc none {BINFMT} && exec "$@"'
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount,
                          "sh", sys.executable] + sys.argv)
