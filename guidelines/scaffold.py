#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the files that a new check starts from: `./dev new-check SLUG[/WHAT]`.

SLUG is a feature, new or in the catalogue; WHAT is what one of its checks looks for.
`heap-churn/odd-sizes` is the check vfriendly-heap-churn-odd-sizes, class
OddSizesCheck; `odd-sizes` alone is the check vfriendly-odd-sizes of a feature of its
own. Written are the class, a lit test that passes, the entry in the catalogue and, for
a new feature, its page. Nothing that exists is overwritten.
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

#include "clang/ASTMatchers/ASTMatchers.h"

using namespace clang;
using namespace clang::ast_matchers;

namespace vfriendly::tidy {{

void {name}Check::registerMatchers(MatchFinder *Finder) {{
  Finder->addMatcher(
      callExpr(callee(functionDecl(hasName("{example}")))).bind("call"), this);
}}

void {name}Check::check(const MatchFinder::MatchResult &Result) {{
  const auto *Call = Result.Nodes.getNodeAs<CallExpr>("call");
  diag(Call->getBeginLoc(), "call of '{example}': what it costs in a virtual "
                            "machine; what to do instead ({page})")
      << Call->getSourceRange();
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
"""

PAGE = """\
# {title}

{sentence}

`{check}` (clang-tidy check)

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


def write_catalogue(catalogue):
    """One line a key, as the file is kept by hand."""
    tables = []
    for name, entries in catalogue.items():
        rows = []
        for entry in entries:
            lines = [f"      {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entry.items()]
            rows.append("    {\n" + ",\n".join(lines) + "\n    }")
        tables.append(f"  {json.dumps(name)}: [\n" + ",\n".join(rows) + "\n  ]")
    with open(CATALOGUE, "w") as file:
        file.write("{\n" + ",\n".join(tables) + "\n}\n")


def new_check(name, sentence):
    """The files by path, and the catalogue with the check in it."""
    slug, _, what = name.partition("/")
    for part in (slug, what or slug):
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", part):
            raise Refused(f"'{name}' is not SLUG or SLUG/WHAT in lower case with hyphens")
    with open(CATALOGUE) as file:
        catalogue = json.load(file)
    check = f"vfriendly-{slug}-{what}" if what else f"vfriendly-{slug}"
    page = f"guidelines/{slug}.md"
    feature = next((f for f in catalogue["features"] if f["slug"] == slug), None)
    is_new = feature is None
    if is_new:
        feature = {"slug": slug, "title": slug.capitalize().replace("-", " "), "sentence": sentence,
                   "guideline": page, "checks": [], "passes": [], "default": False}
        catalogue["features"].append(feature)
    if check in feature["checks"]:
        raise Refused(f"the catalogue has {check} already")
    feature["checks"] = sorted([*feature["checks"], check])

    class_name = camel_case(what or slug)
    fields = {
        "slug": slug, "name": class_name, "check": check, "page": page, "sentence": sentence,
        "title": feature["title"], "license": LICENSE.format("//"),
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
    return {
        path: text.format(banner=banner(file, check) if file else "", **fields)
        for path, (text, file) in files.items()
    }, catalogue


def main():
    parser = argparse.ArgumentParser(prog="./dev new-check", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="SLUG[/WHAT]")
    parser.add_argument("--sentence", default="Finds what this check is for.",
                        help="what the check does, in one sentence")
    args = parser.parse_args()
    try:
        files, catalogue = new_check(args.name, args.sentence)
        taken = [path for path in files if os.path.exists(os.path.join(ROOT, path))]
        if taken:
            raise Refused(f"{taken[0]} exists already")
    except Refused as why:
        print(f"dev new-check: {why}", file=sys.stderr)
        return 2
    for path, text in files.items():
        whole = os.path.join(ROOT, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w") as file:
            file.write(text)
        print(f"wrote {path}")
    write_catalogue(catalogue)
    print("wrote guidelines/catalogue.json")
    print("next: ./dev build && ./dev test test/" + args.name.partition("/")[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
