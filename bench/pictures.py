# SPDX-License-Identifier: BSD-3-Clause
"""Functions that draw the pictures of the documents as SVG. figures.py passes the data, and writes the files."""
import math

BLUE, GREY, BLACK = "#4a90c2", "#d0d0d0", "#000000"
COLOURS = [BLUE, "#d1495b", "#3a7d44", "#8d5a97", "#e08e45", "#2f4858", "#9a8c2c"]


class Drawing:
    """Shapes on a white canvas. Coordinates are in pixels, from the upper left corner."""

    def __init__(self, wide, tall):
        self.shapes = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" '
                       'font-family="DejaVu Sans, sans-serif">']
        self.rectangle(0, 0, wide, tall, "#ffffff")

    def text(self, x, y, words, anchor="start", colour=BLACK):
        place = f'transform="translate({x:.0f},{y:.0f})" font-size="13" text-anchor="{anchor}"'
        self.shapes.append(f'<g {place}><text fill="{colour}">{words}</text></g>')

    def path(self, points, colour, wide=1):
        steps = " ".join(f"{'L' if n else 'M'}{x:.1f},{y:.1f}" for n, (x, y) in enumerate(points))
        self.shapes.append(f'<path d="{steps}" stroke="{colour}" stroke-width="{wide}" fill="none"/>')

    def rectangle(self, x, y, wide, tall, colour):
        self.shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="{colour}"/>')

    def __str__(self):
        return "\n".join([*self.shapes, "</svg>"]) + "\n"


def bars(lines, caption):
    """Draws a horizontal bar for each (label, runs). A run consists of first quartile, median and third quartile. The
    bar ends at the mean of the runs' medians, and a thin line shows the range of all quartiles.
    """
    left, unit, high = 400, 45, 26
    most = math.ceil(max(run[2] for _, runs in lines for run in runs))
    tall = high * len(lines) + 62
    drawing = Drawing(left + unit * most + 20, tall)
    for n in range(most + 1):
        x = left + n * unit
        drawing.path([(x, 8), (x, tall - 48)], BLACK if n < 2 else GREY)
        drawing.text(x, tall - 31, n, "middle")
    for number, (label, runs) in enumerate(lines):
        top = 10 + high * number
        middle = top + high // 2
        mean = left + unit * sum(run[1] for run in runs) / len(runs)
        low, up = left + unit * min(run[0] for run in runs), left + unit * max(run[2] for run in runs)
        drawing.text(left - 10, top + 16, label, "end")
        drawing.rectangle(left, top + 4, mean - left, high - 8, BLUE)
        drawing.path([(low, middle), (up, middle)], BLACK)
        for end in low, up:
            drawing.path([(end, middle - 4), (end, middle + 4)], BLACK)
    drawing.text(left, tall - 10, caption, "middle")
    return str(drawing)


def size_name(size):
    for unit, name in (1 << 20, "M"), (1 << 10, "K"):
        if size >= unit:
            return f"{size // unit}{name}"
    return str(size)


def curves(panels, caption):
    """Draws a panel for each (title, curves), in two columns. A curve is a name with a list of (bytes, ratio), on
    logarithmic axes. If bytes are 0, the point is a square at the left edge. A name has the same colour in all
    panels.
    """
    wide, tall, left, between, top = 360, 150, 50, 65, 90
    points = [point for _, named in panels for curve in named.values() for point in curve]
    last = math.log2(max(size for size, _ in points))
    low = math.floor(math.log2(min(ratio for _, ratio in points)))
    high = math.ceil(math.log2(max(ratio for _, ratio in points)))
    names = list(dict.fromkeys(name for _, named in panels for name in named))
    colour = dict(zip(names, COLOURS))
    rows = (len(panels) + 1) // 2
    drawing = Drawing(2 * (wide + between) + left, rows * (tall + between) + top - 25)
    drawing.text(left, 22, caption)
    for number, name in enumerate(names):
        drawing.text(left + 120 * number, 46, name, colour=colour[name])
    for number, (title, named) in enumerate(panels):
        x0, y0 = left + number % 2 * (wide + between), top + number // 2 * (tall + between)

        def place(size, ratio):
            across = 0 if size == 0 else (math.log2(size) - 2) / (last - 2)
            return x0 + wide * across, y0 + tall * (high - math.log2(ratio)) / (high - low)

        drawing.text(x0, y0 - 10, title)
        for power in range(low, high + 1):
            _, y = place(0, 2 ** power)
            drawing.path([(x0, y), (x0 + wide, y)], GREY if power else BLACK)
            drawing.text(x0 - 6, y + 5, f"{2 ** power:g}", "end")
        for power in range(3, round(last) + 1, 3):
            x, y = place(2 ** power, 2 ** low)
            drawing.path([(x, y), (x, y + 4)], BLACK)
            drawing.text(x, y + 19, size_name(2 ** power), "middle")
        for name, curve in named.items():
            places = [place(*point) for point in curve]
            drawing.path(places, colour[name], 2)
            for x, y in places:
                drawing.rectangle(x - 2.5, y - 2.5, 5, 5, colour[name])
    return str(drawing)
