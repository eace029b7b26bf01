#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Python program (mpi4py) that has to give the same result with and without the component.

All processes follow one plan, a mix of collectives and barriers of all kinds on communicators that
come and go; every value that a process receives goes into its digest, and rank 0 prints the digest
of the digests: "digest np=N seed=S SHA256". Two runs with equal np, seed and steps must print the
same line. All data are integers, so that the order in which a reduction adds does not matter.

It also looks at the barriers themselves, by the same means as the C tests: counters in shared
memory, one for each process and communicator, that must all have been raised when a barrier is
left. NICBARR_TEST_BREAK=1 in the environment leaves the barriers out, to see that this can fail.

Python loads MPI with RTLD_LOCAL, which is why this is a test of its own: a component that is not
linked with what it uses is not found here.

usage: mpirun -np N /usr/bin/python3 mpi4py_same.py [--seed S] [--steps N] [--watchdog SECONDS]
       [--ledger FILE]
"""
import argparse
import array
import hashlib
import mmap
import os
import random
import signal
import sys
import time

from mpi4py import MPI

options = argparse.ArgumentParser(description="see the head of the file")
options.add_argument("--seed", type=int, default=1)
options.add_argument("--steps", type=int, default=600)
options.add_argument("--watchdog", type=int, default=300)
options.add_argument("--ledger", help="file to share the counters by, for processes on several hosts")
options = options.parse_args()
signal.alarm(options.watchdog)  # SIGALRM ends the process, and with it the job

world = MPI.COMM_WORLD
me, size = world.Get_rank(), world.Get_size()
plan = random.Random(options.seed)  # what all agree on
mine = random.Random(options.seed * 1000 + me + 1)  # my own pauses
digest = hashlib.sha256()
broken = os.environ.get("NICBARR_TEST_BREAK", "0") != "0"

SLOTS = 4096

def share():
    """The counters of all processes, and what is to be freed at the end."""
    if options.ledger is None:
        window = MPI.Win.Allocate_shared(8 * SLOTS, 8, comm=world)
        parts = [memoryview(window.Shared_query(rank)[0]) for rank in range(size)]
        return [part.cast("B").cast("q") for part in parts], window.Free
    with open(options.ledger, "ab") as file:
        file.truncate(8 * SLOTS * size)
    with open(options.ledger, "r+b") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 8 * SLOTS * size)).cast("q")
    return [whole[rank * SLOTS : (rank + 1) * SLOTS] for rank in range(size)], whole.release


counters, free_counters = share()
counters[me][:] = memoryview(array.array("q", [0] * SLOTS))
world.allreduce(0)  # nobody counts before all have cleared


def fail(message):
    text = f"FAIL mpi4py_same: rank {me} of {size}: {message} (seed {options.seed})"
    print(text, file=sys.stderr, flush=True)
    world.Abort(1)


def take(value):
    """What I received becomes part of my digest."""
    digest.update(repr(value).encode())


class Party:
    """A communicator with its ledger; comm is COMM_NULL where I am not a member."""

    slots = 0

    def __init__(self, name, comm):
        self.name, self.comm, self.entered = name, comm, 0
        self.slot, Party.slots = Party.slots, Party.slots + 1  # counted alike by all processes
        if comm != MPI.COMM_NULL:
            group, whole = comm.Get_group(), world.Get_group()
            # By the class: mpi4py 3 has a static method, mpi4py 4 one of the group.
            self.members = MPI.Group.Translate_ranks(group, list(range(group.Get_size())), whole)
            group.Free()
            whole.Free()

    def enter(self):
        self.entered += 1
        counters[me][self.slot] = self.entered

    def left(self, number, how):
        for member in self.members:
            found = counters[member][self.slot]
            if found < number:
                fail(
                    f"{self.name}: left {how} number {number}, but rank {member} has entered "
                    f"only {found}, expected at least {number}"
                )

    def barrier(self):
        self.enter()
        if not broken:
            self.comm.Barrier()
        self.left(self.entered, "Barrier")

    def ibarriers(self, n):
        requests = []
        for _ in range(n):
            self.enter()
            if not broken:
                requests.append(self.comm.Ibarrier())
        MPI.Request.Waitall(requests)
        self.left(self.entered, "Ibarrier + Waitall")


def make(kind):
    """A new communicator out of WORLD."""
    if kind == "dup":
        comm = world.Dup()
    elif kind == "split":
        colours = plan.randint(1, 3)
        order = plan.choice((1, -1))
        comm = world.Split(me % colours, order * me)
    elif kind == "some":
        left_out = plan.randrange(size)
        comm = world.Split(MPI.UNDEFINED if me == left_out else 0, me)
    elif kind == "group":
        last = plan.randrange(size)
        whole = world.Get_group()
        group = whole.Incl(list(range(last + 1)))
        comm = world.Create_group(group) if me <= last else MPI.COMM_NULL
        group.Free()
        whole.Free()
    else:
        comm = world.Create_cart(MPI.Compute_dims(size, 2), reorder=True)
    return Party(kind, comm)


def use(party, kind, value, pause):
    comm = party.comm
    if comm == MPI.COMM_NULL:
        return
    if pause:
        time.sleep(mine.random() * 0.001)
    rank, n = comm.Get_rank(), comm.Get_size()
    if kind == "barrier":
        party.barrier()
    elif kind == "ibarriers":
        party.ibarriers(1 + value % 5)
    elif kind == "bcast":
        mine_to_send = {"value": value, "from": rank} if rank == value % n else None
        take(comm.bcast(mine_to_send, root=value % n))
    elif kind == "allreduce":
        take(comm.allreduce(value * (rank + 1)))
    elif kind == "Allreduce":
        sent = array.array("q", [value + i * rank for i in range(1000)])
        result = array.array("q", [0] * 1000)
        comm.Allreduce(sent, result, op=MPI.MAX)
        take(result.tolist())
    elif kind == "gather":
        take(comm.gather((rank, value), root=value % n))
    elif kind == "alltoall":
        take(comm.alltoall([value + 100 * rank + i for i in range(n)]))
    elif kind == "scan":
        take(comm.scan(value + rank))
    else:
        sent = bytes([rank]) * (value % 200000)  # eager or by rendezvous
        got = comm.sendrecv(sent, dest=(rank + 1) % n, source=(rank - 1) % n)
        take((len(got), sum(got)))


SHAPES = ("dup", "split", "some", "group", "cart")
USES = ("barrier", "barrier", "barrier", "ibarriers", "bcast", "allreduce", "Allreduce", "gather")
USES += ("alltoall", "scan", "message")
parties = [Party("WORLD", world), Party("SELF", MPI.COMM_SELF)] + [make(shape) for shape in SHAPES]
for step in range(options.steps):
    if plan.random() < 0.08 and Party.slots < SLOTS:
        place = plan.randrange(2, len(parties))
        if parties[place].comm != MPI.COMM_NULL:
            parties[place].comm.Free()
        parties[place] = make(plan.choice(SHAPES))
    party, kind, value = plan.choice(parties), plan.choice(USES), plan.randrange(1 << 20)
    use(party, kind, value, mine.random() < 0.1)

digests = world.gather(digest.hexdigest())
if me == 0:
    together = hashlib.sha256(" ".join(digests).encode()).hexdigest()
    print(f"digest np={size} seed={options.seed} {together}", flush=True)
for party in parties[2:]:
    if party.comm != MPI.COMM_NULL:
        party.comm.Free()
for counter in counters:
    counter.release()
free_counters()
