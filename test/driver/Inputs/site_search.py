# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""site_search.py SITE WORD PAGE: fails unless the search index has WORD at PAGE."""

import json
import os
import sys

site, word, page = sys.argv[1:]
with open(os.path.join(site, "search.json")) as file:
    index = json.load(file)
entries = index.get("docs") or index["items"]
found = {e["location"].partition("#")[0] for e in entries if word in json.dumps(e)}
if page not in found:
    sys.exit(f"search: no {word} at {page}, only at {sorted(found)}")
# Copies of the repository's files are not searched.
if any(e["location"].startswith("repository/") for e in entries):
    sys.exit("search: the index has pages that only show files")
