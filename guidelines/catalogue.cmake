# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Reads the catalogue and generates what the build needs of it. A feature's slug
# names its folder in every layer, and a check's name names its class:
# vfriendly-heap-churn-loop-allocation is LoopAllocationCheck, declared in
# checkers/heap-churn/Checks.h; vfriendly-spin-loops, which has no
# word after the slug, is SpinLoopsCheck. The pass vf-spin-loops is SpinLoopsPass
# in passes/spin-loops/SpinLoopsPass.h. What the plugin runs by itself has options,
# which are the plugin's; any other pass runs where -passes= names it.
#
# Sets VF_CHECKER_FOLDERS and VF_PASS_FOLDERS, the slugs of the features that have
# checks and passes.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${VF_CATALOGUE} ${VF_PROJECT_FILE})
file(READ ${VF_CATALOGUE} catalogue)
file(READ ${VF_PROJECT_FILE} project)
string(JSON site GET ${project} site)
string(REGEX REPLACE "/$" "" site "${site}")

# spin-loops is SpinLoops in C++.
function(vf_camel_case slug out)
  set(name "")
  string(REPLACE "-" ";" words ${slug})
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND name ${first}${rest})
  endforeach()
  set(${out} ${name} PARENT_SCOPE)
endfunction()

set(VF_CHECKER_FOLDERS "")
set(VF_PASS_FOLDERS "")
set(VF_CATALOGUE_ENTRIES "")
set(VF_CHECK_HEADERS "")
set(VF_CHECK_ENTRIES "")
set(VF_PASS_HEADERS "")
set(VF_PASS_NAMES "")
set(VF_PASSES_ON_REQUEST "")
string(JSON features LENGTH ${catalogue} features)
math(EXPR last "${features} - 1")
foreach(i RANGE ${last})
  string(JSON slug GET ${catalogue} features ${i} slug)
  string(JSON sentence GET ${catalogue} features ${i} sentence)
  string(JSON page GET ${catalogue} features ${i} guideline)
  # Diagnostics name pages as readers can open them: of the site, once the project has one.
  if(site)
    string(REGEX REPLACE "^guidelines/(.*)\\.md$" "${site}/\\1.html" page ${page})
  endif()
  vf_camel_case(${slug} name)
  string(APPEND VF_CATALOGUE_ENTRIES
    "inline constexpr Feature ${name}{\"${slug}\", \"${sentence}\", \"${page}\"};\n")

  string(JSON passes LENGTH ${catalogue} features ${i} passes)
  if(passes)
    list(APPEND VF_PASS_FOLDERS ${slug})
    string(APPEND VF_PASS_HEADERS
      "#include \"passes/${slug}/${name}Pass.h\"\n")
    string(APPEND VF_PASS_NAMES
      "  PIC.addClassToPassName(${name}Pass::name(), \"vf-${slug}\");\n")
    string(JSON default GET ${catalogue} features ${i} default)
    if(NOT default)
      string(APPEND VF_PASSES_ON_REQUEST
        "  if (Name == \"vf-${slug}\")\n    return MPM.addPass(${name}Pass()), true;\n")
    endif()
  endif()
  string(JSON checks LENGTH ${catalogue} features ${i} checks)
  if(checks)
    list(APPEND VF_CHECKER_FOLDERS ${slug})
    math(EXPR last_check "${checks} - 1")
    foreach(c RANGE ${last_check})
      string(JSON check GET ${catalogue} features ${i} checks ${c})
      string(REGEX REPLACE "^vfriendly-${slug}-?" "" what ${check})
      if(NOT what)
        set(what ${slug})
      endif()
      vf_camel_case(${what} class)
      # Two features may look for the same: the later class has its feature's name before.
      list(FIND classes ${class} other)
      if(NOT other EQUAL -1)
        vf_camel_case(${slug}-${what} class)
      endif()
      list(APPEND classes ${class})
      # Checks of a family with a base class are declared together.
      set(header checkers/${slug}/${class}Check.h)
      if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${header})
        set(header checkers/${slug}/Checks.h)
      endif()
      string(APPEND VF_CHECK_HEADERS "#include \"${header}\"\n")
      string(APPEND VF_CHECK_ENTRIES
        "  Factories.registerCheck<vfriendly::tidy::${class}Check>(\"${check}\");\n")
    endforeach()
  endif()
endforeach()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/vfriendly/Catalogue.h CONTENT [=[
// Generated from guidelines/catalogue.json: edit that file.
#ifndef VFRIENDLY_CATALOGUE_H
#define VFRIENDLY_CATALOGUE_H
namespace vfriendly {
struct Feature {
  const char *Slug;
  const char *Sentence;
  const char *Guideline;
};
@VF_CATALOGUE_ENTRIES@
} // namespace vfriendly
#endif
]=] @ONLY)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/vfriendly/Checks.h CONTENT [=[
// Generated from guidelines/catalogue.json: edit that file.
#ifndef VFRIENDLY_CHECKS_H
#define VFRIENDLY_CHECKS_H
@VF_CHECK_HEADERS@
#include "clang-tidy/ClangTidyModule.h"
namespace vfriendly::tidy {
inline void addChecks(clang::tidy::ClangTidyCheckFactories &Factories) {
@VF_CHECK_ENTRIES@}
} // namespace vfriendly::tidy
#endif
]=] @ONLY)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/vfriendly/Passes.h CONTENT [=[
// Generated from guidelines/catalogue.json: edit that file.
#ifndef VFRIENDLY_PASSES_H
#define VFRIENDLY_PASSES_H
@VF_PASS_HEADERS@
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
namespace vfriendly {
inline void addPassNames(llvm::PassInstrumentationCallbacks &PIC) {
@VF_PASS_NAMES@}
/// Adds the pass of this name, of those that run on request only; returns false
/// if there is none.
inline bool addPassOnRequest(llvm::StringRef Name,
                             llvm::ModulePassManager &MPM) {
@VF_PASSES_ON_REQUEST@  return false;
}
} // namespace vfriendly
#endif
]=] @ONLY)
