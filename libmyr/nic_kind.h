/* SPDX-License-Identifier: BSD-3-Clause */
/* A kind of NIC is a table with everything that the host needs to use such a NIC.
 *
 * Each kind, such as the soft NIC or the kernel NIC, executes schedules between nodes, and is
 * described by one static table. Code that uses NICs iterates over a list of these tables, and no
 * other code refers to a kind by name. (The transports of UCX, uct, have the same structure: a
 * table with capabilities, addresses, and functions to connect.)
 *
 * A process opens a NIC of each available kind, sends the NIC's name (plain data, nic_name.h) to
 * the other processes, and joins groups on the NIC. Joining has two phases:
 * - prepare() sets up the node's part of the group. It writes the data that the other nodes need
 *   (keys of remote memory, queue pairs) to a blob, which the caller sends to all nodes.
 * - connect() receives the blobs of all nodes and makes the group ready: the group may receive from
 *   then on, and may start as soon as all nodes have connected.
 *
 * If the nodes need not exchange such data, the kind has no prepare(), and connect() sets up
 * everything.
 *
 * A single thread opens and closes a NIC, while no other thread uses it. Only one thread at a time
 * may join or leave groups. */
#ifndef MYR_NIC_KIND_H
#define MYR_NIC_KIND_H

#include "firmware/counters.h"
#include "libmyr/groups/nic_group.h"
#include "libmyr/option.h"
#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

/* Capabilities of a NIC: bits of struct myr_caps.flags. */
enum myr_cap {
    MYR_PROGRESSES_ALONE = 1, /* the NIC makes progress even if no host calls it */
    MYR_SHARES_SEGMENT = 2,   /* a node's processes must share the job's segment */
    MYR_DEAR_GROUPS = 4,      /* opening a group takes milliseconds, so only few are worth trying */
};

struct myr_caps {
    uint32_t flags;
    uint32_t steps, sends, waits; /* the longest schedule that it can execute */
    uint32_t blob;                /* size of prepare's blob; 0 if there is no prepare */
    uint32_t buffer;              /* bytes of data that a group can gather; 0 if none */
};

enum { MYR_BLOB_MOST = 264 /* bytes */ };

/* The context in which a process opens its NICs. */
struct myr_site {
    struct myr_segment *segment; /* shared by the job's processes on this node */
    struct myr_waiter *waiter;   /* how they wait */
    /* Reports to the user. Level 0: always; 1: verbose. */
    void (*print)(int level, const char *line);
    /* Whether open() must return quickly, because the program waits for it. In this case open()
     * returns MYR_ERR_NOT_YET if a service does not answer immediately. A later open() without
     * `hurry` asks the service again and waits for the answer. */
    bool hurry;
    struct myr_soft_bounds bounds; /* timeouts for a process stopped in a soft NIC */
};

struct myr_nic_kind {
    const char *name;   /* the word that denotes it everywhere, as in "tree:4@soft" */
    const char *title;  /* its name in sentences: "the soft NIC" */
    const char *help;   /* a description, to help the user choose */
    const char *absent; /* advice if a node has none; NULL if there is no advice */
    /* Advice if its packets do not reach another host. */
    const char *blocked;
    /* Other names of the kind, each of which selects a variant of open(); terminated by NULL. */
    const char *const *ways;
    const struct myr_option *options; /* its parameters, terminated by a name of NULL */
    struct myr_caps caps;

    /* Opens a NIC of this kind. `way` is the name by which the user selected the variant (NULL for
     * any). `values` has a value for each of the options. The site must outlive the NIC.
     *
     * Returns MYR_ERR_NOT_THERE if this machine has no such NIC; this error is reported to the user
     * only if the user has requested the NIC. With `hurry`, returns MYR_ERR_NOT_YET if it is not
     * known yet whether there is such a NIC. */
    enum myr_status (*open)(const struct myr_site *site, const char *way,
                            const union myr_value *values, void **nic, struct myr_error *error);
    void (*close)(void *nic);

    /* Returns the address that other processes need. Names with equal keys denote the same NIC. */
    void (*query)(const void *nic, struct myr_nic_name *name);

    /* Run the NIC for a moment, and return the number of packets received. poll() is called while a
     * process waits for this NIC, and tend() otherwise, so that the NIC still answers other NICs.
     * Both are NULL if hosts need not run NICs of this kind. */
    uint32_t (*poll)(void *nic);
    uint32_t (*tend)(void *nic);

    /* Returns the counters since the NIC was opened, for all its users together. */
    void (*count)(void *nic, struct mcp_counters *counters);

    /* The two phases of joining a group. prepare() writes the blob of this node, which has
     * caps.blob bytes. connect() gets the blobs of all nodes in `blobs`, one after the other in the
     * order of nodes (NULL if there is no prepare()). `schedule_of` returns the schedule of any
     * node.
     *
     * If prepare() or connect() fails, it has undone everything. After success, the member must
     * eventually leave the group with myr_nic_group_leave(), even if connect() is never called
     * because another member has failed. */
    enum myr_status (*prepare)(void *nic, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, struct myr_nic_group *group, void *blob,
                               struct myr_error *error);
    enum myr_status (*connect)(void *nic, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, const void *blobs, struct myr_nic_group *group,
                               struct myr_error *error);
};

/* All kinds. */
extern const struct myr_nic_kind myr_soft_kind, myr_kernel_kind, myr_verbs_kind;

#endif
