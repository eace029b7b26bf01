#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Python programs (mpi4py) must give the same results with and without the component.

All processes follow one plan, a mix of collectives and barriers of all kinds on communicators that
are created and freed. Every value that a process receives goes into its digest, and rank 0 prints
the digest of the digests: "digest np=N seed=S SHA256". Two runs with equal np, seed and steps must
print the same line. All data are integers, so that the order of additions does not matter.

The barriers are also checked like in the C tests: counters in shared memory, one for each process
and communicator, must all have been incremented when a process leaves a barrier.
NICBARR_TEST_BREAK=1 in the environment omits the barriers, which shows that this can fail.

Python loads MPI with RTLD_LOCAL, so that a component that is not linked with its libraries cannot
be loaded. That is the reason for this test.

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
options.add_argument("--ledger", help="file for the shared counters, for processes on several hosts")
options = options.parse_args()
signal.alarm(options.watchdog)  # SIGALRM ends the process, and with it the job

world = MPI.COMM_WORLD
me, size = world.Get_rank(), world.Get_size()
plan = random.Random(options.seed)  # the same on all processes
mine = random.Random(options.seed * 1000 + me + 1)  # private pauses
digest = hashlib.sha256()
broken = os.environ.get("NICBARR_TEST_BREAK", "0") != "0"

SLOTS = 4096

def share():
    """The counters of all processes, and the function that frees them."""
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
world.allreduce(0)  # no process counts before all have cleared


def fail(message):
    text = f"FAIL mpi4py_same: rank {me} of {size}: {message} (seed {options.seed})"
    print(text, file=sys.stderr, flush=True)
    world.Abort(1)


def take(value):
    """Add a received value to the digest."""
    digest.update(repr(value).encode())


class Checked:
    """A communicator with its ledger; comm is COMM_NULL if this process is not a member."""

    slots = 0

    def __init__(self, name, comm):
        self.name, self.comm, self.entered = name, comm, 0
        self.slot, Checked.slots = Checked.slots, Checked.slots + 1  # the same on all processes
        if comm != MPI.COMM_NULL:
            group, whole = comm.Get_group(), world.Get_group()
            # Called through the class, as it is a static method in mpi4py 3, and one of the group in mpi4py 4.
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
    """A new communicator made of WORLD."""
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
    return Checked(kind, comm)


def use(checked, kind, value, pause):
    comm = checked.comm
    if comm == MPI.COMM_NULL:
        return
    if pause:
        time.sleep(mine.random() * 0.001)
    rank, n = comm.Get_rank(), comm.Get_size()
    if kind == "barrier":
        checked.barrier()
    elif kind == "ibarriers":
        checked.ibarriers(1 + value % 5)
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
all_checked = [Checked("WORLD", world), Checked("SELF", MPI.COMM_SELF)] + [make(shape) for shape in SHAPES]
for step in range(options.steps):
    if plan.random() < 0.08 and Checked.slots < SLOTS:
        place = plan.randrange(2, len(all_checked))
        if all_checked[place].comm != MPI.COMM_NULL:
            all_checked[place].comm.Free()
        all_checked[place] = make(plan.choice(SHAPES))
    checked, kind, value = plan.choice(all_checked), plan.choice(USES), plan.randrange(1 << 20)
    use(checked, kind, value, mine.random() < 0.1)

digests = world.gather(digest.hexdigest())
if me == 0:
    together = hashlib.sha256(" ".join(digests).encode()).hexdigest()
    print(f"digest np={size} seed={options.seed} {together}", flush=True)
for checked in all_checked[2:]:
    if checked.comm != MPI.COMM_NULL:
        checked.comm.Free()
for counter in counters:
    counter.release()
free_counters()
