# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Files that take long to build and depend on few others are kept for the user's other build
# trees, in $XDG_CACHE_HOME/vfriendly. The name of a file there is a key, which must cover all that
# the file is built from, and the file's own hash: one that was damaged is not taken.
#
#   vf_find_kept(KEY OUT)     sets OUT to the file kept under KEY, or to NOTFOUND
#   vf_keep(KEY FILE)         keeps a copy of FILE under KEY; does nothing where that is impossible

if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(VF_KEPT $ENV{XDG_CACHE_HOME}/vfriendly/built)
elseif(NOT "$ENV{HOME}" STREQUAL "")
  set(VF_KEPT $ENV{HOME}/.cache/vfriendly/built)
else()
  set(VF_KEPT "")
endif()

function(vf_find_kept key out)
  set(${out} NOTFOUND PARENT_SCOPE)
  if(NOT VF_KEPT)
    return()
  endif()
  file(GLOB candidates ${VF_KEPT}/${key}-*)
  foreach(file IN LISTS candidates)
    # Another build may remove it now.
    execute_process(COMMAND ${CMAKE_COMMAND} -E sha256sum ${file} OUTPUT_VARIABLE sum ERROR_QUIET)
    string(REGEX MATCH "^[0-9a-f]+" sum "${sum}")
    if(file STREQUAL "${VF_KEPT}/${key}-${sum}")
      set(${out} ${file} PARENT_SCOPE)
      return()
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E rm -f ${file} ERROR_QUIET)
  endforeach()
endfunction()

function(vf_keep key file)
  if(NOT VF_KEPT)
    return()
  endif()
  file(SHA256 ${file} sum)
  # Under its name it is whole: it is renamed when it is.
  string(RANDOM LENGTH 16 random)
  set(new ${VF_KEPT}/.${random})
  execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory ${VF_KEPT} ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_COMMAND} -E copy ${file} ${new} RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    execute_process(COMMAND ${CMAKE_COMMAND} -E rm -f ${new} ERROR_QUIET)
  else()
    execute_process(COMMAND ${CMAKE_COMMAND} -E rename ${new} ${VF_KEPT}/${key}-${sum} ERROR_QUIET)
  endif()
endfunction()
