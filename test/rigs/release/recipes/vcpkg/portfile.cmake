# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set(VCPKG_POLICY_DLLS_WITHOUT_LIBS enabled)
vcpkg_download_distfile(archive URLS "@URL@" FILENAME "vfriendly-@VERSION@.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")
file(INSTALL "${source}/include/vfriendly" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
file(GLOB libraries "${source}/lib/libvfrt.*")
file(INSTALL ${libraries} DESTINATION "${CURRENT_PACKAGES_DIR}/lib")
file(INSTALL ${libraries} DESTINATION "${CURRENT_PACKAGES_DIR}/debug/lib")
vcpkg_install_copyright(FILE_LIST "${source}/share/doc/VFriendly/LICENSE")
