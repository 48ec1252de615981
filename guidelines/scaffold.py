#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the files that a new check or pass starts from.

`./dev new-check SLUG[/WHAT]`: SLUG is a feature, new or in the catalogue; WHAT is what
one of its checks looks for. `heap-churn/odd-sizes` is the check
vfriendly-heap-churn-odd-sizes, class OddSizesCheck; `odd-sizes` alone is the check
vfriendly-odd-sizes of a feature of its own.

`./dev new-pass SLUG`: the pass vf-SLUG of a feature that has none. It runs where
`-passes=vf-SLUG` names it; what the plugin runs by itself is in passes/plugin/Plugin.cpp.

Written are the class, a lit test that passes, the entry in the catalogue and, for a new
feature, its page. Nothing that exists is overwritten.
"""

import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CATALOGUE = os.path.join(HERE, "catalogue.json")

LICENSE = """\
{0} Part of the vfriendly project, under the Apache License v2.0 with LLVM
{0} Exceptions. See LICENSE for license information.
{0} SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

HEADER = """\
{banner}//
{license}//
//===----------------------------------------------------------------------===//

#ifndef {guard}
#define {guard}

#include "clang-tidy/ClangTidyCheck.h"

namespace vfriendly::tidy {{

/// {sentence}
class {name}Check : public clang::tidy::ClangTidyCheck {{
public:
  using ClangTidyCheck::ClangTidyCheck;
  void registerMatchers(clang::ast_matchers::MatchFinder *Finder) override;
  void
  check(const clang::ast_matchers::MatchFinder::MatchResult &Result) override;
}};

}} // namespace vfriendly::tidy

#endif
"""

SOURCE = """\
{banner}//
{license}//
//===----------------------------------------------------------------------===//

#include "checkers/{slug}/{name}Check.h"

#include "checkers/common/Kept.h"

#include "clang/ASTMatchers/ASTMatchers.h"

using namespace clang;
using namespace clang::ast_matchers;

namespace vfriendly::tidy {{

static constexpr const char *Example = "{example}";
static constexpr const char *Page = "{page}";

void {name}Check::registerMatchers(MatchFinder *Finder) {{
  Finder->addMatcher(
      callExpr(callee(functionDecl(hasName(Example))),
               optionally(forFunction(functionDecl().bind("function"))))
          .bind("call"),
      this);
}}

void {name}Check::check(const MatchFinder::MatchResult &Result) {{
  const auto *Call = Result.Nodes.getNodeAs<CallExpr>("call");
  const auto *Function = Result.Nodes.getNodeAs<FunctionDecl>("function");
  if (Function && isKept(*Function))
    return;
  diag(Call->getBeginLoc(), "call of '%0': what it costs in a virtual machine; "
                            "what to do instead (%1)")
      << Example << Page << Call->getSourceRange();
}}

}} // namespace vfriendly::tidy
"""

TEST = """\
{license}//
// {check}, beside what looks like it and must not be reported.
// RUN: %vf_clang_tidy --checks='-*,{check}' %s -- -std=c11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

void {example}(void);
void {example}_not(void);

void seen(void) {{
  // CHECK: :[[@LINE+1]]:3: warning: call of '{example}': {{{{.*}}}} [{check}]
  {example}();
}}

// Not reported: it only has a similar name.
void left(void) {{
  {example}_not();
}}

// Not reported: its author says so.
__attribute__((annotate("vfriendly:keep"))) void kept(void) {{
  {example}();
}}
"""

PASS_HEADER = """\
{banner}//
{license}//
//===----------------------------------------------------------------------===//

#ifndef {guard}
#define {guard}

#include "llvm/IR/PassManager.h"

namespace vfriendly {{

/// {sentence}
class {name}Pass : public llvm::PassInfoMixin<{name}Pass> {{
public:
  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
}};

}} // namespace vfriendly

#endif
"""

PASS_SOURCE = """\
{banner}//
{license}//
//===----------------------------------------------------------------------===//

#include "passes/{slug}/{name}Pass.h"

#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {{

static constexpr const char *PassName = "{check}";

/// Returns true if Call is what the pass is for.
static bool isMatch(const CallBase &Call) {{
  const Function *Callee = Call.getCalledFunction();
  return Callee && Callee->getName() == "{example}";
}}

PreservedAnalyses {name}Pass::run(Module &M, ModuleAnalysisManager &MAM) {{
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I); Call && isMatch(*Call))
        FAM.getResult<OptimizationRemarkEmitterAnalysis>(F).emit([&] {{
          return OptimizationRemarkMissed(PassName, "Left", Call)
                 << "call of '{example}' left as it is: the reason";
        }});
  return PreservedAnalyses::all();
}}

}} // namespace vfriendly
"""

PASS_TEST = """\
{ir_license};
; {check}, beside what looks like it and must be left without a word.
; RUN: opt -load-pass-plugin=%vf_plugin -passes={check} -pass-remarks-missed={check} -disable-output %s 2>&1 | FileCheck %s --implicit-check-not=remark:

declare void @{example}()
declare void @{example}_not()

; CHECK: remark: {{{{.*}}}} call of '{example}' left as it is
define void @seen() {{
  call void @{example}()
  ret void
}}

; Why not: it only has a similar name.
define void @left() {{
  call void @{example}_not()
  ret void
}}
"""

PAGE = """\
# {title}

{sentence}

## Do this

`{check}` ({kind})

## What to look for

## What it costs in a virtual machine

## What to write instead

## Limits
"""


class Refused(Exception):
    """What cannot be written, and why."""


def camel_case(slug):
    return "".join(word.capitalize() for word in slug.split("-"))


def banner(file, what):
    """LLVM's first line of a file, 80 columns wide."""
    tail = "*- C++ -*-===//" if file.endswith(".h") else "===//"
    head = f"//===- {file} - {what} "
    return head + "-" * (80 - len(head) - len(tail)) + tail + "\n"


def in_json(value):
    """A value on one line, but a table in the catalogue's entries with a line for each key."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "{\n" + ",\n".join(f"        {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n      }"


def write_catalogue(catalogue):
    """One line a key, as the file is kept by hand."""
    tables = []
    for name, entries in catalogue.items():
        if not isinstance(entries, list):
            tables.append(f"  {json.dumps(name)}: {in_json(entries)}")
            continue
        rows = []
        for entry in entries:
            lines = [f"      {json.dumps(k)}: {in_json(v)}" for k, v in entry.items()]
            rows.append("    {\n" + ",\n".join(lines) + "\n    }")
        tables.append(f"  {json.dumps(name)}: [\n" + ",\n".join(rows) + "\n  ]")
    with open(CATALOGUE, "w") as file:
        file.write("{\n" + ",\n".join(tables) + "\n}\n")


def require_words(name, form, *parts):
    for part in parts:
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", part):
            raise Refused(f"'{name}' is not {form} in lower case with hyphens")


def add_to_catalogue(slug, sentence, kind, name):
    """The catalogue with the name among the feature's `kind`, the feature, and whether it is new."""
    with open(CATALOGUE) as file:
        catalogue = json.load(file)
    feature = next((f for f in catalogue["features"] if f["slug"] == slug), None)
    is_new = feature is None
    if is_new:
        feature = {"slug": slug, "title": slug.capitalize().replace("-", " "), "sentence": sentence,
                   "guideline": f"guidelines/{slug}.md", "checks": [], "passes": [], "default": False}
        catalogue["features"].append(feature)
    if name in feature[kind]:
        raise Refused(f"the catalogue has {name} already")
    feature[kind] = sorted([*feature[kind], name])
    return catalogue, feature, is_new


def filled(files, fields):
    return {
        path: text.format(banner=banner(file, fields["check"]) if file else "", **fields)
        for path, (text, file) in files.items()
    }


def new_pass(slug, sentence):
    """The files by path, and the catalogue with the pass in it."""
    require_words(slug, "SLUG", slug)
    name = f"vf-{slug}"
    catalogue, feature, is_new = add_to_catalogue(slug, sentence, "passes", name)
    class_name = camel_case(slug)
    # The class comment of a feature that is there has its sentence: a test compares them.
    fields = {
        "slug": slug, "name": class_name, "check": name, "kind": "LLVM pass",
        "sentence": feature["sentence"], "title": feature["title"], "example": slug.replace("-", "_"),
        "license": LICENSE.format("//"), "ir_license": LICENSE.format(";"),
        "guard": f"VFRIENDLY_PASSES_{slug}_{class_name}PASS_H".replace("-", "").upper(),
    }
    files = {
        f"passes/{slug}/{class_name}Pass.h": (PASS_HEADER, f"{class_name}Pass.h"),
        f"passes/{slug}/{class_name}Pass.cpp": (PASS_SOURCE, f"{class_name}Pass.cpp"),
        f"test/{slug}/pass/{slug}.ll": (PASS_TEST, ""),
    }
    if is_new:
        files[feature["guideline"]] = (PAGE, "")
    return filled(files, fields), catalogue


def new_check(name, sentence):
    """The files by path, and the catalogue with the check in it."""
    slug, _, what = name.partition("/")
    require_words(name, "SLUG or SLUG/WHAT", slug, what or slug)
    check = f"vfriendly-{slug}-{what}" if what else f"vfriendly-{slug}"
    catalogue, feature, is_new = add_to_catalogue(slug, sentence, "checks", check)
    page = feature["guideline"]

    class_name = camel_case(what or slug)
    fields = {
        "slug": slug, "name": class_name, "check": check, "page": page, "sentence": sentence,
        "kind": "clang-tidy check", "title": feature["title"], "license": LICENSE.format("//"),
        "example": (what or slug).replace("-", "_"),
        "guard": f"VFRIENDLY_CHECKERS_{slug}_{class_name}CHECK_H".replace("-", "").upper(),
    }
    files = {
        f"checkers/{slug}/{class_name}Check.h": (HEADER, f"{class_name}Check.h"),
        f"checkers/{slug}/{class_name}Check.cpp": (SOURCE, f"{class_name}Check.cpp"),
        f"test/{slug}/check/{what or slug}.c": (TEST, ""),
    }
    if is_new:
        files[page] = (PAGE, "")
    return filled(files, fields), catalogue


KINDS = {"check": new_check, "pass": new_pass}


def main():
    parser = argparse.ArgumentParser(prog="./dev new-check, ./dev new-pass", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", metavar="SLUG[/WHAT]")
    parser.add_argument("--sentence", help="what it does, in one sentence")
    args = parser.parse_args()
    prefix = f"dev new-{args.kind}"
    try:
        files, catalogue = KINDS[args.kind](args.name, args.sentence or f"Finds what this {args.kind} is for.")
        taken = [path for path in files if os.path.exists(os.path.join(ROOT, path))]
        if taken:
            raise Refused(f"{taken[0]} exists already")
    except Refused as why:
        print(f"{prefix}: {why}", file=sys.stderr)
        return 2
    for path, text in files.items():
        whole = os.path.join(ROOT, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w") as file:
            file.write(text)
        print(f"wrote {path}")
    write_catalogue(catalogue)
    print("wrote guidelines/catalogue.json")
    print("next: ./dev build && ./dev test " + next(path for path in files if path.startswith("test/")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
