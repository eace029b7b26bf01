/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmyr: barriers that NICs play, for programs without MPI.
 *
 * A process opens a *host*: a NIC of this machine, and memory that it shares with the other
 * processes of its node. Then all members of a group, on any hosts, create a *barrier* together.
 * They say that they have come, and the NICs play the rest among themselves. Arriving and waiting
 * are separate calls. So a process may compute in between (a fuzzy barrier), and any number of
 * epochs may be under way. Epochs are complete in order.
 *
 * The NICs find out about each other by the program's own connections: it lends a function that
 * hands a few bytes from all to all. docs/example.c of nicbarr is a whole program.
 *
 * Errors. What can fail returns false, and writes a line into why[MYR_WHY] that says what is wrong
 * and what to do. Nothing is left to be given back then. What hosts and NICs report later, and
 * nobody waits for, goes to stderr.
 *
 * Threads. Different threads may use different hosts at the same time. Of one host, one thread at a
 * time calls any function.
 *
 * Binary interface. It is that of libmyr.so.0: functions stay, and no structure changes its layout.
 * All members of a barrier use libmyr (or nicbarr) of one wire format. myr_barrier_create() refuses
 * another one.
 */
#ifndef MYR_MYR_H
#define MYR_MYR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum { MYR_WHY = 256 }; /* bytes of a line that says why something failed, its end included */

/* ---- a host ---- */

struct myr_host;

/* All 0 is a good choice: a soft NIC, and each process is a node of its own. */
struct myr_options {
    /*
     * Which NIC: "soft" (UDP packets; NULL is the same), "daemon" (that of the user's myrd),
     * "kernel" (the kernel's receive path, where myrd --kernel runs on all nodes) or "verbs" (an
     * RDMA card).
     */
    const char *nic;
    /*
     * Its settings, as "NAME=VALUE NAME=VALUE"; NULL: none. They are the parameters coll_nicbarr_*
     * of nicbarr(7) that are of this NIC: for the soft one, network (networks or interfaces, best
     * first: "10.0.0.0/8,fd00::/64,eth1"; all but loopback), port (UDP, 0 to 65535; 0: any that is
     * free) and thread (0 or 1).
     */
    const char *settings;
    /*
     * Processes that give the same folder are one node: they meet in shared memory, and share the
     * NIC. It is a folder of this user's and this machine's, for these processes alone. NULL: a
     * process is a node of its own. (A daemon's NIC makes nodes by itself.)
     */
    const char *folder;
    /* MiB that the node's memory may grow to, 1 to 1024; 0: 64. The first process's counts. */
    uint32_t memory;
};

/*
 * Open a host. `options` are read now and not kept. It fails where there is no such NIC or network,
 * where a setting is none of this NIC's, and where memory or rights are lacking. A process may open
 * several; after fork(), a child opens its own.
 */
bool myr_host_open(const struct myr_options *options, struct myr_host **host, char *why);

/* Close it, after all its barriers were freed. */
void myr_host_close(struct myr_host *host);

/* ---- a barrier ---- */

struct myr_barrier;

/*
 * Hand `bytes` bytes at `mine` to all members, and put what each has handed into `all`, in the
 * order of ranks: all[size * bytes]. It returns when it has everybody's. False: it could not. All
 * members call it the same number of times, with equal `bytes` (at most 512). One call carries the
 * secret that packets are signed with: whoever reads it can forge them.
 */
typedef bool (*myr_allgather_fn)(void *context, const void *mine, void *all, size_t bytes);

/* The members of a barrier. All members give the same size, and each a rank of its own. */
struct myr_members {
    uint32_t size, rank;        /* 1 to 4096; 0 to size - 1 */
    myr_allgather_fn allgather; /* is called while the barrier is created and freed */
    void *context;              /* handed to it; must be there until the barrier is freed */
};

/*
 * Create a barrier, together: all members call this, with the same `algorithm` and the same kind of
 * NIC. Algorithms are "tree:N" (gather and broadcast over a tree, each node with N children),
 * "dissemination:N" (N messages of each node a step) and "pairwise". NULL: "dissemination:1", which
 * is good for few nodes. It fails on all members alike, with the same or another reason, unless one
 * of them is out of memory at the very start. `members` is read now and not kept.
 */
bool myr_barrier_create(struct myr_host *host, const struct myr_members *members,
                        const char *algorithm, struct myr_barrier **barrier, char *why);

/*
 * Free a barrier, together: all members call this after the last epoch that they have arrived in.
 * It returns when all have called it, as until then one may miss a message of this member's NIC. If
 * the barrier is over, nobody waits for anybody.
 */
void myr_barrier_free(struct myr_barrier *barrier);

/* Arrive in the next epoch, which is returned. They are counted from 1 on, and wrap around. */
uint32_t myr_barrier_arrive(struct myr_barrier *barrier);

enum myr_outcome {
    MYR_DONE = 0, /* all members have arrived in the epoch */
    MYR_LATE = 1, /* not yet */
    MYR_OVER = 2  /* the barrier is over: this epoch and later ones never complete */
};

/* How is it with an epoch? Runs the NIC for a moment if it is not complete. */
enum myr_outcome myr_barrier_test(struct myr_barrier *barrier, uint32_t epoch);

/* Wait until it is complete, for at most `timeout_us` microseconds (0: for ever). */
enum myr_outcome myr_barrier_wait(struct myr_barrier *barrier, uint32_t epoch, uint32_t timeout_us);

/* A node that is missing. */
struct myr_missing {
    uint32_t rank;      /* of its first process */
    uint32_t silent_ms; /* since its NIC last said that its processes are late; UINT32_MAX: never */
};

/*
 * For whom does this node wait in the last epoch that it has arrived in? Lists at most `most`
 * nodes, and returns how many. 0 also where processes of this node have not arrived. A NIC that
 * waits asks those that are missing several times a second. So one that is silent for seconds may
 * be gone.
 */
uint32_t myr_barrier_missing(struct myr_barrier *barrier, struct myr_missing *list, uint32_t most);

/* Wait no longer for the node of process `rank`: the barrier is over, on all nodes that can be
 * reached. */
void myr_barrier_give_up(struct myr_barrier *barrier, uint32_t rank);

/* Is the barrier over because a node is missing? If so, true with the rank of its first process. If
 * it is over and this is false, this node's NIC is of no use any more. */
bool myr_barrier_failed(const struct myr_barrier *barrier, uint32_t *rank);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
