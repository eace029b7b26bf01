/* SPDX-License-Identifier: BSD-3-Clause */
/* libmyr: barriers that run on NICs, for programs without MPI.
 *
 * A process opens a *host*: a NIC of this machine, and memory that it shares with the other
 * processes of its node. All members of a group, on any hosts, then create a *barrier*
 * collectively. The processes arrive in the barrier, and the NICs exchange its messages. Arriving
 * and waiting are separate calls, so a process may compute in between (a fuzzy barrier), and any
 * number of epochs may be outstanding. Epochs complete in order.
 *
 * The NICs exchange their addresses over the program's own connections, so the program supplies an
 * allgather function for a few bytes. docs/example.c of nicbarr is a complete program.
 *
 * Errors. A function that can fail returns false and writes an error message into why[MYR_WHY],
 * which describes the problem and how to solve it. After a failure there is nothing to free. Errors
 * that hosts and NICs find later, outside of any call, are written to stderr.
 *
 * Threads. Different threads may use different hosts at the same time. Only one thread at a time
 * may call functions of one host.
 *
 * ABI. The ABI of libmyr.so.0 is stable: functions are not removed, and no structure changes its
 * layout. All members of a barrier must use a libmyr (or nicbarr) of the same wire format;
 * myr_barrier_create() refuses any other. */
#ifndef MYR_MYR_H
#define MYR_MYR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum { MYR_WHY = 256 }; /* size of an error message in bytes, with its terminating 0 */

/* ---- a host ---- */

struct myr_host;

/* The options of a host. All zeroes are sensible defaults: a soft NIC, and each process is a node
 * of its own. */
struct myr_options {
    /* The kind of NIC: "soft" (UDP; the same as NULL), "daemon" (the soft NIC of the user's myrd),
     * "kernel" (the kernel's receive path; myrd --kernel must run on all nodes) or "verbs" (an RDMA
     * NIC). */
    const char *nic;
    /* The NIC's settings, as "NAME=VALUE NAME=VALUE", or NULL. They are the parameters
     * coll_nicbarr_* of nicbarr(7) for this kind of NIC. The soft NIC has the settings network
     * (networks or interfaces in order of preference, such as "10.0.0.0/8,fd00::/64,eth1"; default:
     * all but loopback and point-to-point ones), port (the UDP port, 0 to 65535; 0: any free one)
     * and thread (0 or 1). */
    const char *settings;
    /* Processes that pass the same directory form a node: they share memory and the NIC. The
     * directory must be on this machine, belong to this user, and be used by these processes only.
     * With NULL, the process is a separate node. (With "daemon", the daemon determines which
     * processes form a node.) */
    const char *dir;
    /* Limit of the node's shared memory in MiB, 1 to 1024; 0 means 64. The value of the node's
     * first process applies. */
    uint32_t memory;
};

/* Open a host. `options` are read during the call only. The call fails if there is no such NIC or
 * network, if `settings` contains a setting that this kind of NIC does not have, or if memory or
 * permissions are lacking. A process may open several hosts. After fork(), a child must open its
 * own host. */
bool myr_host_open(const struct myr_options *options, struct myr_host **host, char *why);

/* Close a host, after all its barriers were freed. */
void myr_host_close(struct myr_host *host);

/* ---- a barrier ---- */

struct myr_barrier;

/* An allgather: send `bytes` bytes at `mine` to all members, and store each member's bytes in
 * `all`, in the order of ranks: all[size * bytes]. It returns true when `all` is complete, and
 * false if it has failed. All members call it the same number of times, with equal `bytes` (at most
 * 512). One call carries the secret that authenticates the barrier's packets, so anyone who can
 * read that call's data can forge packets. */
typedef bool (*myr_allgather_fn)(void *context, const void *mine, void *all, size_t bytes);

/* The members of a barrier. All members pass the same size, and each passes a different rank. */
struct myr_members {
    uint32_t size, rank;        /* size: 1 to 4096; rank: 0 to size - 1 */
    myr_allgather_fn allgather; /* called while the barrier is created and freed */
    void *context;              /* argument of `allgather`; valid until the barrier is freed */
};

/* Create a barrier; collective: all members call this, with the same `algorithm` and the same kind
 * of NIC. Algorithms are "tree:N" (gather and broadcast over a tree, in which each node has N
 * children), "dissemination:N" (each node sends N messages per step) and "pairwise". NULL means
 * "dissemination:1", which suits small numbers of nodes. If the call fails on one member, it fails
 * on all, perhaps with different error messages; the only exception is a member that has no memory
 * left at the very start. `members` is read during the call only. */
bool myr_barrier_create(struct myr_host *host, const struct myr_members *members,
                        const char *algorithm, struct myr_barrier **barrier, char *why);

/* Free a barrier; collective: all members call this after the last epoch that they have arrived in.
 * The call returns when all members have called it, because until then another member may still
 * need a message from this member's NIC. If the barrier is over, the call returns without
 * waiting. */
void myr_barrier_free(struct myr_barrier *barrier);

/* Arrive in the next epoch, and return its number. Epochs are numbered from 1 and wrap around. */
uint32_t myr_barrier_arrive(struct myr_barrier *barrier);

enum myr_outcome {
    MYR_DONE = 0, /* all members have arrived in the epoch */
    MYR_LATE = 1, /* some members have not arrived yet */
    MYR_OVER = 2  /* the barrier is over: this epoch and later ones never complete */
};

/* Test an epoch. Runs the NIC for a moment if the epoch is not complete. */
enum myr_outcome myr_barrier_test(struct myr_barrier *barrier, uint32_t epoch);

/* Wait until an epoch is complete, for at most `timeout_us` microseconds (0: no timeout). */
enum myr_outcome myr_barrier_wait(struct myr_barrier *barrier, uint32_t epoch, uint32_t timeout_us);

/* A node that has not arrived. */
struct myr_missing {
    uint32_t rank;      /* rank of the node's first process */
    uint32_t silent_ms; /* milliseconds since its NIC last reported that its processes are late;
                           UINT32_MAX: it has never done so */
};

/* List up to `most` nodes that this node waits for in the last epoch in which it has arrived.
 * Returns the number of nodes listed, which is also 0 if some processes of this node have not
 * arrived. While a NIC waits, it polls the missing nodes several times a second, so a node that has
 * been silent for seconds may be dead. */
uint32_t myr_barrier_missing(struct myr_barrier *barrier, struct myr_missing *list, uint32_t most);

/* Stop waiting for the node of process `rank`. The barrier is then over on all nodes that can be
 * reached. */
void myr_barrier_give_up(struct myr_barrier *barrier, uint32_t rank);

/* Report whether the barrier is over because a node is missing; `*rank` is then the rank of its
 * first process. If the barrier is over and this returns false, this node's NIC is unusable. */
bool myr_barrier_failed(const struct myr_barrier *barrier, uint32_t *rank);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
