# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Locks that are built from others' sources, in the folder of the results: those of FlexGuard's repository
(--src DIR, a checkout of github.com/vlaforet/flexguard), and Rust's parking_lot where there is cargo.

FlexGuard itself needs BPF, so it runs as root only."""

import os
import re
import shutil
import subprocess

import bench

# name -> what FlexGuard's repository calls it
OF_FLEXGUARD = {"flexguard": "FLEXGUARD", "shuffle": "SHUFFLE", "malthusian": "MALTHUSIAN", "mcs-tp": "MCSTP", "u-scl": "USCL"}
RUST = "parking-lot"
NAMES = (*OF_FLEXGUARD, RUST)
PACKAGES = {"flexguard": ["bpftool", "libbpf-dev", "libelf-dev"], "malthusian": ["libpapi-dev"]}
LOCK = "locks/drop-in.h"

_CARGO = """[package]
name = "drop_in"
version = "0.1.0"
edition = "2021"
[lib]
crate-type = ["staticlib"]
[dependencies]
parking_lot = "0.12"
[profile.release]
lto = true
"""
_RUST = """use parking_lot::lock_api::RawMutex;
type Lock = parking_lot::RawMutex;
#[no_mangle]
pub extern "C" fn drop_in_new() -> *const Lock { Box::into_raw(Box::new(Lock::INIT)) }
#[no_mangle]
pub unsafe extern "C" fn drop_in_lock(lock: *const Lock) { (*lock).lock() }
#[no_mangle]
pub unsafe extern "C" fn drop_in_unlock(lock: *const Lock) { (*lock).unlock() }
"""


def there(source):
    """The locks that can be built."""
    return [*(OF_FLEXGUARD if source else ()), *([RUST] if shutil.which("cargo") else ())]


def _written(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def _topology(source, path):
    with open(os.path.join(source, "include", "litl", "topology.in")) as file:
        text = file.read()
    for name, value in (("nodes", 1), ("cpus", os.cpu_count()), ("pagesize", os.sysconf("SC_PAGESIZE"))):
        text = text.replace(f"@{name}@", str(value))
    _written(path, text)


def _tsc_khz():
    with open("/proc/cpuinfo") as file:
        return round(float(re.search(r"^cpu MHz\s*: (\S+)$", file.read(), re.M).group(1)) * 1000)


def _skeleton(tree, source, flags, folder):
    """FlexGuard's BPF programs as a header."""
    program = os.path.join(folder, "flexguard.bpf.o")
    bench.build([tree.tool("clang"), "-g", "-O2", "-w", "-target", "bpf", "-D__TARGET_ARCH_x86", f"-I{source}/vmlinux/x86", *flags,
                 "-idirafter", "/usr/include/x86_64-linux-gnu", "-c", os.path.join(source, "src", "flexguard.bpf.c"), "-o", program])
    bpftool = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin")
    _written(os.path.join(folder, "include", "flexguard.skel.h"), bench.build([bpftool, "gen", "skeleton", program, "name", "flexguard_bpf"]))


def _of_flexguard(tree, name, source, folder):
    lock = OF_FLEXGUARD[name]
    include = os.path.join(folder, "include")
    _topology(source, os.path.join(include, "litl", "topology.h"))
    flags = ["-D_GNU_SOURCE", "-DADD_PADDING", f"-DUSE_{lock}_LOCKS", "-DCONDVARS_BLOCK", "-DUSE_REAL_PTHREAD=1",
             "-Dpopen=drop_in_popen", f"-DTSC_KHZ={_tsc_khz()}", f"-I{include}", f"-I{source}/include"]
    libraries = []
    if name == "flexguard":
        flags += ["-DHYBRID_MCS", "-DBPF"]
        _skeleton(tree, source, flags, folder)
        libraries = ["-lbpf", "-lelf", "-lz"]
    objects = []
    here = os.path.dirname(os.path.abspath(__file__))
    for file in (os.path.join(source, "src", f"{lock.lower()}.c"), os.path.join(here, "locks", "drop-in.c")):
        objects.append(os.path.join(folder, os.path.basename(file) + ".o"))
        # gcc and -O3, as its authors build it.
        bench.build(["gcc", "-O3", "-w", *flags, "-c", file, "-o", objects[-1]])
    return [*objects, *libraries]


def _parking_lot(folder):
    _written(os.path.join(folder, "Cargo.toml"), _CARGO)
    _written(os.path.join(folder, "src", "lib.rs"), _RUST)
    done = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise bench.Broken(f"parking_lot was not built; leave it out with --peers: {done.stderr.strip()[-300:]}")
    return [os.path.join(folder, "target", "release", "libdrop_in.a"), "-ldl"]


def build(tree, name, source, folder):
    """Builds the lock in the folder. Returns what a program that includes LOCK is linked with."""
    os.makedirs(folder, exist_ok=True)
    if name == RUST:
        return _parking_lot(folder)
    if not source or not os.path.exists(os.path.join(source, "include", "lock_if.h")):
        raise bench.Usage(f"{name}: --src DIR must be a checkout of github.com/vlaforet/flexguard")
    return _of_flexguard(tree, name, os.path.abspath(source), folder)
