#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of the documents, from results of benchmarks in bench/results/.

    bench/figures.py                              prints each table in a document that differs
                                                  from its results, and fails if there is one
    bench/figures.py write                        rewrites these tables
    bench/figures.py table FILE                   prints the table of one file of results
    bench/figures.py store KIND FILE COMMAND...   adds a run to FILE: its rows from the input, one JSON
                                                  object a line; machine, date and commit are added

In a document, the lines <!-- figures: NAME [KEY=VALUE] --> and <!-- /figures --> enclose a table, which
contains the rows of bench/results/NAME.json whose KEY is VALUE. The table `summary` contains rows of
several files (SUMMARY), and the table `rivals` the medians for some sizes (SHOWN). There is also a picture
of each of these two tables (PICTURES). A file contains the KIND of its table, and runs with their command,
date, machine and commit, and a note about what was not recorded. To repeat a measurement, remove the file,
and call the command with -j FILE.

A ratio or time in a row is a list of first quartile, median and third quartile, which are null if not recorded.
"""
import difflib
import json
import math
import os
import re
import subprocess
import sys
import time

import pictures

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
COMPONENTS = ["tuned", "han", "acoll", "adapt", "xhc", "ucc"]  # (rivals.json also has MPICH and UCX)
SHOWN = {None, 8, 512, 4096, 65536, 1 << 20}  # sizes in bytes in the tables of the documents
MARKED = re.compile(r"(<!-- figures: (\S+?)(?: (\w+)=(\S+))? -->\n\n).*?(\n<!-- /figures -->)", re.S)


def markdown(header, lines):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for line in lines:
        yield "|" + "".join(f" {cell} |" if cell else " |" for cell in line)


def ratio(values, middle="%.2f", emphasis="**"):
    """The median, between its quartiles if they were recorded."""
    low, median, high = values
    if low is None:
        return middle % median
    return f"{low:.2f} {emphasis}{middle % median}{emphasis} {high:.2f}"


def name_of(operation):
    return {"dup": "MPI_Comm_dup", "all": "of each"}.get(operation, "MPI_" + operation.capitalize())


def hosts(layout):
    count, _, per_host = layout.partition("x")
    return f"{count} hosts" + (f" of {per_host}" if per_host != "1" else "") if per_host else count


def layout_title(layout, processors):
    if "x" in layout:
        return hosts(layout)
    return f"{layout} processes" + (", a CPU each" if int(layout) <= processors else f" on {processors} CPUs")


def rivals(rows, whole):
    """One table per layout, with a line for each operation and size and a column for each component."""
    for layout in dict.fromkeys(row["layout"] for _, row in rows):
        here = [(run, row) for run, row in rows if row["layout"] == layout and (whole or row["bytes"] in SHOWN)]
        components = list(dict.fromkeys(row["component"] for _, row in here))
        cells = {}
        for _, row in here:
            size = "" if row["bytes"] is None else f", {row['bytes']}"
            line = cells.setdefault(name_of(row["operation"]) + size, {})
            line[row["component"]] = row.get("failed") and "failed" or (
                ratio(row["ratio"]) if whole else "%.2f" % row["ratio"][1])
        yield from markdown([layout_title(layout, here[0][0]["machine"]["processors"])] + components,
                            ([label] + [line.get(c, "") for c in components] for label, line in cells.items()))
        yield ""


def startup(rows):
    """Yields a table with a line for each measured job. The first columns contain its properties, as far as they
    differ from the defaults.
    """
    def lines():
        for run, row in rows:
            where = hosts(row["layout"])
            where += {"none": "", "small": ", small cache", "large": ", cache of 500 KB"}[row["cache"]]
            where += {"": "", "--kernel": ", with `myrd --kernel`", "--cut 1-2": ", a firewall drops UDP"}.get(
                row["options"], f", nethosts {row['options']}")
            where += f", {row['arguments']}" if row["arguments"] else ""
            if run["machine"]["open_mpi"] != rows[0][0]["machine"]["open_mpi"]:
                where += f", Open MPI {run['machine']['open_mpi']}"
            calls = f"{row['calls']:,}" if row["calls"] else "none"
            calls += f" {name_of(row['collective'])}" if row["collective"] != "barrier" else ""
            calls += f", {row['communicators']} communicators" if row["communicators"] else ""
            first = row.get("first_call_us") if row["calls"] else None
            yield [where, calls, ratio(row["time"], "%.3f"), "%.2f" % row["processor_time"][1],
                   "%.2f" % row["memory"][1], "" if first is None else "%.0f, %.0f" % tuple(first)]
    yield from markdown(["processes", "calls", "time", "CPU time", "memory", "first call (us)"], lines())


def written(values, others=()):
    """Formats values with the maximum number of decimals of all values and others, as they were stored."""
    decimals = max(len(str(value).partition(".")[2]) for value in [*values, *others])
    return [f"{value:.{decimals}f}" for value in values]


def in_turns(runs):
    """Formats the ratios of several runs as their medians and the range of all quartiles."""
    medians = [values[1] for values in runs]
    quartiles = [value for values in runs for value in (values[0], values[2]) if value is not None]
    text = "**" + ", ".join(written(medians, quartiles)) + "**"
    return text + " (%s to %s)" % tuple(written([min(quartiles), max(quartiles)])) if quartiles else text


def regret(rows):
    cells = {}
    for _, row in rows:
        cells.setdefault(row["layout"], {}).setdefault(row["cache"], []).append(row["ratio"])
    caches = {"right": "right cache", "wrong, unwatched": "wrong cache",
              "wrong, watched": "wrong cache, re-evaluated"}
    yield from markdown(["processes", *caches.values()],
                        ([layout] + [in_turns(line[cache]) for cache in caches] for layout, line in cells.items()))


RATIOS = {"times_faster", "over_raw", "open_mpi_over_kernel", "soft_over_kernel"}
AT_MOST = {"over_raw"}  # keys whose aim is an upper limit; all other aims are lower limits


def cell(key, runs):
    return in_turns([run[key] for run in runs]) if key in RATIOS else ", ".join(str(run[key][1]) for run in runs)


def barriers(title, columns):
    """A line for each layout, with the runs next to each other: times in microseconds, ratios with their aims. Columns
    without values are left out.
    """
    def table(rows):
        lines = {}
        for _, row in rows:
            lines.setdefault(row["layout"], []).append(row)
        shown = [key for key in columns if any(key in row for _, row in rows)]
        header = [title]
        for key in shown:
            header += [columns[key], "goal"] if key in RATIOS else [columns[key]]
        body = []
        for layout, runs in lines.items():
            body.append([layout.replace("x", " x ") if "hosts" in title else layout])
            for key in shown:
                body[-1].append(cell(key, runs))
                body[-1] += [aim(key, runs)] if key in RATIOS else []
        yield from markdown(header, body)
    return table


def aim(key, runs):
    wanted = runs[0]["aims"].get(key)
    if wanted is None:
        return ""
    medians = [run[key][1] for run in runs]
    reached = max(medians) <= wanted if key in AT_MOST else min(medians) >= wanted
    return f"{wanted}" + ("" if reached else " *not reached*")


# The lines of the README's summary: first column, file of results, layout in that file, and the keys of
# nicbarr's time and of the ratio.
SUMMARY = [
    ("one node, 2 processes", "node", "2, a CPU each", "nicbarr", "times_faster"),
    ("one node, 16 processes", "node", "16, bound", "nicbarr", "times_faster"),
    ("4 hosts, soft NIC", "hosts", "4x1", "nicbarr", "times_faster"),
    ("4 hosts, kernel NIC", "kernel", "4x1", "kernel", "open_mpi_over_kernel"),
    ("16 hosts, kernel NIC", "kernel", "16x1", "kernel", "open_mpi_over_kernel"),
    ("2 emulated machines with a kernel each, soft NIC", "machines", "2, soft NIC", "nicbarr", "times_faster"),
    ("the same, kernel NIC", "machines", "2, kernel NIC", "nicbarr", "times_faster"),
]


def summarized():
    """Yields for each line of SUMMARY its first column, the keys, and the rows of the runs."""
    for where, name, layout, nicbarr, faster in SUMMARY:
        runs = load(f"bench/results/{name}.json")["runs"]
        yield where, nicbarr, faster, [row for run in runs for row in run["rows"] if row["layout"] == layout]


def summary():
    body = [[where] + [cell(key, runs) for key in (nicbarr, "open_mpi", faster)]
            for where, nicbarr, faster, runs in summarized()]
    return "\n".join(markdown(["where", "nicbarr", "Open MPI", "times faster (quartiles)"], body)) + "\n"


def summary_picture():
    """Returns a picture of the factors by which nicbarr's barrier is faster, for each line of the summary."""
    return pictures.bars([(where, [run[faster] for run in runs]) for where, _, faster, runs in summarized()],
                         "times faster than Open MPI's own barrier (1: as fast); lines: quartiles")


def rivals_picture():
    """Returns a picture of the ratios of the fastest component's time to nicbarr's, for each layout, by operation and
    bytes.
    """
    panels = {}
    for run in load("bench/results/rivals.json")["runs"]:
        for row in run["rows"]:
            if not row.get("failed") and row["component"] in COMPONENTS:
                panel = panels.setdefault(layout_title(row["layout"], run["machine"]["processors"]), {})
                best = panel.setdefault(name_of(row["operation"]), {})
                size = row["bytes"] or 0
                best[size] = min(row["ratio"][1], best.get(size, math.inf))
    return pictures.curves([(title, {name: sorted(best.items()) for name, best in panel.items()})
                            for title, panel in panels.items()],
                           "time of the fastest component over nicbarr's (1: as fast), by bytes")


PICTURES = {"docs/pictures/summary.svg": summary_picture, "docs/pictures/rivals.svg": rivals_picture}

AGAINST_OWN = {"nicbarr": "nicbarr", "open_mpi": "Open MPI", "times_faster": "times faster (quartiles)"}
KINDS = {
    "rivals": rivals,
    "startup": startup,
    "regret": regret,
    "node": barriers("processes", {**AGAINST_OWN, "raw": "raw limit", "over_raw": "over raw limit"}),
    "hosts": barriers("hosts x processes", AGAINST_OWN),
    "machines": barriers("machines", AGAINST_OWN),
    "kernel": barriers("hosts x processes", {
        "kernel": "kernel", "soft": "soft NIC", "open_mpi": "Open MPI, TCP",
        "open_mpi_over_kernel": "TCP / kernel", "soft_over_kernel": "soft / kernel"}),
}


def render(results, key=None, value=None, whole=False):
    rows = [(run, row) for run in results["runs"] for row in run["rows"] if key is None or str(row[key]) == value]
    lines = rivals(rows, whole) if results["table"] == "rivals" else KINDS[results["table"]](rows)
    return "\n".join(lines).rstrip("\n") + "\n"


def load(path):
    with open(path) as file:
        return json.load(file)


def update_tables(text):
    def table(marked):
        begin, name, key, value, end = marked.groups()
        new = summary() if name == "summary" else render(load(f"bench/results/{name}.json"), key, value)
        return begin + new + end
    return MARKED.sub(table, text)


def documents(write):
    os.chdir(TOP)
    bad = 0
    for path, draw in PICTURES.items():
        drawn = draw()
        if write:
            open(path, "w").write(drawn)
        elif not os.path.exists(path) or open(path).read() != drawn:
            print(f"{path} is not what the results say")
            bad = 1
    for path in subprocess.check_output(["git", "ls-files", "*.md"], text=True).split():
        text = open(path).read()
        new = update_tables(text)
        if write and new != text:
            open(path, "w").write(new)
        elif new != text:
            lines = difflib.unified_diff(text.splitlines(True), new.splitlines(True), path, "the results", n=0)
            sys.stdout.writelines(lines)
            bad = 1
        if len(re.findall("<!-- /?figures", text)) != 2 * len(MARKED.findall(text)):
            print(f"{path}: a line <!-- figures: NAME --> or <!-- /figures --> has no counterpart")
            bad = 1
    if bad:
        print("To rewrite tables and pictures: bench/figures.py write")
    return bad


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def found(pattern, text):
    match = re.search(pattern, text, re.M)
    return match and match.group(1)


def machine():
    """Returns the properties of this machine that are stored with results, without host names."""
    return {
        "processors": os.cpu_count(),
        "processor": found(r"^model name\s*: (.*)$", output("cat", "/proc/cpuinfo")),
        "system": found(r'^PRETTY_NAME="?(.*?)"?$', output("cat", "/etc/os-release")),
        "linux": os.uname().release,
        "open_mpi": found(r"^ompi:version:full:(.*)$", output("ompi_info", "--parsable")),
        "load_at_the_end": round(os.getloadavg()[0], 1),
    }


def dump(results):
    """Formats results as JSON with one line per row, so that diffs are readable."""
    rows = [row for run in results["runs"] for row in run["rows"]]
    frame = {**results, "runs": [{**run, "rows": [f"row {id(row)}" for row in run["rows"]]} for run in results["runs"]]}
    text = json.dumps(frame, indent=1)
    for row in rows:
        text = text.replace(f'"row {id(row)}"', json.dumps(row))
    return text + "\n"


def store(kind, path, command):
    results = load(path) if os.path.exists(path) else {"table": kind, "runs": []}
    if results["table"] != kind:
        sys.exit(f"figures.py: {path} has results of another kind: {results['table']}")
    results["runs"].append({
        "command": re.sub(r" -j \S+", "", " ".join(command)),
        "date": time.strftime("%Y-%m-%d"),
        "commit": output("git", "-C", TOP, "describe", "--always", "--dirty", "--exclude=*").strip() or None,
        "machine": machine(),
        "rows": [json.loads(line) for line in sys.stdin],
    })
    with open(path, "w") as file:
        file.write(dump(results))


def main(arguments):
    if arguments in ([], ["write"]):
        return documents(bool(arguments))
    if arguments[0] == "table" and len(arguments) == 2:
        print(render(load(arguments[1]), whole=True), end="")
    elif arguments[0] == "store" and len(arguments) >= 4 and arguments[1] in KINDS:
        store(arguments[1], arguments[2], arguments[3:])
    else:
        print(__doc__, file=sys.stdout if arguments[0] == "--help" else sys.stderr)
        return 0 if arguments[0] == "--help" else 64
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
