# SPDX-License-Identifier: BSD-3-Clause
"""Draws the conditions of a program: processes, hosts, parameters, an odd rank, a tuning cache."""

import json
import os
import time

from playing import RELEASE, Surroundings

ODD = (
    ("OMPI_MCA_coll", "^nicbarr"), ("OMPI_MCA_coll", "^nicbarr"),
    ("OMPI_MCA_coll_nicbarr_priority", "-1"), ("OMPI_MCA_coll_nicbarr_nic", "none"),
    ("OMPI_MCA_coll_nicbarr_tune_after", "5"), ("OMPI_MCA_coll_nicbarr_tune_watch", "0"),
    ("OMPI_MCA_coll_nicbarr_tune_share", "50"),
    ("OMPI_MCA_coll_nicbarr_allreduce", "openmpi"), ("OMPI_MCA_coll_nicbarr_bcast", "openmpi"),
    ("OMPI_MCA_coll_nicbarr_nonblocking", "0"), ("OMPI_MCA_coll_nicbarr_tune_budget", "0"),
    ("OMPI_MCA_coll_nicbarr_join_after", "7"), ("OMPI_MCA_coll_nicbarr_memory", "1"),
    ("OMPI_MCA_coll_nicbarr_algorithm", "openmpi"), ("OMPI_MCA_coll_nicbarr_cache", "none"),
)
ALGORITHMS = ("counter", "flags:64", "tree:2", "dissemination:1", "pairwise", "openmpi")
SHARED = ("allreduce", "reduce", "allgather", "gather")


# The components that carry messages, and parameters that make them reach their limits. With `beside` other components
# carry messages, and btl/myr serves windows.
CARRIERS = {"btl": {"pml": "ob1", "btl": "myr,self"}, "mtl": {"pml": "cm", "mtl": "myr", "osc": "pt2pt,sm,rdma"},
            "beside": {"pml": "ob1", "btl": "self,vader,tcp,myr" if RELEASE == 4 else "self,sm,tcp,myr"}, "usual": {}}
NARROW = {
    "btl": ({"btl_myr_tokens": "8", "btl_myr_buffers": "8"}, {"btl_myr_tokens": "8"}, {"btl_myr_inlet": "0"},
            {"btl_myr_flags": "send"},
            {"btl_myr_eager_limit": "256", "btl_myr_far_eager_limit": "300", "btl_myr_max_send_size": "1000"}),
    "mtl": ({"mtl_myr_buffers": "8"}, {"mtl_myr_buffers": "8", "mtl_myr_direct": "0"}, {"mtl_myr_messages": "60"},
            {"mtl_myr_direct": "0"}, {"mtl_myr_runner": "1"}),
    "beside": ({"btl_myr_flags": "send"}, {"btl_myr_inlet": "0"}), "usual": ({},),
}


def draw_messages(lot, options):
    """Returns parameters if the program is to send messages, otherwise None."""
    if options.messages == "none" or (options.messages == "some" and lot.random() < 0.6):
        return None
    some = ("btl", "btl", "mtl", "mtl", "beside", "usual")
    carrier = lot.choice(some) if options.messages == "some" else options.messages
    if options.plain:
        carrier = "usual"
    return CARRIERS[carrier] | (lot.choice(NARROW[carrier]) if lot.random() < 0.5 and not options.tame else {})


def forced(lot, several):
    """Parameters that force algorithms."""
    mca = {}
    if lot.random() < 0.5:
        mca["coll_nicbarr_algorithm"] = lot.choice(ALGORITHMS[2:] if several else ALGORITHMS)
    for name in SHARED:
        if lot.random() < 0.4:
            mca[f"coll_nicbarr_{name}"] = lot.choice(("exchange", "openmpi"))
    for name in ("bcast", "scatter"):
        if lot.random() < 0.4:
            mca[f"coll_nicbarr_{name}"] = lot.choice(("ring", "openmpi"))
    return mca


def hosts_of(lot, options):
    """Draws the number of hosts (0: no nethosts), the number of processes and the network."""
    wanted = options.hosts
    if wanted == "none" or (wanted == "some" and lot.random() < 0.6):
        return 0, lot.choice((2, 2, 3, 4, 4, 5, 8)), "soft"
    hosts, each = lot.choice(((2, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2)))
    network = lot.choice(("soft", "soft", "kernel", "loss")) if wanted == "some" else wanted
    return hosts, hosts * each, network


def draw_surroundings(lot, options, caches):
    hosts, np, network = hosts_of(lot, options)
    around = Surroundings(np=np, hosts=hosts, network=network)
    if network == "killed" and lot.random() < 0.5:
        around.mca["coll_nicbarr_nic"] = "kernel"
    if options.plain:
        around.mca["coll"] = "^nicbarr"
        return around
    how = lot.random()
    if how < 0.6:
        around.mca |= {"coll_nicbarr_tune_after": "3", "coll_nicbarr_tune_budget": "2", "coll_nicbarr_join_after": "5"}
    elif how < 0.7:
        around.mca |= {"coll_nicbarr_tune_after": str(lot.choice((0, 1, 10)))}
    if lot.random() < 0.25:
        around.mca |= {"coll_nicbarr_tune_share": lot.choice(("1", "30"))}
    if lot.random() < 0.25:
        around.mca |= forced(lot, hosts > 1)
    if options.tame:
        return around
    if lot.random() < 0.1:
        around.mca["coll_nicbarr_memory"] = "1"
    # This enables coll/monitoring, which intercepts the calls of nicbarr. (6.0.0rc2 crashes with it and with coll/sync
    # even without nicbarr, and its coll/xhc returns wrong reductions of pairs with gaps.)
    if lot.random() < 0.08 and RELEASE == 4:
        around.mca["pml_monitoring_enable"] = "1"
    if lot.random() < 0.3:
        around.odd.append((lot.randrange(np),) + lot.choice(ODD))
    if lot.random() < 0.3:
        around.cache = caches.draw(lot)
    return around


class Caches:
    """Tuning caches that earlier programs of this run have left, with random changes."""

    KEPT = 12

    def __init__(self, scratch):
        self.scratch = scratch

    def place(self, seed):
        return os.path.join(self.scratch, f"{seed % self.KEPT}.json")

    def draw(self, lot):
        names = sorted(os.listdir(self.scratch))
        if not names:
            return None
        try:
            with open(os.path.join(self.scratch, lot.choice(names))) as file:
                cache = [json.loads(line) for line in file]
        except (OSError, ValueError):
            return None
        if lot.random() < 0.8:
            change(cache, lot)
        return json.dumps(cache, separators=(",", ":"))


def change(cache, lot):
    """Makes a random candidate the best one, often the first, which is Open MPI, with a random confidence and age."""
    for line in cache[1:]:
        for one in line["measurements"][-1:]:
            one["confidence"] = lot.choice((0.99, 0.99, 0.5, 0.0))
            days = lot.choice((0, 0, 30, 400))
            one["when"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86400 * days))
            best = one["candidates"][0] if lot.random() < 0.3 else lot.choice(one["candidates"])
            best["us"] = [1e-3, 1e-3, 1e-3]
