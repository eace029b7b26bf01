# SPDX-License-Identifier: BSD-3-Clause
"""Generates, runs and shrinks random programs; run.sh calls it and describes the options."""

import argparse
import collections
import copy
import json
import os
import random
import signal
import sys
import time

from drawing import Caches, draw_messages, draw_surroundings
from playing import RELEASE, Case, Surroundings, play
from program import ALL_COLLECTIVES, BROKEN_BELOW, CARRIED, Generator, legal
from shrinking import Shrinker


def report(seed, case, outcome, path):
    print(f"FAIL seed {seed}: {outcome.summary()}")
    print(f"     {case.surroundings.short()}")
    for line in outcome.where if outcome.kind == "hang" else ():
        print(f"     {line}")
    print(f"     {path}", flush=True)


def what_carries(carrier, lot):
    """What a program with messages may do if these components carry them."""
    ours = "myr" in carrier.get("btl", "")
    alone = "mtl" in carrier or carrier.get("btl") == "myr,self"
    return {"truncated": "mtl" in carrier, "away": alone, "atomics": ours,
            "windows": lot.random() < (0.5 if ours else 0.15), "blind": alone and lot.random() < 0.15}


def with_possible_spawns(steps, beyond):
    """The steps without the `spawn` steps that this release of Open MPI cannot execute."""
    if RELEASE != 6 or "spawn-twice" in beyond:
        return steps
    spawns = [step for step in steps if step.kind == "spawn"]
    return legal([step for step in steps if step not in spawns[1:]], beyond)


def one_case(seed, options, caches):
    lot = random.Random(f"{options.family} {seed}")
    around = draw_surroundings(lot, options, caches)
    flavour = {"threads": False} if RELEASE == 6 and "threads" not in options.beyond else {}
    lot = random.Random(f"messages {options.family} {seed}")
    carrier = draw_messages(lot, options)
    if carrier is not None:
        if "pml" in carrier:
            # The buffers of the messages do not fit into a small segment.
            around.mca.pop("coll_nicbarr_memory", None)
            around.odd = [odd for odd in around.odd if odd[1] != "OMPI_MCA_coll_nicbarr_memory"]
        around.mca |= carrier
        flavour |= {"messages": True, "jobs": lot.random() < 0.4} | what_carries(carrier, lot)
    steps = Generator(f"program {options.family} {seed}", options.length, flavour, options.beyond).draw()
    if around.hosts and not flavour.get("atomics") and "window-hosts" not in options.beyond:
        steps = [step for step in steps if step.kind != "window"]
    if around.hosts and "window-uneven" not in options.beyond:
        steps = [step for step in steps if step.kind != "window" or step.words["c"] == 0]
    for step in steps if around.hosts and "spawn-hosts" not in options.beyond else ():
        if step.kind == "spawn":
            step.words["n"] = 1
    steps = with_possible_spawns(steps, options.beyond)
    if "pml" in around.mca or (any(step.kind in ("inter", "spawn") for step in steps)
                               and "inter-monitoring" not in options.beyond):
        around.mca.pop("pml_monitoring_enable", None)
    return Case(around, steps)


def count(case, counts):
    for step in case.steps:
        counts[f"{step.kind} {step.what} {step.how}" if step.kind == "coll" else step.kind] += 1


def run(options):
    """Runs programs until the time is over, and returns 1 if one has failed."""
    caches, counts = Caches(options.scratch), collections.Counter()
    kinds, failed, played, seed = collections.Counter(), 0, 0, options.seed
    begin = time.monotonic()
    print(f"# seed {seed}, {options.length} steps each", flush=True)
    while time.monotonic() - begin < options.seconds and failed < options.most:
        case = one_case(seed, options, caches)
        outcome = play(case, caches.place(seed))
        kinds[f"{case.surroundings.hosts or 1} hosts {case.surroundings.network if case.surroundings.hosts else ''}"] += 1
        count(case, counts)
        played += 1
        if outcome.failed():
            failed += 1
            path = os.path.join(options.keep, f"{seed}.program")
            case.write(path, [f"seed {seed}: {outcome.summary()}"])
            with open(path + ".output", "w") as file:
                file.write("\n".join(outcome.where) + "\n" + outcome.text)
            report(seed, case, outcome, path)
            if options.shrink:
                shrink_one(path, options)
        seed += 1
    minutes = (time.monotonic() - begin) / 60
    print(f"# {played} programs, {played / minutes:.0f} a minute, {failed} failed, seeds {options.seed} to {seed - 1}")
    print("# conditions:", ", ".join(f"{kind.strip()}: {n}" for kind, n in sorted(kinds.items())))
    print("# steps:", ", ".join(f"{kind}: {n}" for kind, n in sorted(counts.items())))
    return 1 if failed else 0


def plain(case):
    """The same program without nicbarr, but with the parameters of other components."""
    case = copy.deepcopy(case)
    for name in list(case.surroundings.mca):
        if name.startswith("coll_nicbarr_") or "_myr_" in name or name in ("pml", "btl", "mtl"):
            del case.surroundings.mca[name]
    case.surroundings.mca["coll"] = "^nicbarr"
    case.steps = [step for step in case.steps
                  if step.kind != "blind" and (step.kind != "window" or not case.surroundings.hosts)]
    for step in case.steps:
        step.words.pop("short", None)
        if step.kind == "window":
            step.words["copies"] = 1
    case.surroundings.odd, case.surroundings.cache, case.surroundings.chosen = [], None, None
    return case


def shrink_one(path, options):
    case = Case.read(path)
    shrinker = Shrinker(case, options.tries, options.shrink_seconds, beyond=options.beyond)
    best = shrinker.shrink()
    outcomes = [play(best) for _ in range(3)]
    bad = next((o for o in outcomes if o.failed()), outcomes[0])
    below = "right" if not any(play(plain(best)).failed() for _ in range(3)) else "FAILS TOO"
    least = path.removesuffix(".program") + ".least"
    best.write(least, [bad.summary()[:300], f"plain Open MPI: {below}"])
    print(f"# {least}: {len(best.steps)} steps, plain Open MPI: {below}; {bad.summary()[:200]}", flush=True)
    return bad.failed()


def play_files(options):
    failed = 0
    for path in options.files:
        case = Case.read(path)
        if options.plain:
            case = plain(case)
        for _ in range(options.times):
            outcome = play(case)
            if outcome.failed():
                failed += 1
                report("-", case, outcome, path)
                break
        else:
            print(f"{'skip' if outcome.kind == 'skipped' else 'ok  '} {os.path.basename(path)}", flush=True)
    return 1 if failed else 0


# The default of --flavour for `draw`: only features that all releases of Open MPI support.
USUAL = {"collectives": ALL_COLLECTIVES, "hows": "bbi", "idup": False, "places": 8, "churn": True, "inter": False,
         "attr": False, "threads": False, "shifts": True, "layouts": True, "own": False, "large": True,
         "tiny": False, "delays": 0.1, "bursts": 20, "windows": False, "jobs": False} | CARRIED


def draw_file(options):
    generator = Generator(f"drawn {options.seed}", options.length, USUAL | json.loads(options.flavour),
                          ours=options.ours)
    steps = with_possible_spawns(generator.draw(options.first), options.beyond)
    Case(Surroundings(), steps).write(options.file, [f"drawn from seed {options.seed}"])
    return 0


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("--with", dest="beyond", action="append", default=[], choices=BROKEN_BELOW,
                        help="also draw what plain Open MPI cannot do")
    parser.add_argument("--keep", default=".", help="directory for programs that fail")
    parser.add_argument("--tries", type=int, default=3, help="runs of a candidate before it counts as passing")
    parser.add_argument("--shrink-seconds", type=float, default=600)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("seconds", type=float)
    runs.add_argument("seed", type=int, nargs="?", default=int(time.time()) % 1000000)
    runs.add_argument("--length", type=int, default=60, help="steps of a program")
    runs.add_argument("--family", default="", help="selects another set of programs for the same seeds")
    runs.add_argument("--plain", action="store_true", help="without nicbarr, to check the generator")
    runs.add_argument("--hosts", choices=("none", "some", "soft", "loss", "kernel", "killed"), default="some")
    runs.add_argument("--messages", choices=("none", "some", "btl", "mtl", "usual"), default="some",
                      help="which programs send messages: none, some, or all, and what carries them")
    runs.add_argument("--tame", action="store_true", help="no odd ranks, no hostile parameters")
    runs.add_argument("--most", type=int, default=1, help="failures after which it ends")
    runs.add_argument("--shrink", action="store_true", help="shrink each failure")
    plays = commands.add_parser("play")
    plays.add_argument("files", nargs="+")
    plays.add_argument("--times", type=int, default=1)
    plays.add_argument("--plain", action="store_true")
    draws = commands.add_parser("draw")
    draws.add_argument("file")
    draws.add_argument("seed", type=int)
    draws.add_argument("--length", type=int, default=60)
    draws.add_argument("--first", type=int, default=0, help="calls of each collective on MPI_COMM_WORLD at the start")
    draws.add_argument("--flavour", default="{}", help="JSON: what it does more often than other programs")
    draws.add_argument("--ours", choices=("node", "hosts"), help="also draw what only nicbarr promises")
    shrinks = commands.add_parser("shrink")
    shrinks.add_argument("files", nargs="+")
    return parser.parse_args(arguments)


def main():
    import tempfile
    options = options_of(sys.argv[1:])
    os.makedirs(options.keep, exist_ok=True)
    if options.command == "draw":
        return draw_file(options)
    if options.command == "play":
        return play_files(options)
    if options.command == "shrink":
        return 1 if any([shrink_one(path, options) for path in options.files]) else 0
    with tempfile.TemporaryDirectory(prefix="nicbarr-caches-") as options.scratch:
        return run(options)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a running job is ended, too
sys.exit(main())
