# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under its conditions, such as the numbers of processes and hosts, and parameters.

A case is a file with both. Lines that begin with @ are the conditions, and all other lines are steps (program.py):

    @np 4                          processes, on one node
    @hosts 2 2 soft                instead: number of hosts, processes on each, and network: soft, loss (the soft NIC
                                   over a bad network), kernel, or killed (the kernel NIC, whose daemons are killed
                                   and restarted)
    @mca coll_nicbarr_tune_after 3
    @odd 1 OMPI_MCA_coll ^nicbarr  an environment variable that only rank 1 has
    @cache [...]                   the tuning cache at the start: a list of its lines (JSON)
    @chosen openmpi                instead: the cache that a first run writes, changed so that this choice is the best
                                   one with high confidence wherever it was a candidate. (A cache cannot be stored in
                                   the file, because it contains properties of the machine.)
"""

import copy
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from program import Step

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.environ.get("srcdir") or os.path.dirname(os.path.dirname(HERE))
BUILT = os.environ.get("builddir") or os.path.join(SOURCES, "_build")
PLAYER = os.path.join(BUILT, "tests", "programs", "player")
NETHOSTS = os.path.join(SOURCES, "testbeds", "hosts", "nethosts")
RELEASE = int(re.search(r"\(Open MPI\) (\d+)", subprocess.run(["mpirun", "--version"], capture_output=True, text=True,
                                                               check=True).stdout).group(1))
PROCESSES, THREADS, ITERATIONS = 160, 8, 1024  # as in places.h and program.h
# Seconds without progress after which a program is considered hung, on an idle machine.
WATCHDOG_S = float(os.environ.get("NICBARR_PATIENCE", "60"))


@dataclass
class Surroundings:
    np: int = 4
    hosts: int = 0  # 0: one node, without nethosts
    network: str = "soft"
    mca: dict = field(default_factory=dict)
    odd: list = field(default_factory=list)  # (rank, name, value)
    cache: str = None
    chosen: str = None

    def per_host(self):
        return self.np // self.hosts

    def lines(self):
        yield f"@hosts {self.hosts} {self.per_host()} {self.network}" if self.hosts else f"@np {self.np}"
        for name, value in self.mca.items():
            yield f"@mca {name} {value}"
        for rank, name, value in self.odd:
            yield f"@odd {rank} {name} {value}"
        if self.cache is not None:
            yield f"@cache {self.cache}"
        if self.chosen is not None:
            yield f"@chosen {self.chosen}"

    def short(self):
        return "; ".join(line[1:60] for line in self.lines())


@dataclass
class Case:
    surroundings: Surroundings
    steps: list

    def write(self, path, comments=()):
        with open(path, "w") as file:
            comments = ("SPDX-License-Identifier: BSD-3-Clause", *comments)
            for line in [f"# {comment}" for comment in comments] + list(self.surroundings.lines()):
                file.write(line + "\n")
            for step in self.steps:
                file.write(f"{step}\n")

    @staticmethod
    def read(path):
        around, steps = Surroundings(), []
        with open(path) as file:
            for line in file.read().splitlines():
                if line.startswith("@"):
                    Case._read_surrounding(around, line)
                elif line and not line.startswith("#"):
                    steps.append(Step.parse(line))
        return Case(around, steps)

    @staticmethod
    def _read_surrounding(around, line):
        what, rest = line.split(" ", 1)
        words = rest.split()
        if what == "@np":
            around.np = int(words[0])
        elif what == "@hosts":
            around.hosts, around.network = int(words[0]), words[2]
            around.np = around.hosts * int(words[1])
        elif what == "@mca":
            around.mca[words[0]] = words[1]
        elif what == "@odd":
            around.odd.append((int(words[0]), words[1], words[2]))
        elif what == "@cache":
            around.cache = rest
        elif what == "@chosen":
            around.chosen = words[0]
        else:
            raise ValueError(line)


@dataclass
class Outcome:
    kind: str  # ok, wrong, crash, hang, error or skipped
    text: str
    where: list  # a line per process: the step in which it is

    def failed(self):
        return self.kind not in ("ok", "skipped")

    def summary(self):
        """Describes the failure in one line, which is the same for failures of the same kind."""
        for line in self.text.splitlines():
            if line.startswith("FAIL"):
                return line
        for pattern in (r"\[ *\d+\] .*mca_coll_nicbarr[^ \n]*", r"\*\*\* (?:MPI_ERR|An error).*", r"Signal: .*"):
            found = re.search(pattern, self.text)
            if found:
                return f"{self.kind}: {found.group(0)}"
        if self.kind == "hang" and not self.where:
            return "hang before the first step: in MPI_Init, or mpirun has not started all processes"
        return self.kind


def without_han(components):
    """The value of the parameter coll, changed to exclude coll/han, which serves several hosts since Open MPI 5.0. With
    it MPI_Allgather of 5.0.7 and MPI_Gather of 6.0.0rc2 give wrong results or hang there, even without nicbarr."""
    if RELEASE == 4:
        return components
    return f"{components},han" if components else "^han"


def mpirun_arguments(around, program, board, cache):
    """The arguments of mpirun, or those after nethosts HOSTS PER-HOST."""
    words = []
    mca = {"coll_nicbarr_tune_share": "100"} | around.mca | {"coll": without_han(around.mca.get("coll"))}
    for name, value in mca.items():
        words += ["--mca", name, value] if value else []
    words += ["--mca", "coll_nicbarr_cache", cache]
    if "pml_monitoring_enable" in mca:
        # coll/monitoring of 4.1.4 releases pointers that it has not initialized. With this value glibc fills allocated
        # memory with zeros; with any other value the program crashes in MPI_Comm_free, even without nicbarr.
        words += ["-x", "MALLOC_PERTURB_=255"]
    if around.odd:
        words.append(os.path.join(HERE, "odd.sh"))
        for rank, name, value in around.odd:
            words += [str(rank), f"{name}={without_han(value) if name == 'OMPI_MCA_coll' else value}"]
        words.append("--")
    return words + [PLAYER, "--program", program, "--board", board]


def command(around, program, board, cache):
    words = mpirun_arguments(around, program, board, cache)
    if not around.hosts:
        return ["mpirun", "-np", str(around.np)] + words
    switch = {"soft": [], "loss": ["--loss", "3", "--duplicate", "3", "--reorder", "3"], "kernel": ["--kernel"],
              "killed": ["--kernel", "--shell"]}
    beside = [os.path.join(HERE, "killing.sh")] if around.network == "killed" else []
    return [NETHOSTS] + switch[around.network] + [str(around.hosts), str(around.per_host())] + beside + words


def environment(case):
    result = dict(os.environ)
    # As in jobs.sh: several hosts need the network.
    if case.surroundings.hosts:
        result.pop("OMPI_MCA_btl", None)
    elif "OMPI_MCA_btl" in result and any(step.kind == "spawn" or step.how == "port" for step in case.steps):
        # Since Open MPI 5.0 processes of different jobs reach each other only by btl/tcp.
        result |= {"OMPI_MCA_btl": result["OMPI_MCA_btl"] + ",tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
    return result


def positions(board):
    with open(board, "rb") as file:
        return list(struct.iter_unpack(f"{THREADS}q", file.read()))


def stop(process):
    """mpirun ends its processes on SIGTERM; nethosts does so on SIGKILL as well."""
    for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, number)
            process.wait(seconds)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass


def speed():
    """The share of a processor that a process gets while others run. It is at least a fifth, because the
    scheduler divides time between sessions, regardless of the number of processes in each."""
    with open("/proc/loadavg") as file:
        running = int(file.read().split()[3].split("/")[0])
    processors = os.cpu_count() or 1
    return max(0.2, processors / max(processors, running))


def watch(process, board):
    """Waits until the process has ended (returns True) or makes no more progress (returns False)."""
    last, stalled, pause = None, 0.0, 0.02
    while True:
        begin = time.monotonic()
        try:
            process.wait(pause)
            return True
        except subprocess.TimeoutExpired:
            pause = min(0.5, pause * 1.5)
        now = positions(board)
        stalled = 0.0 if now != last else stalled + (time.monotonic() - begin) * speed()
        last = now
        if stalled > WATCHDOG_S:
            return False


def where(steps, board):
    result = []
    for rank, threads in enumerate(positions(board)):
        for thread, position in enumerate(threads):
            line, call = divmod(position, ITERATIONS)
            if position:
                step = steps[line - 1] if line <= len(steps) else ""
                result.append(f"rank {rank}" + (f", thread {thread}" if thread else "") + f": call {call} of: {step}")
    return result


def verdict(process, ended, text):
    if not ended:
        return "hang"
    if process.returncode == 0:
        return "ok"
    if process.returncode == 77:
        return "skipped"
    if "FAIL " in text:
        return "wrong"
    return "crash" if "Signal:" in text or "exited on signal" in text else "error"


def with_choice(case):
    """The case with a cache in which the choice @chosen is the best one, or None if nothing was measured."""
    case = copy.deepcopy(case)
    chosen, case.surroundings.chosen = case.surroundings.chosen, None
    first = copy.deepcopy(case)
    first.surroundings.mca["coll_nicbarr_tune_after"] = "3"
    with tempfile.TemporaryDirectory(prefix="nicbarr-programs-") as scratch:
        path = os.path.join(scratch, "cache.json")
        play(first, path)
        if not os.path.exists(path):
            return None
        with open(path) as file:
            cache = [json.loads(line) for line in file]
    for line in cache[1:]:
        one = line["measurements"][-1]
        line["measurements"] = [one]
        one["confidence"] = 0.99
        for candidate in one["candidates"]:
            if candidate["choice"] == chosen:
                candidate["us"] = [1e-3, 1e-3, 1e-3]
    case.surroundings.cache = json.dumps(cache)
    return case


def play(case, keep=None):
    """Runs a case, and copies the tuning cache that it leaves to the file `keep`."""
    if case.surroundings.chosen is not None:
        case = with_choice(case)
        if case is None:
            return Outcome("skipped", "nothing was measured", [])
    with tempfile.TemporaryDirectory(prefix="nicbarr-programs-") as scratch:
        program, board = os.path.join(scratch, "program"), os.path.join(scratch, "board")
        output, cache = os.path.join(scratch, "output"), os.path.join(scratch, "cache.json")
        case.write(program)
        with open(board, "wb") as file:
            file.write(bytes(PROCESSES * THREADS * 8))
        if case.surroundings.cache is not None:
            with open(cache, "w") as file:
                file.writelines(json.dumps(line) + "\n" for line in json.loads(case.surroundings.cache))
        elif keep is None:
            cache = "none"
        with open(output, "wb") as out:
            process = subprocess.Popen(command(case.surroundings, program, board, cache), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT, cwd=scratch, start_new_session=True,
                                       env=environment(case))
            try:
                ended = watch(process, board)
            finally:
                stop(process)
        with open(output, errors="replace") as file:
            text = file.read()
        if keep and os.path.exists(cache):
            shutil.copy(cache, keep)
        return Outcome(verdict(process, ended, text), text, where(case.steps, board))
