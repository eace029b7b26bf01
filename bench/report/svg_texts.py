#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that all texts in gnuplot's SVG pictures are readable. Called by tests.

    svg_texts.py SVG...

Prints a line for each text that is partly outside of its picture, or overlaps another text, a line
or a mark. The status is 1 if there is one. Widths are those of DejaVu Sans, the widest of the fonts
that "sans-serif" commonly stands for.
"""
import math
import re
import sys
import xml.etree.ElementTree as tree

# Widths of characters in hundredths of the font size. Characters that are not listed have 64, or 100 if they are wide.
WIDTHS = {characters: width for group, width in (
    ("ijl'|", 29), ("I.,: ;", 34), ("f/\\-", 36), ("t()[]r", 41), ('"', 46), ("sz?_", 53),
    ("cJkvxy*", 58), ("aeoFLTYZP0123456789", 62), ("bdghnpquS", 64), ("ABCEKVX", 69), ("&DHNGRU@", 77),
    ("OQ+=<>~", 82), ("wMm%W", 98)) for characters in group}
HEIGHT_ABOVE, HEIGHT_BELOW = 0.73, 0.2  # height of capitals and depth of descenders, from the base line, in font sizes
GAP = 3  # minimum distance in pixels between a text and its neighbours; vertically they may share a pixel
NAME = "{http://www.w3.org/2000/svg}"


def text_width(text, size):
    return size * sum(WIDTHS.get(c, 100 if ord(c) > 0x2E80 else 64) for c in text) / 100


def transformed(transform, points):
    """Transforms points by a list of translate(), rotate() and scale(), as gnuplot writes them."""
    for kind, arguments in reversed(re.findall(r"(\w+)\(([^)]*)\)", transform or "")):
        numbers = [float(n) for n in re.split(r"[ ,]+", arguments.strip())]
        if kind == "translate":
            points = [(x + numbers[0], y + numbers[1]) for x, y in points]
        elif kind == "rotate":
            angle = math.radians(numbers[0])
            points = [(x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle))
                      for x, y in points]
        elif kind == "scale":
            points = [(x * numbers[0], y * numbers[-1]) for x, y in points]
    return points


def text_box(element, text):
    size = float(element.get("font-size"))
    width = text_width(text, size)
    left = {"start": 0, "middle": -width / 2, "end": -width}[element.get("text-anchor", "start")]
    corners = transformed(element.get("transform"),
                          [(left + dx, dy) for dx in (0, width) for dy in (-HEIGHT_ABOVE * size, HEIGHT_BELOW * size)])
    xs, ys = zip(*corners)
    return min(xs), min(ys), max(xs), max(ys)


def path_lines(data):
    """Returns the straight lines of a path that consists of M and L commands."""
    at, lines = None, []
    for command, x, y in re.findall(r"([ML]?)\s*(-?[0-9.]+),(-?[0-9.]+)", data):
        to = float(x), float(y)
        if at and command != "M":
            lines.append((at, to))
        at = to
    return lines


def crosses(line, box):
    """Returns whether a line crosses a box, by clipping the line to the box."""
    (x, y), (to_x, to_y) = line
    first, last = 0.0, 1.0
    for start, way, low, high in ((x, to_x - x, box[0], box[2]), (y, to_y - y, box[1], box[3])):
        if way == 0:
            if not low < start < high:
                return False
            continue
        enter, leave = sorted(((low - start) / way, (high - start) / way))
        first, last = max(first, enter), min(last, leave)
    return first < last


def with_gap(box):
    return box[0] - GAP, box[1] + 1, box[2] + GAP, box[3] - 1


def complaints(root):
    left, top, width, height = (float(n) for n in root.get("viewBox").split())
    texts, lines, marks = [], [], []
    for element in root.iter():
        if element.tag == NAME + "g" and element.find(NAME + "text") is not None:
            text = "".join(element.find(NAME + "text").itertext()).strip()
            if text:
                texts.append((text, text_box(element, text)))
        elif element.tag == NAME + "path" and element.get("id") is None and element.get("class") != "gridline":
            lines += path_lines(element.get("d", ""))
        elif element.tag == NAME + "use" and element.get("id") is None:
            marks += transformed(element.get("transform"), [(0, 0)])
    if not texts:
        yield "has no text"
    for number, (text, box) in enumerate(texts):
        if box[0] < left or box[1] < top or box[2] > left + width or box[3] > top + height:
            yield "'%s' leaves the picture: %.0f,%.0f to %.0f,%.0f" % (text, *box)
        room = with_gap(box)
        for other, theirs in texts[:number]:
            if room[0] < theirs[2] and theirs[0] < room[2] and room[1] < theirs[3] and theirs[1] < room[3]:
                yield "'%s' runs into '%s'" % (text, other)
        for line in lines:
            if crosses(line, room):
                yield "a line from %.0f,%.0f to %.0f,%.0f runs into '%s'" % (*line[0], *line[1], text)
        for x, y in marks:
            if room[0] < x < room[2] and room[1] < y < room[3]:
                yield "a mark at %.0f,%.0f is on '%s'" % (x, y, text)


def main():
    if sys.argv[1:2] == ["--help"]:
        print(__doc__.strip())
        return 0
    bad = False
    for path in sys.argv[1:]:
        for complaint in complaints(tree.parse(path).getroot()):
            bad = True
            print("%s: %s" % (path, complaint))
    return int(bad or not sys.argv[1:])


sys.exit(main())
