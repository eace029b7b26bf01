# SPDX-License-Identifier: BSD-3-Clause
"""Reads the list of mutations; see run.sh, which calls it.

    mutate.py check TOP           each text that is replaced occurs once in TOP's file, and so on
    mutate.py names [NAME...]     the mutations, in their order; with names these alone
    mutate.py show NAME           its file, and then its tests, in one line
    mutate.py make NAME TOP       make it in the sources at TOP
"""

import os
import sys


class Mutation:
    def __init__(self, name):
        self.name, self.file, self.tests, self.old, self.new = name, "", [], [], []

    def read(self, line):
        sign, text = line[:1], line[2:]
        if line.startswith("file: "):
            self.file = line[len("file: "):]
        elif line.startswith("tests: "):
            self.tests = line[len("tests: "):].split()
        elif sign == "-":
            self.old.append(text)
        elif sign == "+":
            self.new.append(text)
        elif line:
            sys.exit(f"{self.name}: what is this line? {line}")

    def texts(self):
        return "\n".join(self.old), "\n".join(self.new)

    def trouble(self, top):
        """What is wrong with it; None: nothing."""
        old, new = self.texts()
        path = os.path.join(top, self.file)
        if not self.file or not os.path.isfile(path):
            return f"there is no file {self.file}"
        missing = [test for test in self.tests if not os.path.isfile(f"{os.path.join(top, test)}.c")]
        if not self.tests or missing:
            return f"there is no test {' '.join(missing)}"
        if not old or old == new:
            return "it replaces nothing"
        with open(path, encoding="utf-8") as source:
            times = source.read().count(old)
        return None if times == 1 else f"its text occurs {times} times in {self.file}"

    def make(self, top):
        path = os.path.join(top, self.file)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        with open(path, "w", encoding="utf-8") as source:
            source.write(text.replace(*self.texts()))


def read_list(path):
    mutations = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("== "):
                mutations.append(Mutation(line[3:]))
            elif mutations and not line.startswith("#"):
                mutations[-1].read(line)
    return mutations


def check(mutations, top):
    names = [m.name for m in mutations]
    troubles = [f"{m.name}: {m.trouble(top)}" for m in mutations if m.trouble(top)]
    troubles += [f"{name}: there are two of that name" for name in sorted(set(names)) if names.count(name) > 1]
    print(*troubles, sep="\n", end="\n" if troubles else "")
    return 1 if troubles or not mutations else 0


def main(what, *words):
    mutations = read_list(os.path.join(os.path.dirname(os.path.abspath(__file__)), "list"))
    if what == "check":
        return check(mutations, words[0])
    by_name = {m.name: m for m in mutations}
    wanted = words if what == "names" else words[:1]
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        print(f"there is no mutation {unknown[0]}", file=sys.stderr)
        return 64
    if what == "names":
        print(*(words or by_name), sep="\n")
    elif what == "show":
        mutation = by_name[words[0]]
        print(mutation.file, *mutation.tests)
    else:
        by_name[words[0]].make(words[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
