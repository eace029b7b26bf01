#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do includes point down, and never in a circle? Does ompi/ alone ask for Open MPI's release?

    tests/layers.py         a line for each include that points up, for each circle, and for each
                            condition on the release in a component

Directories are ordered by LAYERS, the lowest first; those of one row do not include each other. A header
and its source are one unit, and so are private headers (..._inside.h, ..._parts.h) of it. Units
that include each other, directly or by way of others, make a circle; more than two may not.
"""
import os
import re
import subprocess
import sys

LAYERS = [
    ["os"],
    ["firmware"],
    ["libmyr"],
    ["ompi"],
    ["coll_nicbarr"],
    ["myr", "btl_myr", "mtl_myr", "myrd", "testbeds"],
    ["tools"],
    ["bench"],
]
COMPONENTS = ["coll_nicbarr", "btl_myr", "mtl_myr"]


def unit(path):
    return re.sub(r"(_inside|_parts)?\.[ch]$", "", path)


def layer(path):
    top = path.split("/")[0]
    return next((n for n, row in enumerate(LAYERS) if top in row), None)


def sources():
    """(file, text) of all but tests."""
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        if not re.search(r"(^|/)tests/", path):
            with open(path, encoding="utf-8") as source:
                yield path, source.read()


def includes():
    """(file, file that it includes)"""
    for path, text in sources():
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            if os.path.exists(included):
                yield path, included


def conditions():
    """(file, condition on Open MPI's release) of the components."""
    for path, text in sources():
        if path.split("/")[0] in COMPONENTS:
            for condition in re.findall(r"^# *(?:if|elif)\b.*(?:OMPI|OPAL)_M\w+_VERSION.*", text, re.M):
                yield path, condition


def reachable(graph, start):
    seen, to_do = set(), [start]
    while to_do:
        for other in graph.get(to_do.pop(), ()):
            if other not in seen:
                seen.add(other)
                to_do.append(other)
    return seen


def main():
    graph, wrong = {}, []
    for path, included in includes():
        graph.setdefault(unit(path), set()).add(unit(included))
        above = layer(path), layer(included)
        if None in above:
            wrong.append(f"{path}: it or {included} is in no layer (tests/layers.py)")
        elif above[0] < above[1] or above[0] == above[1] and path.split("/")[0] != included.split("/")[0]:
            wrong.append(f"{path} includes {included}, which is not below it")
    wrong += [f"{path}: {condition} is ompi/'s to ask" for path, condition in conditions()]
    below = {name: reachable(graph, name) for name in graph}
    circles = {frozenset(m for m in below[name] if name in below.get(m, ())) for name in graph}
    for circle in circles:
        if len(circle) > 2:
            wrong.append(f"these include each other: {' '.join(sorted(circle))}")
    print("\n".join(wrong) if wrong else f"{len(graph)} units: includes point down")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    sys.exit(main())
