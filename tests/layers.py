#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the layers of the sources, and that only ompi/ contains conditions on Open MPI's release.

    tests/layers.py         prints a line for each include of a higher layer, for each cycle of
                            includes, and for each condition on the release in a component

Directories are ordered by LAYERS, the lowest first, and those of the same row must not include each
other. A unit consists of a source, its header, and its private headers (..._inside.h, ..._parts.h).
Units that include each other, directly or indirectly, form a cycle, which may contain at most two.
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
    """Yields (file, text) of all sources except tests."""
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        if not re.search(r"(^|/)tests/", path):
            with open(path, encoding="utf-8") as source:
                yield path, source.read()


def includes():
    """Yields (file, file that it includes)."""
    for path, text in sources():
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            if os.path.exists(included):
                yield path, included


def conditions():
    """Yields (file, condition on Open MPI's release) of the components."""
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
