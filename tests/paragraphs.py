#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws paragraphs of prose from several projects, for a blind comparison of how they read.

    tests/paragraphs.py [--seed N] [--count N] [--words N] DECK KEY NAME=PATH[,PATH...]...

A source is a NAME and the files and directories that belong to it. Half of its --count (50)
paragraphs are comments of .c, .h and .cc files, half are paragraphs of Markdown documents; where a
source has too few of one kind, it gives more of the other. --words (25) is the shortest length.

DECK receives all of them in random order, numbered, without file names and with project prefixes
replaced by XX_, so that a reader has only the style to judge by. KEY receives a line for each:
number, source, file and line. Licences, lists, tables and code are not drawn. The seed is printed;
the same seed draws the same paragraphs from the same trees.

Sources with the same NAME share its count, for example other=ucx/src other=homa.
"""
import argparse
import os
import random
import re
import textwrap

NAMES = re.compile(r"\b(?:ucp|uct|ucs|ucm|ucc|ucx|homa|nicbarr|btl_myr|mtl_myr|myr|mcp|os|ibv|ib|rdma|rxe|mlx[45]"
                   r"|efadv|verbs)_(?=\w)|\b(?:nicbarr|UCX|Homa|libmyr|myrd|rdma-core|libibverbs|UCP|UCT|Myrinet)\b",
                   re.I)
COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+", re.S | re.M)
LEGAL = re.compile(r"copyright|licen[sc]e|SPDX|warranty|redistribut|liable", re.I)


def paragraphs(text, first):
    """Yields (line, paragraph) of a text, given the number of its first line."""
    lines, start = [], first
    for number, line in enumerate(text.split("\n") + [""], first):
        if line.strip():
            start = start if lines else number
            lines.append(line.rstrip())
        elif lines:
            yield start, "\n".join(lines)
            lines = []


def comments(text):
    for found in COMMENT.finditer(text):
        bare = re.sub(r"^[ \t]*(?:/\*+!?|//+|\*+(?!/))|\*+/[ \t]*$", "", found.group(), flags=re.M)
        for line, paragraph in paragraphs(bare, text.count("\n", 0, found.start()) + 1):
            if not re.search(r"^\s*[@\\\-=]|[;{}]\s*$|\t\S|\S {3,}\S", paragraph, re.M):
                yield line, paragraph


def prose(text):
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), text, flags=re.S | re.M)
    for line, paragraph in paragraphs(text, 1):
        if not re.match(r"\s*(?:[-*+|#=<>:]|\d+[.)]|\s{4})", paragraph) and not re.search(r"^[-=~|:]", paragraph, re.M):
            yield line, paragraph


def files(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for directory, below, names in os.walk(path):
            below.sort()
            yield from (os.path.join(directory, name) for name in sorted(names))


def read(paths, words):
    """Returns the paragraphs of the files: a list of (place, paragraph) of comments, and one of documents."""
    found = ([], [])
    for path in files(paths):
        kind = 1 if path.endswith(".md") else 0 if path.endswith((".c", ".h", ".cc")) else None
        if kind is not None and not os.path.islink(path):
            with open(path, encoding="utf-8", errors="replace") as source:
                for line, text in (comments, prose)[kind](source.read()):
                    if len(re.findall(r"\b[A-Za-z]{2,}\b", text)) >= words and not LEGAL.search(text):
                        found[kind].append((f"{path}:{line}", text))
    return found


def draw(dice, found, count):
    of_documents = min(max(count // 2, count - len(found[0])), len(found[1]))
    of_code = min(count - of_documents, len(found[0]))
    return dice.sample(found[0], of_code) + dice.sample(found[1], of_documents)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--words", type=int, default=25)
    parser.add_argument("deck")
    parser.add_argument("key")
    parser.add_argument("sources", nargs="+")
    given = parser.parse_args()
    dice = random.Random(given.seed)
    drawn = []
    for source in given.sources:
        name, paths = source.split("=", 1)
        total = sum(other.split("=", 1)[0] == name for other in given.sources)
        for place, text in draw(dice, read(paths.split(","), given.words), given.count // total):
            drawn.append((name, place, text))
    dice.shuffle(drawn)
    with open(given.deck, "w", encoding="utf-8") as deck, open(given.key, "w", encoding="utf-8") as key:
        for number, (name, place, text) in enumerate(drawn, 1):
            neutral = " ".join(NAMES.sub(lambda name: "XX_" if name.group().endswith("_") else "XX", text).split())
            deck.write(f"{number}.\n{textwrap.fill(neutral, 100)}\n\n")
            key.write(f"{number} {name} {place}\n")
    print(f"seed {given.seed}: {len(drawn)} paragraphs of {len(given.sources)} sources")


if __name__ == "__main__":
    main()
