# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's MLIR tests, from the source package of the MLIR that is installed.

fetch() brings mlir/test into build/suites; run() runs it by lit with tool.py in place of
mlir-opt and mlir-runner, and returns how each test ended.
"""

import glob
import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = "http://deb.debian.org/debian"
# Debian 12 takes its MLIR 22 from its security archive, which has no upstream tarball.
RELEASES = ("sid", "trixie")

SITE = """import sys
config.mlir_src_root, config.mlir_obj_root = {source!r}, {out!r}
config.llvm_src_root, config.target_triple = {source!r} + "/..", "x86_64-unknown-linux-gnu"
config.mlir_tools_dir = config.llvm_tools_dir = config.lit_tools_dir = {tools!r}
config.mlir_lib_dir = config.llvm_shlib_dir = {lib!r}
config.mlir_cmake_dir = config.host_cmake = config.host_cmake_generator = ""
config.llvm_shlib_ext, config.python_executable = ".so", sys.executable
config.native_target, config.host_os, config.host_arch = "X86", "Linux", "x86_64"
config.host_cc, config.host_cxx = {bin!r} + "/clang", {bin!r} + "/clang++"
config.host_c_compiler_launcher = config.host_cxx_compiler_launcher = ""
config.enable_libcxx = config.llvm_use_linker = config.llvm_use_sanitizer = config.expensive_checks = ""
config.cmake_build_type, config.gpu_compilation_format, config.rocm_test_chipset = "Release", "fatbin", ""
config.mlir_include_integration_tests, config.run_nvptx_tests = True, 1
config.mlir_run_riscv_vector_tests = config.intel_sde_executable = config.arm_sme_abi_routines_shlib = ""
for name in ("spirv_tools_tests enable_assertions build_examples enable_cuda_runner run_rocm_tests enable_rocm_runner run_xevm_tests "
             "enable_sycl_runner enable_levelzero_runner enable_spirv_cpu_runner enable_vulkan_runner enable_bindings_python "
             "mlir_run_amx_tests mlir_run_arm_sve_tests mlir_run_arm_sme_tests mlir_run_x86vector_tests mlir_run_cuda_tensor_core_tests "
             "mlir_run_cuda_sm80_tests mlir_run_cuda_sm80_lt_tests mlir_run_cuda_sm90_tests llvm_shared_libs_build").split():
    setattr(config, name, 0)
for name in ("executable options mlir_runner_executable lli_executable utils_lib_dir").split():
    setattr(config, "arm_emulator_" + name, "")
for name in ("vector_emulator_executable vector_emulator_options emulator_lli_executable emulator_utils_lib_dir").split():
    setattr(config, "riscv_" + name, "")
config.environment.update({environment!r})
import lit.llvm
lit.llvm.initialize(lit_config, config)
lit_config.load_config(config, {source!r} + "/test/lit.cfg.py")
"""


def fetch(folder, bring):
    """Returns the folder mlir of the source of the MLIR that is installed."""
    found = glob.glob(os.path.join(folder, "*", "mlir"))
    if found:
        return found[0]
    debian = bring.Debian(folder)
    version = bring.output(["dpkg-query", "-W", "-f", "${source:Upstream-Version}", "mlir-22-tools"], 30).partition(":")[2] or "22.1.8"
    os.makedirs(folder, exist_ok=True)
    options = debian._options()
    with open(os.path.join(folder, "apt", "sources.list"), "w") as file:
        for release in RELEASES:
            file.write(f"deb-src [signed-by={bring.KEYRING}] {ARCHIVE} {release} main\n")
    bring.call(["apt-get", *options, "update", "-q"], "cannot get Debian's package lists")
    listed = bring.call(["apt-cache", *options, "showsrc", "llvm-toolchain-22"], "cannot list llvm-toolchain-22")
    versions = [l.split()[1] for l in listed.splitlines() if l.startswith("Version: ") and f":{version}-" in l]
    if not versions:
        raise bring.NotRun(f"Debian has no source of MLIR {version}")
    bring.call(["apt-get", *options, "source", "--download-only", "--tar-only", f"llvm-toolchain-22={versions[0]}"],
               "cannot get the source of llvm-toolchain-22", cwd=folder)
    tarball = glob.glob(os.path.join(folder, "*.orig.tar.xz"))[0]
    bring.call(["tar", "-xf", tarball, "--wildcards", "*/mlir/test/*"], "cannot unpack MLIR's tests", cwd=folder)
    os.remove(tarball)
    return glob.glob(os.path.join(folder, "*", "mlir"))[0]


def tools_folder(folder, llvm):
    """A folder of LLVM's tools, with ours in place of two."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for tool in os.listdir(llvm):
        ours = tool in ("mlir-opt", "mlir-runner")
        os.symlink(os.path.join(HERE, "tool.py") if ours else os.path.join(llvm, tool), os.path.join(folder, tool))
    return folder


def run(source, folder, llvm, variant, environment, tests, jobs):
    """Runs the tests below source/test, and returns {test: how it ended}."""
    out = os.path.join(folder, variant)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(os.path.join(out, "log"))
    environment = {**environment, "VF_MLIR_VARIANT": variant, "VF_MLIR_BIN": llvm}
    if "VF_TEST_MLIR_COUNTER" in environment:
        environment["VF_TEST_MLIR_LOG"] = os.path.join(out, "log")
    os.makedirs(os.path.join(out, "test"))
    with open(os.path.join(out, "test", "lit.site.cfg.py"), "w") as file:
        file.write(SITE.format(source=source, out=out, bin=llvm, lib=os.path.join(os.path.dirname(llvm), "lib"),
                               tools=tools_folder(os.path.join(out, "bin"), llvm), environment=environment))
    results = os.path.join(out, "results.json")
    # Its status says that some tests fail, which some do without us.
    subprocess.run([os.path.join(llvm, "lit"), "-qq", f"-j{jobs}", "--timeout=300", "-o", results, *(os.path.join(out, "test", t) for t in tests)],
                   stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    with open(results) as file:
        ended = json.load(file)["tests"]
    return {each["name"].partition(":: ")[2]: each["code"] for each in ended}


def runs(folder, variant):
    """Returns {test: runs of mlir-runner} in the order of their ends, see tool.py."""
    found = {}
    try:
        with open(os.path.join(folder, variant, "log", "runs")) as file:
            for each in map(json.loads, file):
                if each["test"]:
                    found.setdefault(each["test"], []).append(each)
    except FileNotFoundError:
        pass
    return found
