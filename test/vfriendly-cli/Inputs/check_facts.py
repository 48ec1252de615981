# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_facts.py FOLDER: facts of units that are malformed, nameless or many, and what follows from others."""

import itertools
import random
import resource
import sys
from collections import Counter
from unittest import mock

from project import Project

from vfriendly import program, sharing

TEAM = {"do": "write", "of": "x", "by": "all", "name": "x"}
DEEP = "x" + "[]" * 5000
LOOP = {"loop": "looped", "file": "a", "offset": 1}
# CPU seconds; what is quadratic or worse takes a multiple.
MOST_S = 4


def told(*facts):
    assert all(program.is_fact(fact) for fact in facts)
    return program.Program([("unit", facts)])


def function(*events, name="f", flows=()):
    return {"function": name, "events": [TEAM, *events], "flows": list(flows)}


def malformed():
    serial = {"do": "write", "of": "y", "by": "one", "fill": "1", "name": "y"}
    callee = function(name="g")
    for event in ({"do": "call", "of": ["a"]}, {"do": "call", "of": 5, "with": "a"}, {"do": "call", "through": ["a"]},
                  {"do": "call", "through": 5}, {"do": "call", "of": "g", "by-name": 5},
                  {"do": "call", "of": "g", "by-name": "abc"}, {"do": "call", "of": "g", "by-name": [["a"], 5]},
                  {**serial, "of": ["y"]}, {**serial, "by-name": ["y"]}, {**serial, "by": ["one"]},
                  {**serial, "name": ["y"], "file": "a", "offset": "b"}, {"do": ["call"], "of": "g"}):
        told(function(event), callee)
    told(function({"do": "read", "of": DEEP, "by": "all"}, flows=[[DEEP, "y"], ["x[]", "x"], ["x", "x[]"], [["x"], 5]]))
    told({"calls": "f", "to": [1, {}, ["a"]]}, {"calls": "f", "to": 5}, {"ends": "k", "function": "f", "offset": []})


def nameless():
    """Functions without a name are not all one."""
    above, below = {"calls": "looped", "to": [""]}, {"calls": "", "to": ["leaf"], "items": True}
    assert not told(above, below, LOOP).holds("near-loop leaf", "unit")[0]
    assert not told(above, below, LOOP).holds("near-loop ", "unit")[0]


def near():
    """The nearest loop counts, and of several the first by name; main and what ends things pass nothing on."""
    def chain(*names, **more):
        return [{"calls": name, "to": [to], **more} for name, to in itertools.pairwise(names)]

    def holds(name, *facts):
        held, place = told(*facts).holds(f"near-loop {name}", "unit")
        return place.file if place else held

    loops = [{"loop": name, "file": name, "offset": 1} for name in "abc"]
    assert holds("leaf", *loops, *chain("c", "leaf"), *chain("b", "p", "leaf"), *chain("a", "q", "leaf")) == "c"
    assert holds("leaf", *loops, *chain("b", "p", "leaf"), *chain("a", "q", "leaf")) == "b"
    assert holds("leaf", *loops, *chain("a", "1", "2", "3", "leaf")) == "a"
    assert not holds("leaf", *loops, *chain("a", "1", "2", "3", "4", "leaf"))
    assert not holds("leaf", *loops, *chain("a", "leaf", seldom=True))
    assert holds("leaf", *loops, *chain("a", "leaf", teardown=True)) == "a"
    assert holds("a", *loops, *chain("a", "leaf", seldom=True)) == "a"
    assert holds("item", {"calls": "item", "to": [], "items": True}) is True


def many_calls():
    chosen = random.Random(1)
    facts = [{"calls": f"f{i}", "to": [f"f{chosen.randrange(8000)}" for _ in range(6)]} for i in range(8000)]
    all_of = told(*facts)
    assert not any(all_of.holds(f"near-loop f{i}", "unit")[0] for i in range(4000))


def many_arrays():
    """Functions that pass an array on and store it in fields: what each name is given is looked up once."""
    facts, number = [], 300
    for i in range(number):
        used = {"do": "read", "of": "#0", "by": "callers", "name": f"x{i}", "file": "a", "offset": i}
        calls = [{"do": "call", "of": f"f{(i + k) % number}", "with": ["#0"], "by": "callers"} for k in (1, 2, 7)]
        facts.append({"function": f"f{i}", "events": [used, {**used, "of": "p@1"}, *calls],
                      "flows": [["p@1", f"S::m{i % 50}"], [f"S::m{i % 50}", "#0"]]})
    fill = {"do": "write", "of": "g", "by": "one", "fill": "main:1", "name": "g"}
    calls = [{"do": "call", "of": "f0", "with": ["g"], "by": by} for by in ("all", "one")]
    facts.append({"function": "main", "events": [fill, *calls]})
    asked, before = Counter(), sharing.Program._before
    with mock.patch.object(sharing.Program, "_before", lambda self, name: asked.update([name]) or before(self, name)):
        held, place = told(*facts).holds("fill main:1 g")
    assert held and place.text == "threads use 'x0' here"
    assert max(asked.values()) == 1, asked.most_common(1)


def many_returns():
    """A function that returns what one of many others returns, each of which may call it again."""
    numbers = range(300)
    lines = ["struct node { int k; struct node *l, *r; double *v; };", "double *eval(struct node *n);"]
    lines += [f"double *eval_{i}(struct node *n) {{ return n->k ? eval(n->l) : eval(n->r); }}" for i in numbers]
    lines += ["double *eval(struct node *n) {", "  switch (n->k) {"]
    lines += [f"  case {i}: return eval_{i}(n);" for i in numbers]
    lines += ["  }", "  return n->v;", "}", "void team(struct node *n, int count) {", "  double *all = eval(n);",
              "#pragma omp parallel for", "  for (int i = 0; i < count; i++)", "    all[i] += 1;", "}"]
    project = Project(sys.argv[1])
    (project.root / "returns.c").write_text("\n".join(lines) + "\n")
    project.entries = [project.entry("returns.c", "-fopenmp")]
    project.write()
    project.run("scan", "--no-cache", "--checks=-*,vfriendly-numa-placement-*", status=0)


def used_s():
    """CPU seconds, also of commands."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime for each in used)


def main():
    malformed()
    nameless()
    near()
    many_arrays()
    for many in (many_calls, many_returns):
        began_s = used_s()
        many()
        assert used_s() - began_s < MOST_S, (many.__name__, used_s() - began_s)


main()
