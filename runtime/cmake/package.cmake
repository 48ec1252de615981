# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes find_package(VFriendly) work, from an installation and from this build
# tree (-DVFriendly_DIR=build).

include(CMakePackageConfigHelpers)
get_target_property(VF_STATIC_LINK_OPTIONS vfrt-static INTERFACE_LINK_OPTIONS)

set(VF_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/VFriendly)
set(VF_PACKAGE_LIBDIR "\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_LIBDIR}")
set(VF_PACKAGE_INCLUDEDIR "\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_INCLUDEDIR}")
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/VFriendlyConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/VFriendlyConfig.cmake
  INSTALL_DESTINATION ${VF_PACKAGE_DIR})
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/package/VFriendlyConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/package/VFriendlyConfig.cmake
  ${CMAKE_BINARY_DIR}/package/VFriendlyConfigVersion.cmake
  DESTINATION ${VF_PACKAGE_DIR} COMPONENT dev)

# Relocatable, as the CMake package is.
file(RELATIVE_PATH VF_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/vfriendly.pc.in
  ${CMAKE_BINARY_DIR}/package/vfriendly.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/vfriendly.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

set(VF_PACKAGE_LIBDIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(VF_PACKAGE_INCLUDEDIR ${PROJECT_SOURCE_DIR}/runtime/include)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/VFriendlyConfig.cmake.in
  ${CMAKE_BINARY_DIR}/VFriendlyConfig.cmake
  INSTALL_DESTINATION ${CMAKE_BINARY_DIR}
  INSTALL_PREFIX ${CMAKE_BINARY_DIR})
file(COPY ${CMAKE_BINARY_DIR}/package/VFriendlyConfigVersion.cmake
  DESTINATION ${CMAKE_BINARY_DIR})
