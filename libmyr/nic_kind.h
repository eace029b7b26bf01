/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kind of NIC, as one table: all that the host knows of it.
 *
 * A kind is what can play schedules between nodes: the soft NIC, the kernel's, others. Each kind
 * has one static table. The user of NICs goes through one list of such tables, and nothing else
 * knows a kind by name. (UCX's transports, uct, are made like that: a table has what one can do,
 * its addresses, connecting.)
 *
 * A process opens a NIC of each kind that is there, tells the other processes its name (plain data,
 * nic.h), and joins groups on it. Joining has two phases:
 *
 *   prepare   the node's part of the group is made; what the other nodes must know of it (keys of
 *             remote memory, queue pairs) goes into a blob, which the caller carries to all nodes;
 *   connect   with everybody's blobs the group becomes ready: it may receive from now on, and may
 *             start as soon as all nodes have connected.
 *
 * Where nothing has to travel, a kind has no `prepare`, and `connect` does it all.
 *
 * Threads: one thread opens and closes, while no other one uses the NIC. One thread at a time joins
 * and leaves groups.
 */
#ifndef MYR_NIC_KIND_H
#define MYR_NIC_KIND_H

#include "firmware/counters.h"
#include "libmyr/groups/nic_group.h"
#include "libmyr/option.h"
#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

/* What a NIC can do; bits of struct myr_caps.flags. */
enum myr_cap {
    MYR_PLAYS_ALONE = 1,    /* it plays on while no host calls it */
    MYR_SHARES_SEGMENT = 2, /* a node's processes meet in the job's segment: they must share it */
    MYR_DEAR_GROUPS = 4,    /* a group takes milliseconds to open: few are worth trying */
};

struct myr_caps {
    uint32_t flags;
    uint32_t steps, sends, waits; /* the longest schedule that it can play */
    uint32_t blob;                /* bytes that prepare gives; 0: there is no prepare */
    uint32_t buffer;              /* bytes of data that a group can gather; 0: it carries none */
};

enum { MYR_BLOB_MOST = 264 /* bytes */ };

/* Where a process opens its NICs. */
struct myr_site {
    struct myr_segment *segment; /* what the job's processes on this node share */
    struct myr_waiter *waiter;   /* how they wait */
    /* What the user should read. Level 0: at once; 1: if the user wants to know more. */
    void (*say)(int level, const char *line);
    /* The program waits for this: who has to be asked, and does not answer at once, is asked again
     * by another open(), which then waits. */
    bool hurry;
    struct myr_soft_bounds
        bounds; /* how long to wait for a process that is stopped in a soft NIC */
};

struct myr_nic_kind {
    const char *name;   /* a word, which stands for it everywhere: "tree:4@soft" */
    const char *title;  /* for sentences: "the soft NIC" */
    const char *help;   /* what it is, for the user who chooses */
    const char *absent; /* what the user may look for where a node has none; NULL: nothing */
    /* What the user may look at where its packets do not come through between two hosts. */
    const char *blocked;
    /* Other words for it, each of which is a way to have it that open() knows; NULL ends them. */
    const char *const *ways;
    const struct myr_option *options; /* its parameters; a name of NULL ends them */
    struct myr_caps caps;

    /*
     * Have a NIC of this kind. `way` is the user's word for it; NULL: any way will do. `values`
     * belong to the options, one each. MYR_ERR_NOT_THERE: there is none on this machine; only a
     * user who has asked for it wants to hear of that. MYR_ERR_NOT_YET, only in a hurry: there
     * may be one, nobody can tell so soon. The site must outlive the NIC.
     */
    enum myr_status (*open)(const struct myr_site *site, const char *way,
                            const union myr_value *values, void **nic, struct myr_error *error);
    void (*close)(void *nic);

    /* What other processes must know to reach it. Names with equal keys are the same NIC. */
    void (*query)(const void *nic, struct myr_nic_name *name);

    /* Run it for a moment. Either somebody waits for what it plays, or nobody does but others' NICs
     * may want something. Returns how many packets were taken. NULL: no host has to run it. */
    uint32_t (*poll)(void *nic);
    uint32_t (*tend)(void *nic);

    /* Counts since it was opened, for all who use it. */
    void (*count)(void *nic, struct mcp_counters *counters);

    /*
     * The two phases of joining a group. `schedule_of` gives any node's schedule. `blob` has
     * caps.blob bytes. `blobs` has the nodes' blobs, one behind the other, in the order of nodes;
     * it is NULL where there is no prepare. After `connect`, the member leaves in the end by
     * myr_nic_group_leave(). A member that has prepared and cannot connect calls that too. After a
     * failure nothing is left to be done.
     */
    enum myr_status (*prepare)(void *nic, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, struct myr_nic_group *group, void *blob,
                               struct myr_error *error);
    enum myr_status (*connect)(void *nic, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, const void *blobs, struct myr_nic_group *group,
                               struct myr_error *error);
};

/* The kinds that there are. */
extern const struct myr_nic_kind myr_soft_kind, myr_kernel_kind, myr_verbs_kind;

#endif
