#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that tests/messages.txt lists all messages that users can see.

    tests/messages.py           prints the differences between the list and the sources; fails if there are any
    tests/messages.py write     updates the list

The list shows changes of messages in each commit, and those who write messages can review it as one text. A
message is a string in C, or one that a script prints, with two successive words or with a word and a
conversion. A line of the list is `FILE: MESSAGE`, with the message as in C.
"""
import difflib
import os
import re
import subprocess
import sys

LIST = "tests/messages.txt"
UNSEEN = r"(^|/)tests/|^ompi/shim/|\.bpf\.c$|^firmware/kernel/program/|^\.ci/"
# A token of C. A static assertion counts as one token, because its message is seen only at compile time.
TOKEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | ^[ \t]*\#[ \t]*include[^\n]* | \b_Static_assert\(.*?\);
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \w+ | \s+ | .""", re.S | re.M | re.X)
# Strings that a script prints. (Text after $( within quotes is code.)
PRINTED = re.compile(r"""\b(?:echo|printf|give_up|fail|bad)\s+(?:-e\s+)?(?:"((?:\\.|[^"\\])*)"|'([^']*)')""")
WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [a-z]{2,}|[a-z]{3,}[,:;]? %[-0-9.*]*[sdulz]|%[-0-9.]*[sdulz]+ [a-z]{3,}")


def of_c(text):
    """Yields the strings of a source. Adjacent ones count as one, and a macro PRI... between them as a conversion."""
    string = None
    for token in TOKEN.findall(text):
        if token.startswith('"'):
            string = (string or "") + token[1:-1]
        elif string is not None and re.fullmatch(r"PRI[a-z0-9A-Z]+", token):
            string += token
        elif not token.isspace() and not token.startswith(("/*", "//")):
            if string is not None:
                yield string
            string = None


def of_script(text):
    for double, single in PRINTED.findall(text):
        yield (double or single).replace("\n", "\\n")


def messages():
    for path in subprocess.check_output(["git", "ls-files"], text=True).split():
        if re.search(UNSEEN, path) or not os.path.exists(path) or os.path.islink(path):
            continue
        if re.search(r"\.[ch]$", path):
            find = of_c
        elif path.endswith(".sh") or open(path, "rb").read(16).startswith((b"#!/bin/bash", b"#!/bin/sh")):
            find = of_script
        else:
            continue
        for message in find(open(path).read()):
            if WORDS.search(message):
                yield f"{path}: {message}\n"


def main(arguments):
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = sorted(set(messages()))
    if arguments == ["write"]:
        open(LIST, "w").writelines(found)
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 64
    listed = open(LIST).readlines()
    sys.stdout.writelines(difflib.unified_diff(listed, found, LIST, "the sources", n=0))
    if listed != found:
        print(f"{LIST} is not up to date: read what differs, and renew it by tests/messages.py write")
    return listed != found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
