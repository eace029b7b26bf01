# SPDX-License-Identifier: BSD-3-Clause
"""Reads the list of mutations; see run.sh, which calls it.

    mutate.py check TOP           check the list: each replaced text occurs once in its file at TOP, etc.
    mutate.py names [NAME...]     print the names of the mutations in order; with names only these
    mutate.py show NAME           print its file and its tests in one line
    mutate.py make NAME TOP       apply it to the sources at TOP
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
            sys.exit(f"{self.name}: invalid line: {line}")

    def texts(self):
        return "\n".join(self.old), "\n".join(self.new)

    def error(self, top):
        """Returns a description of an error in the entry, or None."""
        old, new = self.texts()
        path = os.path.join(top, self.file)
        if not self.file or not os.path.isfile(path):
            return f"no such file: {self.file}"
        missing = [test for test in self.tests if not os.path.isfile(f"{os.path.join(top, test)}.c")]
        if not self.tests or missing:
            return f"no such test: {' '.join(missing)}"
        if not old or old == new:
            return "it changes nothing"
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
    errors = [f"{m.name}: {m.error(top)}" for m in mutations if m.error(top)]
    errors += [f"{name}: the name is used twice" for name in sorted(set(names)) if names.count(name) > 1]
    print(*errors, sep="\n", end="\n" if errors else "")
    return 1 if errors or not mutations else 0


def main(what, *words):
    mutations = read_list(os.path.join(os.path.dirname(os.path.abspath(__file__)), "list"))
    if what == "check":
        return check(mutations, words[0])
    by_name = {m.name: m for m in mutations}
    wanted = words if what == "names" else words[:1]
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        print(f"no such mutation: {unknown[0]}", file=sys.stderr)
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
