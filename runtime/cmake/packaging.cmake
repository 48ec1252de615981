# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# CPack: Debian packages and one relocatable archive; `./dev package` makes both. The
# plugin and the clang-tidy module have one package for each LLVM version, and packages
# for several versions can be installed together. A build for a version other than the
# main one makes only these two packages.

set(llvm "${LLVM_VERSION_MAJOR}")
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY guidelines/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/guidelines
  COMPONENT doc FILES_MATCHING PATTERN *.md PATTERN __pycache__ EXCLUDE)
install(DIRECTORY runtime/kernel DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc PATTERN __pycache__ EXCLUDE)

set(CPACK_PACKAGE_NAME vfriendly)
set(CPACK_PACKAGE_VENDOR "the vfriendly project")
set(CPACK_PACKAGE_CONTACT "the vfriendly project <vfriendly@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_FILE_NAME vfriendly-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# The C libraries' versions are read from the files.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# One package: its component, name, what it needs besides, and what it is.
macro(vf_package component name depends description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
endmacro()
set(CPACK_COMPONENTS_ALL "")
set(dev "libvfrt-dev (= ${PROJECT_VERSION})")
vf_package(runtime libvfrt0 ""
  "Waits, locks and pools for programs in virtual machines")
vf_package(dev libvfrt-dev "libvfrt0 (= ${PROJECT_VERSION})"
  "Headers, static library, CMake package and vfriendly.pc of libvfrt")
set(jemalloc "")
if(TARGET vfmalloc)
  set(jemalloc " (the allocator's jemalloc: the system's)")
  if(VF_JEMALLOC_IS_PATCHED)
    set(jemalloc " (the allocator's jemalloc: 5.3.0 with a patch)")
  endif()
endif()
vf_package(preload libvfpreload ""
  "Locks, waits, an allocator and NUMA placement for programs that cannot be rebuilt, as preloaded libraries${jemalloc}")
vf_package(doc vfriendly-doc "" "Guidelines, and patches of Linux")
if(TARGET vfriendly)
  vf_package(plugin vfriendly-llvm-${llvm} "clang-${llvm}, ${dev}"
    "Pass plugin for clang ${llvm}")
  # Its symbols come from the tool that loads it.
  set(CPACK_DEBIAN_PLUGIN_PACKAGE_SHLIBDEPS OFF)
endif()
if(TARGET vfriendly-tidy)
  vf_package(tidy vfriendly-tidy-${llvm} "clang-tidy-${llvm}" "Checks for clang-tidy ${llvm}")
  set(CPACK_DEBIAN_TIDY_PACKAGE_SHLIBDEPS OFF)
  vf_package(tool vfriendly "python3 (>= 3.10), python3-yaml, python3-rich, python3-unidiff, python3-psutil, libbpf1, libdw1, llvm-${llvm} | llvm-19 | llvm"
    "Runs the checks over a project, reviews changes, measures programs")
  # For scan and review. An archive that has neither version has an older one, which is enough for measure.
  set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "vfriendly-tidy-${llvm} | vfriendly-tidy-19")
  set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS OFF)
endif()
if(TARGET vfriendly-mlir)
  vf_package(mlir vfriendly-mlir-${llvm} "mlir-${llvm}-tools" "MLIR dialect and passes")
  # mlir-opt needs the same libraries; reading LLVM's takes 10 s.
  set(CPACK_DEBIAN_MLIR_PACKAGE_SHLIBDEPS OFF)
endif()
include(CPack)
