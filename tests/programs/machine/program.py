# SPDX-License-Identifier: BSD-3-Clause
"""Random legal MPI programs: which steps there are, when they are legal, and how they are drawn.

A program is a list of steps. player.c executes it, and program.h describes the format. The class Legal
decides whether a step may follow the previous steps. Therefore any part of a legal program can be made
legal by removing the steps that have become illegal, as the shrinker does.

The following steps are legal in MPI, but are not drawn because Open MPI fails with them even without nicbarr; this
applies to 4.1 unless another release is named. The words select them with --with (`BROKEN_BELOW`):
  idup-nonblocking  MPI_Comm_idup issues MPI_Iallreduce on the parent from within progress, in the
                    same sequence as the program's own non-blocking collectives there.
  idup-inter        MPI_Comm_idup on an intercommunicator hangs at times.
  free-outstanding  MPI_Comm_free while a non-blocking collective is outstanding: coll/libnbc
                    executes it on a freed communicator, and crashes.
  persistent-freed  MPI_Type_free of the type of a persistent collective: the next start crashes.
  reduce-bottom     MPI_Reduce treats MPI_BOTTOM as a null pointer, so that the result is lost. MPI_Allreduce on an
                    intercommunicator does the same, and also overwrites the send buffer.
  nonblocking-negative  A non-blocking reduction of a type with a negative lower bound writes before
                    its memory.
  inter-nonblocking  MPI_Ibarrier on an intercommunicator may end before all processes of the other
                    group have entered it; many outstanding MPI_Ireduce hang there. (nicbarr does not
                    serve intercommunicators.)
  create-group-attributes  MPI_Comm_create_group calls the copy callbacks of attributes.
  window-hosts      MPI_Win_allocate fails between hosts with TCP only (osc/pt2pt and osc/rdma).
  window-parts      MPI_Win_allocate by several parts of a communicator at a time fails at times.
  window-alone      MPI_Win_create_dynamic fails on a communicator of one process, because osc/sm selects
                    itself there.
  window-uneven     osc/rdma confuses the memory of two processes, on a communicator whose processes are
                    not evenly distributed among three or more nodes (corrected in 4.1.5).
  mixed             A part of a pair or structure with gaps is lost if a packet, or a piece of a process's
                    own block, ends within it.
  create-group-idup  While an MPI_Comm_idup is outstanding, MPI_Comm_create_group deadlocks at times, and so
                    does the creation of a communicator from one that MPI_Comm_create_group has
                    created. All of them allocate a communicator's number.
  inter-monitoring  MPI_Intercomm_create crashes at times under coll/monitoring; spawning and connecting
                    through a port always do.
  spawn-hosts       MPI_Comm_spawn of processes on several hosts fails in their MPI_Init if Open MPI
                    chooses the hosts.
  disconnect-jobs   MPI_Comm_disconnect hangs for communicators made of one that spans several jobs.
  jobs-outstanding  MPI_Comm_spawn, MPI_Comm_disconnect and connecting through a port while messages to the
                    calling process are outstanding, which may need progress: these calls make none.
  spawn-twice       (6.0.0rc2) If a program has called MPI_Comm_spawn several times, collectives among the
                    jobs hang at times, or fail with MPI_ERR_PROC_FAILED although all processes live.
  threads           (6.0.0rc2) If threads of a process communicate at the same time, MPI_Wait and Open MPI's
                    own collectives hang at times.

Some steps rely on guarantees that nicbarr gives beyond MPI. They are drawn only if nicbarr executes all collectives
(`ours`: node or hosts):
  bits              Sums of rounded numbers are combined in one order, and sums of unsigned numbers wrap around.
  kept              Types and operations of small persistent requests may be freed at once, and their
                    communicator before they are started, or while barriers are outstanding.
  locked            Operations do not run in the call that starts a non-blocking reduction.
"""

import random

PLACES, PROCESSES, SPAWNED = 4096, 160, 128  # as in places.h
MOST_SPAWNED = 6  # in a program, as each step `spawn` takes a third of a second
REQUESTS = 16
ALL_COLLECTIVES = ("barrier", "allreduce", "reduce", "bcast", "allgather", "gather", "scatter")
REDUCTIONS = ("allreduce", "reduce")
ROOTED = ("reduce", "bcast", "gather", "scatter")
BROKEN_BELOW = ("idup-nonblocking", "idup-inter", "free-outstanding", "persistent-freed", "reduce-bottom",
                "create-group-attributes", "nonblocking-negative", "inter-nonblocking", "inter-monitoring",
                "window-hosts", "create-group-idup", "window-parts", "window-alone", "window-uneven", "mixed",
                "spawn-hosts", "disconnect-jobs", "jobs-outstanding", "spawn-twice", "threads")

ARITHMETIC = ("MPI_MAX", "MPI_MIN", "MPI_SUM", "MPI_PROD")
BITS = ("MPI_BAND", "MPI_BOR", "MPI_BXOR")
LOGICAL = ("MPI_LAND", "MPI_LOR", "MPI_LXOR")
LOCATED = ("MPI_MAXLOC", "MPI_MINLOC")
OWN = ("composition-of-maps", "a-user's-exclusive-or")
MAP = "two-numbers-of-a-user"
# name: (bytes of the signature, operations)
TYPES = {
    "MPI_INT": (4, ARITHMETIC + BITS + LOGICAL), "MPI_DOUBLE": (8, ARITHMETIC), "MPI_BYTE": (1, BITS),
    "MPI_INT8_T": (1, ARITHMETIC + BITS + LOGICAL), "MPI_SHORT": (2, ARITHMETIC + BITS + LOGICAL),
    "MPI_FLOAT": (4, ARITHMETIC), "MPI_LONG": (8, ARITHMETIC + BITS + LOGICAL),
    "MPI_UNSIGNED_CHAR": (1, ARITHMETIC + BITS), "MPI_UINT64_T": (8, ARITHMETIC + BITS + LOGICAL),
    "MPI_AINT": (8, ARITHMETIC + BITS), "MPI_C_BOOL": (1, LOGICAL), "MPI_LOGICAL": (4, LOGICAL),
    "MPI_INTEGER2": (2, ARITHMETIC + BITS), "MPI_DOUBLE_PRECISION": (8, ARITHMETIC),
    "MPI_LONG_DOUBLE": (16, ARITHMETIC), "MPI_C_DOUBLE_COMPLEX": (16, ("MPI_SUM", "MPI_PROD")),
    "MPI_COMPLEX": (8, ("MPI_SUM", "MPI_PROD")),
    "MPI_DOUBLE_INT": (12, LOCATED), "MPI_2INT": (8, LOCATED), "MPI_SHORT_INT": (6, LOCATED),
    "MPI_2REAL": (8, LOCATED), MAP: (8, OWN),
    "MPI_CHAR": (1, ()), "MPI_WCHAR": (4, ()), "a-structure-with-gaps": (13, ()),
}
MIXED = [name for name, (_, ops) in TYPES.items() if ops == LOCATED] + ["a-structure-with-gaps"]
ROUNDED = ("MPI_DOUBLE", "MPI_FLOAT", "MPI_DOUBLE_PRECISION", "MPI_LONG_DOUBLE", "MPI_C_DOUBLE_COMPLEX", "MPI_COMPLEX")
# A type whose range is exceeded by sums. Two processes get the same bits from Open MPI for the types above, but not for
# this one, so all calls must be nicbarr's.
EXCEEDED = "MPI_UNSIGNED_CHAR"
# For `ours`: the longest reductions that are combined in order, first those that are non-blocking or between hosts and
# then blocking ones on one node; the longest persistent requests that are kept (all in bytes); and the maximum number
# of processes.
IN_ORDER, IN_ORDER_HERE, KEPT, MOST_RANKS = 1024, 1 << 22, 512, 17
REDUCIBLE = [name for name, (_, ops) in TYPES.items() if ops]
# Sizes (in bytes) at which the behaviour changes: chunks, blocks, segments, limits and size classes.
BORDERS = (8, 32, 48, 112, 256, 512, 1152, 1568, 2048, 4096, 4592, 16256, 21744, 32768, 65536, 131072, 262144, 1 << 20)
WINDOW_TYPES = ("MPI_BYTE", "MPI_DOUBLE", "MPI_FLOAT", "MPI_INT", "MPI_INT8_T", "MPI_LONG", "MPI_SHORT", "MPI_UINT64_T")
# Features of programs with messages and windows that not all components support. ob1 of Open MPI 4.1 writes truncated
# messages beyond the buffer (`truncated`). With btl/vader MPI_Accumulate gives wrong results, and MPI_Compare_and_swap
# crashes (`atomics`); messages that a process which makes no calls does not receive delay those to others (`away`); and
# processes that may not read each other's memory crash (`blind`).
CARRIED = {"messages": False, "truncated": False, "away": False, "atomics": False, "blind": False}
# Size of a message in bytes, and number of messages of a pair of processes, such that a step takes less than a second.
MESSAGES = ((0, 400), (200, 400), (1000, 400), (5000, 300), (20000, 60), (70000, 10), (300000, 4))


class Step:
    """ID KIND key=value ... All values are text or numbers."""

    def __init__(self, number, kind, **words):
        self.id, self.kind, self.words = number, kind, words

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.words.get(name)

    def __str__(self):
        return " ".join([str(self.id), self.kind] + [f"{k}={v}" for k, v in self.words.items()])

    @staticmethod
    def parse(line):
        number, kind, *words = line.split()
        pairs = (word.split("=", 1) for word in words)
        return Step(int(number), kind, **{k: int(v) if v.lstrip("-").isdigit() else v for k, v in pairs})


class Legal:
    """The state of a program's communicators and requests after the steps so far."""

    def __init__(self, beyond=()):
        self.beyond = beyond  # of BROKEN_BELOW
        # The communicator of each place. "whole": all processes of the job are members. "jobs": its processes belong to
        # one job (0), or to several jobs that have connected to create it (1); or it was derived from such a
        # communicator (2). "parts": the place may hold several communicators. "hints": it, or one that it was derived
        # from, has info hints that restrict the use of messages. "group": it, or one that it was derived from, is a
        # result of MPI_Comm_create_group.
        self.places = {0: {"inter": False, "attr": False, "idup": None, "whole": True, "parts": False, "jobs": 0,
                           "hints": False, "group": False}}
        self.requests = {}  # number: {"c", "kind": i, p, idup, shift or messages, "active"}
        self.threads = 0  # between fork and join
        self.spawned = set()  # numbers of processes

    def of(self, place):
        return [r for r in self.requests.values() if r["c"] == place]

    def _threaded(self, step):
        """Between fork and join: only steps on communicators of one thread are legal."""
        if step.kind == "join":
            return True
        if step.kind == "coll":
            return step.how == "b" or (step.how == "i" and step.r % self.threads == step.c % self.threads)
        if step.kind in ("wait", "test"):
            request = self.requests.get(step.r)
            return request is not None and request["c"] == step.c and request["kind"] in ("i", "shift", "messages")
        if step.kind in ("dup", "split"):
            # Open MPI 4.1 assigns numbers first to children of communicators with lower numbers, and waits for them.
            # Therefore processes that share only some of the parents would deadlock.
            return step.d % self.threads == step.c % self.threads and self.places[step.c]["whole"]
        if step.kind == "shift":
            return step.r % self.threads == step.c % self.threads
        if step.kind == "messages":
            return not attached(step) and (step.how == "b" or step.r % self.threads == step.c % self.threads)
        return step.kind in ("free", "pause", "exchange")

    def take(self, step):
        """Returns whether the step is legal now, and updates the state if it is."""
        if self.threads and not self._threaded(step):
            return False
        return getattr(self, "_" + step.kind)(step)

    def _coll(self, s):
        place = self.places.get(s.c)
        if place is None or (s.how != "b" and s.r in self.requests):
            return False
        if s.how != "b" and place["idup"] is not None and "idup-nonblocking" not in self.beyond:
            return False
        if s.how == "p" and (place["inter"] or (s.freed and "persistent-freed" not in self.beyond)):
            return False
        if place["inter"] and (s.bits or s.led):
            return False
        if s.how == "i" and place["inter"] and "inter-nonblocking" not in self.beyond:
            return False
        reduces = s.what == "reduce" or (s.what == "allreduce" and place["inter"])
        if reduces and s.send == "A" and "reduce-bottom" not in self.beyond:
            return False
        if (s.what in REDUCTIONS and s.how != "b" and s.send == "N"
                and "nonblocking-negative" not in self.beyond):
            return False
        if (s.type in MIXED and (s.send or s.recv) and (s.n or 1) * TYPES[s.type][0] > 4096
                and "mixed" not in self.beyond):
            return False
        if s.how != "b":
            self.requests[s.r] = {"c": s.c, "kind": s.how, "active": s.how == "i", "kept": s.kept}
        return True

    def _start(self, s):
        request = self.requests.get(s.r)
        if request is None or request["kind"] != "p" or request["active"]:
            return False
        request["active"] = True
        return True

    def _rfree(self, s):
        request = self.requests.get(s.r)
        if request is None or request["kind"] != "p" or request["active"]:
            return False
        del self.requests[s.r]
        return True

    def _finish(self, number):
        request = self.requests[number]
        request["active"] = False
        if request["kind"] == "idup":
            old = self.places[request["c"]]
            self.places[request["d"]] = old | {"attr": False, "idup": None, "whole": False,
                                               "jobs": 2 if old["jobs"] else 0}
            old["idup"] = None
        if request["kind"] != "p":
            del self.requests[number]

    def _wait(self, s):
        if s.r not in self.requests or not self.requests[s.r]["active"]:
            return False
        self._finish(s.r)
        return True

    def _waitall(self, _):
        for number in [n for n, r in self.requests.items() if r["active"]]:
            self._finish(number)
        return True

    def _test(self, s):
        return s.r in self.requests and self.requests[s.r]["active"] and self.requests[s.r]["kind"] != "messages"

    def _shift(self, s):
        if s.c not in self.places or self.places[s.c]["inter"] or s.r in self.requests:
            return False
        self.requests[s.r] = {"c": s.c, "kind": "shift", "active": True}
        return True

    def _messages(self, s):
        """Returns whether a step `messages` is legal. A receive with MPI_ANY_TAG must not get a message of another step,
        no process may stop making MPI calls while others need it, and a process has one buffer for MPI_Bsend."""
        if s.c not in self.places or self.places[s.c]["hints"]:
            return False
        any_tag = "t" in (s.wild or "") or "b" in (s.wild or "")
        if any_tag and any(r["kind"] == "messages" for r in self.of(s.c)):
            return False
        if s.how == "i":
            if s.r in self.requests or any_tag or s.away or s.short or attached(s):
                return False
            self.requests[s.r] = {"c": s.c, "kind": "messages", "active": True}
        return True

    def _exchange(self, s):
        return s.c in self.places and not self.places[s.c]["inter"] and not self.places[s.c]["hints"]

    def _blind(self, _):
        return True

    def _window(self, s):
        """The window is created on c, and freed in the same step."""
        if s.c not in self.places or (self.places[s.c]["parts"] and "window-parts" not in self.beyond):
            return False
        if s.made == "d" and not self.places[s.c]["whole"] and "window-alone" not in self.beyond:
            return False
        return not self.places[s.c]["inter"] and self.places[s.c]["idup"] is None

    def _new(self, s):
        """Whether place d is free, and c can be its parent."""
        taken = {r["d"] for r in self.requests.values() if r["kind"] == "idup"}
        return (s.c in self.places and s.d not in self.places and s.d not in taken
                and self.places[s.c]["idup"] is None and 0 < s.d < PLACES)

    def _make(self, s, of_inter, inter):
        if not self._new(s) or (of_inter is not None and self.places[s.c]["inter"] != of_inter):
            return False
        old = self.places[s.c]
        group = old["group"] or s.kind == "cgroup"
        if (group and any(r["kind"] == "idup" for r in self.requests.values())
                and "create-group-idup" not in self.beyond):
            return False
        kept = s.kind in ("dup", "dupinfo")
        jobs = 1 if s.kind == "spawn" or (old["jobs"] and s.how == "port") else 2 if old["jobs"] else 0
        self.places[s.d] = {"inter": old["inter"] if kept else inter, "attr": kept and old["attr"], "idup": None,
                            "whole": kept and old["whole"], "jobs": jobs, "group": group,
                            "hints": old["hints"] or (s.kind == "dupinfo" and s.key < 3),
                            "parts": old["parts"] or s.kind in ("split", "create", "cart", "shared")}
        return True

    def _stops_progress(self):
        return (any(r["kind"] == "messages" for r in self.requests.values())
                and "jobs-outstanding" not in self.beyond)

    def _dup(self, s):
        return self._make(s, None, None)

    _dupinfo = _dup

    def _split(self, s):
        return self._make(s, False, False)

    _create = _cart = _graph = _shared = _split

    def _cgroup(self, s):
        if s.c in self.places and self.places[s.c]["attr"] and "create-group-attributes" not in self.beyond:
            return False
        return self._make(s, False, False)

    def _inter(self, s):
        return not (s.how == "port" and self._stops_progress()) and self._make(s, False, True)

    def _spawn(self, s):
        children = set(range(s.first, s.first + s.n))
        if self._stops_progress() or children & self.spawned or s.first + s.n > PROCESSES:
            return False
        if not self._make(s, False, True):
            return False
        self.spawned |= children
        return True

    def _merge(self, s):
        return self._make(s, True, False)

    def _idup(self, s):
        if s.r in self.requests or not self._new(s) or self.places[s.c]["attr"]:
            return False
        if self.places[s.c]["inter"] and "idup-inter" not in self.beyond:
            return False
        self.places[s.c]["idup"] = s.r
        self.requests[s.r] = {"c": s.c, "kind": "idup", "d": s.d, "active": True}
        return True

    def _attr(self, s):
        if s.c not in self.places or self.places[s.c]["idup"] is not None:
            return False
        self.places[s.c]["attr"] = True
        return True

    def _free(self, s):
        if s.c not in self.places or s.c == 0 or self.places[s.c]["idup"] is not None:
            return False
        if any(r["kind"] == "messages" for r in self.of(s.c)):
            return False
        if any((r["kind"] == "p" or (r["kind"] == "i" and "free-outstanding" not in self.beyond)) and not r.get("kept")
               for r in self.of(s.c)):
            return False
        if any(r.get("kept") for r in self.of(s.c)) and not s.kept:
            return False
        if s.how == "disconnect" and (self.of(s.c) or (self.places[s.c]["jobs"] == 2
                                                       and "disconnect-jobs" not in self.beyond)):
            return False
        if s.how == "disconnect" and self._stops_progress():
            return False
        del self.places[s.c]
        for request in self.of(s.c):
            request["c"] = None
        return True

    def _pause(self, _):
        return True

    def _fork(self, s):
        if any(r["active"] for r in self.requests.values()):
            return False
        self.threads = s.threads
        return True

    def _join(self, _):
        if not self.threads:
            return False
        self.threads = 0
        return True


def attached(step):
    """Whether a step `messages` uses the process's buffer for MPI_Bsend."""
    return "b" in (step.modes or "").lower()


def legal(steps, beyond=()):
    """The steps without those that are not legal."""
    state = Legal(beyond)
    return [step for step in steps if state.take(step)]


class Generator:
    """Draws a program from a seed."""

    def __init__(self, seed, length, flavour=None, beyond=(), ours=None):
        self.lot = random.Random(seed)
        self.state = Legal(beyond)
        self.steps = []
        self.number = 0
        self.length = length
        self.flavour = self._draw_flavour() | CARRIED | (flavour or {})
        self.ours = ours

    def _draw_flavour(self):
        """Draws what this program does more often than others. Many programs do little else."""
        lot = self.lot
        some = lot.sample(ALL_COLLECTIVES, lot.choice((1, 1, 2, 3, 7)))
        return {
            "collectives": sorted(some),
            "hows": lot.choice(("b", "b", "bi", "bi", "bip", "i", "bbbi", "bp")),
            "idup": lot.random() < 0.4,
            "places": lot.choice((1, 1, 3, 8, 20)),
            "churn": lot.random() < 0.3,
            "inter": lot.random() < 0.2,
            "attr": lot.random() < 0.2,
            "threads": lot.random() < 0.12,
            "shifts": lot.random() < 0.3,
            "layouts": lot.random() < 0.4,
            "own": lot.random() < 0.2,
            "large": lot.random() < 0.3,
            "tiny": lot.random() < 0.4,
            "delays": lot.choice((0, 0.1, 0.3)),
            "bursts": lot.choice((1, 8, 60, 60)),
            "windows": lot.random() < 0.15,
            "jobs": lot.random() < 0.12,
        }

    def draw(self, first=0):
        """Draws the steps. At the start each collective is called `first` times on MPI_COMM_WORLD."""
        if self.flavour["blind"]:
            self._add("blind")
        for what in ALL_COLLECTIVES if first else ():
            for n in (1,) if what != "bcast" and what != "scatter" else (1, 8200):
                self._add("coll", what=what, how="b", c=0, type="MPI_INT", op="MPI_MAX", n=n, times=first)
        if self.flavour["idup"]:
            self._warm_up()
        while len(self.steps) < self.length:
            self._draw_step()
        if self.state.threads:
            self._add("join")
        return self.steps

    def _add(self, kind, **words):
        self.number += 1
        step = Step(self.number, kind, **words)
        if self.state.take(step):
            self.steps.append(step)
            return True
        return False

    # ---- words of steps ----

    def _delay(self, words):
        if self.lot.random() < self.flavour["delays"]:
            words["slow"] = self.lot.choice((-2, -2, 0, 1, 2, 3))
            words["us"] = self.lot.choice((5, 20, 20, 100, 500, 2000))
            if self.lot.random() < 0.3:
                words["spin"] = 1
            if words["us"] * words.get("times", 1) > 20000:
                words["us"] = 20

    def _place(self):
        lot = self.lot
        if lot.random() < 0.4:
            return 0
        return lot.choice(sorted(self.state.places))

    def _free_place(self, parent=0):
        threads = self.state.threads or 1
        taken = {r.get("d") for r in self.state.requests.values()} | set(self.state.places)
        return next((p for p in range(1, PLACES) if p not in taken and (p - parent) % threads == 0), None)

    def _free_request(self, place=0):
        threads = self.state.threads or 1
        return next((r for r in range(REQUESTS) if r not in self.state.requests and (r - place) % threads == 0), None)

    def _elements(self, size):
        lot, flavour = self.lot, self.flavour
        if lot.random() < 0.1:
            return 0
        if lot.random() < (0.8 if flavour["tiny"] else 0.3):
            return lot.randint(1, 4)
        borders = BORDERS if flavour["large"] and lot.random() < 0.2 else [b for b in BORDERS if b <= 4096]
        around = lot.choice(borders) / size / lot.choice((1, 1, 1, 2, 3, 4))
        return min(max(0, int(around) + lot.randint(-1, 1)), 140000)

    def _times(self, size):
        lot = self.lot
        most = self.flavour["bursts"] if size <= 4200 else 8 if size <= 40000 else 2
        return lot.choice((1, 1, lot.randint(1, most), most))

    def _layouts(self, words, what, n, size):
        lot = self.lot
        if not self.flavour["layouts"] or lot.random() < 0.3:
            return
        # If ranks pass different counts of one signature, Open MPI's segments of long messages do not match.
        same = "cw" if n * size > 1024 else "xcw"
        whole = "PGNRVA" if n <= 3000 else "PGN"
        if what in REDUCTIONS:
            if words["type"] == MAP:
                # Open MPI's ring algorithm frees a wrong address if a lower bound is negative.
                not_for = ("A" if what == "reduce" else "") + ("N" if n * size > 2048 else "")
                words["send"] = lot.choice([letter for letter in whole if letter not in not_for])
            return
        for side in ("send", "recv"):
            words[side] = lot.choice(whole if lot.random() < 0.5 or n > 3000 else same)

    def _collective(self, how=None, place=None):
        lot, flavour = self.lot, self.flavour
        what = lot.choice(flavour["collectives"])
        how = how or lot.choice(flavour["hows"])
        words = {"what": what, "how": how, "c": self._place() if place is None else place}
        if how != "b":
            request = self._free_request(words["c"])
            if request is None:
                return self._add("join" if self.state.threads else "waitall")
            words["r"] = request
        if what == "barrier":
            words["times"] = self._times(0) if how != "p" else 1
        else:
            self._data(words, what, how)
        if how == "i" and lot.random() < 0.2:
            words["led"] = 1
        if self.ours:
            self._ours(words, what, how)
        self._delay(words)
        return self._add("coll", **words)

    def _data(self, words, what, how):
        lot = self.lot
        types = REDUCIBLE if what in REDUCTIONS else sorted(TYPES)
        words["type"] = lot.choice(types)
        if what in REDUCTIONS:
            if self.flavour["own"]:
                words["type"] = MAP
            words["op"] = lot.choice(TYPES[words["type"]][1])
            if self.ours and not self.flavour["own"] and lot.random() < 0.6:
                words["type"] = lot.choice(ROUNDED + (EXCEEDED,))
                words["op"] = "MPI_PROD" if "COMPLEX" not in words["type"] and lot.random() < 0.3 else "MPI_SUM"
        size = TYPES[words["type"]][0]
        words["n"] = self._elements(size)
        words["times"] = self._times(words["n"] * size) if how != "p" else lot.choice((1, 1, 3))
        if what in ROOTED:
            words["root"] = lot.randint(0, 7)
            if lot.random() < 0.5:
                words["walk"] = lot.choice(("round", "jump"))
            words["side"] = lot.randint(0, 1)
        if what != "bcast" and lot.random() < 0.25:
            words["inplace"] = 1
        if how == "i" and lot.random() < 0.3:
            words["freed"] = 1
        self._layouts(words, what, words["n"], size)

    def _ours(self, words, what, how):
        """Adds words that rely on guarantees of nicbarr. There are none for MPI_Ireduce between hosts, longer vectors, and
        intercommunicators."""
        lot, here = self.lot, self.ours == "node"
        reduces, own = what in REDUCTIONS, words.get("op") in OWN
        bytes_ = words.get("n", 1) * TYPES[words["type"]][0] if "type" in words else 1
        in_order = IN_ORDER_HERE if here and how == "b" else IN_ORDER
        ordered = ROUNDED + (EXCEEDED,) if how == "b" else ROUNDED
        if (reduces and words["type"] in ordered and bytes_ <= in_order and lot.random() < 0.8
                and (here or what == "allreduce" or how == "b") and not self.state.places[words["c"]]["inter"]):
            words["bits"] = 1
            if (words["type"], words["op"]) == ("MPI_DOUBLE", "MPI_SUM") and here and lot.random() < 0.5:
                words["users"] = 1
        if how == "i" and reduces and lot.random() < 0.5:
            words["locked"] = 1
        whole = bytes_ if reduces or what == "bcast" else bytes_ * MOST_RANKS
        if how == "p" and 0 < whole <= KEPT and (here or what == "bcast" or (what == "allreduce" and not own)):
            words["kept"] = 1
        if how == "i" and what == "barrier" and here:
            words["kept"] = 1

    # ---- steps ----

    def _draw_step(self):
        lot, flavour = self.lot, self.flavour
        if self.state.threads:
            self._threaded_step()
            return
        kinds = ["coll"] * (4 if flavour["messages"] else 10) + ["finish"] * 2
        if len(self.state.places) < flavour["places"]:
            kinds += ["make"] * 4
        if flavour["churn"]:
            kinds += ["make", "free", "make", "free"]
        kinds += ["idup"] * 3 if flavour["idup"] else []
        kinds += ["inter"] if flavour["inter"] else []
        kinds += ["spawn", "port"] if flavour["jobs"] else []
        kinds += ["spawn"] * 3 if flavour["jobs"] and flavour["messages"] else []
        kinds += ["attr"] if flavour["attr"] else []
        kinds += ["shift"] if flavour["shifts"] else []
        kinds += ["messages"] * 6 if flavour["messages"] else []
        kinds += ["exchange"] * 2 if flavour["messages"] else []
        kinds += ["window"] * (8 if flavour["atomics"] else 1) if flavour["windows"] else []
        kinds += ["start"] * 3 if any(r["kind"] == "p" for r in self.state.requests.values()) else []
        kinds += ["fork"] if flavour["threads"] else []
        kinds += ["pause"] if flavour["delays"] else []
        getattr(self, "_draw_" + lot.choice(kinds))()

    def _draw_coll(self):
        self._collective()

    def _draw_finish(self):
        lot, requests = self.lot, self.state.requests
        active = sorted(n for n, r in requests.items() if r["active"])
        resting = sorted(n for n, r in requests.items() if not r["active"])
        if resting and lot.random() < 0.1:
            self._add("rfree", r=lot.choice(resting))
        elif active and lot.random() < 0.2:
            self._add("test", r=lot.choice(active), times=lot.choice((1, 10, 100)))
        elif active and lot.random() < 0.8:
            self._add("wait", r=lot.choice(active), **self._how_to_wait())
        elif lot.random() < 0.5:
            self._add("waitall", **self._how_to_wait())

    def _how_to_wait(self):
        return {"by": self.lot.choice(("any", "some"))} if self.lot.random() < 0.3 else {}

    def _draw_start(self):
        resting = sorted(n for n, r in self.state.requests.items() if r["kind"] == "p" and not r["active"])
        if resting:
            self._add("start", r=self.lot.choice(resting), **({"all": 1} if self.lot.random() < 0.3 else {}))

    def _draw_make(self):
        lot, place = self.lot, self._free_place()
        if place is None:
            return
        kind = lot.choice(("dup", "dup", "split", "cgroup", "dupinfo", "create", "cart", "graph", "shared"))
        words = {"c": self._place(), "d": place}
        if kind == "split":
            words |= {"colors": lot.choice((1, 2, 2, 3, 64)), "how": lot.choice(("blocks", "cyclic")),
                      "order": lot.choice(("same", "reversed", "random")), "out": lot.choice((0, 0, 2, 3))}
        elif kind == "cart":
            words["rows"] = lot.randint(0, 1)
        elif kind == "graph":
            words["distributed"] = lot.randint(0, 1)
        elif kind in ("cgroup", "create"):
            words["both"] = lot.randint(0, 1)
            words["every"] = lot.choice((2, 3, 4))
            words["out"] = lot.randint(0, words["every"])
        elif kind == "dupinfo":
            words["key"] = lot.randint(0, 3 if self.ours else 7)  # (keys from 4 on may deselect nicbarr)
        self._add(kind, **words)

    def _free(self, place, disconnect=0.5):
        words = {"how": "disconnect"} if self.flavour["jobs"] and self.lot.random() < disconnect else {}
        if any(r.get("kept") for r in self.state.of(place)):
            words["kept"] = 1
        self._add("free", c=place, **words)

    def _draw_free(self):
        self._free(self._place())

    def _draw_idup(self):
        place, request = self._free_place(), self._free_request()
        if place is None or request is None:
            self._add("waitall")
            return
        parent = self._place()
        if not self._add("idup", c=parent, d=place, r=request):
            return
        for _ in range(self.lot.randint(0, 6)):
            self._collective("b", self.lot.choice((parent, parent, self._place())))
        if self.lot.random() < 0.7 and self._add("wait", r=request) and self.lot.random() < 0.7:
            self._collective(None, place)
            self._add("free", c=place)

    def _draw_inter(self, **words):
        place = self._free_place()
        if place is None:
            return
        if self.lot.random() < 0.6:
            self._add("inter", c=self._place(), d=place, left=self.lot.randint(0, 3), **words)
        else:
            inters = sorted(p for p, what in self.state.places.items() if what["inter"])
            if inters:
                self._add("merge", c=self.lot.choice(inters), d=place, turned=self.lot.randint(0, 1))

    def _draw_port(self):
        self._draw_inter(how="port")

    def _draw_spawn(self):
        lot, place, spawned = self.lot, self._free_place(), self.state.spawned
        words = {"n": lot.randint(2 if self.flavour["messages"] else 1, 3), "first": SPAWNED + len(spawned),
                 "by": lot.choice((0, 0, 1, *sorted(spawned)))}
        if place is None or len(spawned) + words["n"] > MOST_SPAWNED:
            return
        if not self._add("spawn", c=self._place(), d=place, **words):
            return
        if self.flavour["messages"]:
            for _ in range(lot.randint(1, 3)):
                self._draw_messages(lot.choice((0, place)), lot.random() < 0.8)
            if lot.random() < 0.7:
                self._free(place, 0.9)
                return
        if lot.random() < 0.7:
            merged = self._free_place()
            if merged is not None and self._add("merge", c=place, d=merged, turned=lot.randint(0, 1)):
                for _ in range(lot.randint(0, 6)):
                    self._collective(None, merged)
                if lot.random() < 0.5:
                    self._free(place)

    def _draw_attr(self):
        self._add("attr", c=self._place())

    def _draw_shift(self):
        request = self._free_request()
        if request is not None:
            self._add("shift", c=self._place(), r=request, by=self.lot.randint(0, 7),
                      n=self.lot.choice((0, 1, 8, 100, 5000, 100000)))

    def _draw_messages(self, place=None, late=False):
        """Draws a step `messages`. If `late` is set, it has many messages, which a process receives late."""
        lot, threaded = self.lot, self.state.threads
        bytes_, times = lot.choice(MESSAGES[2:5] if late else MESSAGES)
        type_ = lot.choice(("MPI_BYTE", "MPI_BYTE", "MPI_INT", "MPI_DOUBLE", "MPI_SHORT"))
        words = {"how": "b" if late else lot.choice("bbbi"), "c": self._place() if place is None else place,
                 "type": type_, "n": bytes_ // TYPES[type_][0],
                 "times": times if late else lot.choice((1, 8, times, times))}
        if words["how"] == "i":
            words["r"] = self._free_request(words["c"])
            if words["r"] is None:
                return self._add("join" if threaded else "waitall")
        modes = "iiIsSpP" if threaded or words["how"] == "i" else "iiIsSpPbB"
        words["modes"] = "".join(lot.choice(modes) for _ in range(3))
        words["calls"] = "".join(lot.choice("iiprPIMN") for _ in range(3))
        if lot.random() < 0.6:
            words["wild"] = lot.choice("s" if words["how"] == "i" else ("s", "t", "st", "stb"))
        if lot.random() < 0.4:
            words["send"], words["recv"] = lot.choice("PGNHRVAx"), lot.choice("PGNHRVAx")
        if self.flavour["away"] and words["how"] == "b" and not threaded and lot.random() < 0.4:
            words |= {"away": lot.choice((2, 3, 4, -3, -4)), "times": times}
        if self.flavour["truncated"] and words["how"] == "b" and lot.random() < 0.3:
            # With pml/cm of Open MPI 4.1, persistent receives complete without MPI_ERR_TRUNCATE.
            words |= {"short": 1, "calls": words["calls"].replace("p", "i")}
        if late or lot.random() < 0.4:
            words["slow"] = lot.choice((-2, 0, 1, 2))
            words["us"] = lot.choice((50000, 200000) if late else (100, 2000, 50000, 200000))
        return self._add("messages", **words)

    def _draw_exchange(self, place=None):
        lot = self.lot
        bytes_, times = lot.choice(MESSAGES)
        type_ = lot.choice(sorted(TYPES))
        words = {"how": lot.choice("br"), "c": self._place() if place is None else place, "type": type_,
                 "n": bytes_ // TYPES[type_][0], "times": lot.choice((1, 8, min(times, 60)))}
        if lot.random() < 0.5 and type_ not in MIXED:
            words["send"], words["recv"] = lot.choice("PGNHRVAx"), lot.choice("PGNHRVAx")
        self._delay(words)
        return self._add("exchange", **words)

    def _draw_window(self):
        lot = self.lot
        type_ = lot.choice(WINDOW_TYPES)
        bytes_ = lot.choice((0, 8, 100, 1000, 1000, 20000, 20000, 200000, 2000000))
        words = {"c": self._place(), "made": lot.choice("cad"), "type": type_, "n": bytes_ // TYPES[type_][0],
                 "parts": lot.choice((1, 4, 12) if bytes_ <= 1000 else (1, 2)),
                 "sync": "".join(lot.choice("FGSEA") for _ in range(3)), "times": lot.choice((1, 1, 3, 6))}
        if lot.random() < 0.5:
            words["send"], words["recv"] = lot.choice("PGNHRVAx"), lot.choice("PGNHRV")
        if not self.flavour["atomics"]:
            words["copies"] = 1
        self._delay(words)
        self._add("window", **words)

    def _draw_pause(self):
        self._add("pause", slow=self.lot.choice((-2, 0, 1, 2)), us=self.lot.choice((100, 1000, 5000)))

    def _draw_fork(self):
        self._add("waitall")
        self._add("fork", threads=self.lot.randint(2, 4))

    def _threaded_step(self):
        lot = self.lot
        if lot.random() < 0.05:
            self._add("join")
            return
        active = sorted(n for n, r in self.state.requests.items() if r["active"] and r["c"] is not None)
        if active and lot.random() < 0.3:
            number = lot.choice(active)
            self._add("wait", r=number, c=self.state.requests[number]["c"])
            return
        place = lot.choice(sorted(self.state.places))
        more = ("messages",) * 4 + ("exchange",) if self.flavour["messages"] else ()
        kind = lot.choice((None,) * 8 + ("dup", "split", "free", "shift") + more)
        child, request = self._free_place(place), self._free_request(place)
        if kind in ("dup", "split") and child is not None:
            self._add(kind, c=place, d=child, **({"colors": 2, "how": "cyclic"} if kind == "split" else {}))
        elif kind == "free":
            self._add("free", c=place)
        elif kind == "shift" and request is not None:
            self._add("shift", c=place, r=request, by=1, n=lot.choice((1, 100, 5000)))
        elif kind == "messages":
            self._draw_messages(place)
        elif kind == "exchange":
            self._draw_exchange(place)
        else:
            self._collective(lot.choice("bbi"), place)

    def _warm_up(self):
        """Adds some calls, so that algorithms are already chosen when the program continues."""
        for _ in range(self.lot.randint(0, 3)):
            self._collective("b", 0)
