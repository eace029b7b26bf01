/* SPDX-License-Identifier: BSD-3-Clause */
/* Inspecting a segment and its NIC from outside, without joining.
 *
 * `nicbarr status` calls it for segments of other processes. It maps nothing and writes nothing: it
 * copies the relevant data with pread(), and no more than 8 times the memory that the file takes.
 * So neither a foreign or truncated file nor data that change meanwhile can do any harm. A copy may
 * mix data of two moments. */
#ifndef MYR_SOFT_LOOK_H
#define MYR_SOFT_LOOK_H

#include <stddef.h>

#include "libmyr/node/waits.h"
#include "libmyr/soft/nic.h"
#include "libmyr/verbs/shown.h"

/* A segment's state. */
struct myr_segment_view {
    uint64_t identity;
    uint32_t limit, bytes; /* size limit, and present size */
    uint32_t processes;    /* that have joined */
    bool full;
};

/* Another node of a group. */
struct myr_node_view {
    uint32_t node;     /* its number in the group */
    struct mcp_ip ip;  /* none: not known */
    uint32_t heard_ms; /* when its NIC last reported its host late (CLOCK_MONOTONIC); 0: never */
};

enum { MYR_VIEW_NODES = 16, MYR_VIEW_LOCALS = 16 };

/* Entries of lists that one inspection visits, over all lists. */
enum { MYR_VIEW_ENTRIES = 1 << 16 };

/* A group as the NIC knows it. The group waits if `nodes` or `absent` is not 0. `nodes`: the number
 * of nodes whose messages it waits for. `absent`: it cannot even start, because processes of this
 * node have not arrived and others have. The lists name as many as they have room for. */
struct myr_group_view {
    uint32_t place;            /* unique among the NIC's groups at any time */
    uint32_t node;             /* the NIC's number in the group */
    uint32_t done, started;    /* epochs: complete, and begun by the hosts */
    bool failed;               /* it completes nothing more, */
    struct myr_node_view lost; /* ... because of this node; if it is the NIC's own: a process */
    uint64_t since_ns;         /* when it began to wait for nodes (CLOCK_MONOTONIC); 0: not known */
    uint32_t nodes, named; /* number of nodes that it waits for, and how many of them are listed */
    struct myr_node_view missing[MYR_VIEW_NODES];
    uint32_t locals, absent;              /* processes of this node; those that have not arrived, */
    uint32_t absent_pid[MYR_VIEW_LOCALS]; /* ... the first of them; 0: it has not joined */
};

/* A port: the endpoint of a process, for the messages of btl/myr or mtl/myr. */
struct myr_port_view {
    uint32_t number;
    uint32_t pid;       /* in its own pid namespace */
    uint32_t under_way; /* sends that are not completely acknowledged */
};

/* A NIC's state. */
struct myr_soft_view {
    bool there; /* else `why` says why there is none */
    bool broken;
    enum myr_soft_runner runs_as;
    uint32_t runner; /* pid, in its own pid namespace */
    struct myr_nic_name name;
    struct mcp_counters counters;
    char why[240];
    uint32_t groups;              /* open ones */
    struct myr_group_view *group; /* [groups] */
    uint32_t ports;               /* open ones */
    struct myr_port_view *port;   /* [ports] */
};

/* MYR_ERR_NOT_THERE: not a segment of nicbarr. MYR_ERR_FOREIGN: another version. */
enum myr_status myr_look_at_segment(int fd, struct myr_segment_view *view, struct myr_error *error);

/* The NIC in an inspected segment. MYR_ERR_NOT_THERE: it has none. Free the view with
 * myr_soft_view_free() on success. */
enum myr_status myr_look_at_nic(int fd, struct myr_soft_view *view, struct myr_error *error);
void myr_soft_view_free(struct myr_soft_view *view);

/* The RDMA NICs of the processes of such a segment: a list of *count, which the caller frees; NULL
 * if there is none. */
struct myr_verbs_shown *myr_look_at_rdma(int fd, uint32_t *count);

/* The long waits of the processes of such a segment: a list of *count, which the caller frees; NULL
 * if there is none. Texts end with '\0', but may contain any other byte. */
struct myr_shown_waits *myr_look_at_waits(int fd, uint32_t *count);

#endif
