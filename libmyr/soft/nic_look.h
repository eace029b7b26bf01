/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking at a segment and its NIC from outside, without joining.
 *
 * `nicbarr status` calls it for segments of other processes. It maps nothing and writes nothing: it
 * copies what is of interest by pread(), and no more than 8 times the memory that the file takes.
 * So no foreign file, no file that is cut short, and no data that changes meanwhile can do any
 * harm. A copy may be a mixture of two moments.
 */
#ifndef MYR_SOFT_LOOK_H
#define MYR_SOFT_LOOK_H

#include <stddef.h>

#include "libmyr/soft/nic.h"
#include "libmyr/verbs/shown.h"

/* What there is to say about a segment. */
struct myr_segment_view {
    uint64_t identity;
    uint32_t limit, bytes; /* the most it may take, and what it takes */
    uint32_t processes;    /* that have joined */
    bool full;
};

/* Another node of a group. */
struct myr_node_view {
    uint32_t node;    /* its number in the group */
    struct mcp_ip ip; /* none: not known */
    uint32_t
        heard_ms; /* when its NIC last said that its host is late (CLOCK_MONOTONIC); 0: never */
};

enum { MYR_VIEW_NODES = 16, MYR_VIEW_LOCALS = 16 };

/* Entries of lists that a look at a segment goes through, of all lists together. */
enum { MYR_VIEW_ENTRIES = 1 << 16 };

/*
 * A group as the NIC knows it. It waits where `nodes` or `absent` is not 0. `nodes`: it waits for
 * messages of these. `absent`: it cannot even start, as processes of this node have not arrived
 * where others have. As many are named as there is room for.
 */
struct myr_group_view {
    uint32_t place;            /* no other group of the NIC has this one at the same time */
    uint32_t node;             /* the NIC's number in the group */
    uint32_t done, started;    /* epochs: complete, and begun by the hosts */
    bool failed;               /* it completes nothing more, */
    struct myr_node_view lost; /* ... as this node is missing; if it is the NIC's own: a process */
    uint64_t since_ns;         /* when it began to wait for nodes (CLOCK_MONOTONIC); 0: not known */
    uint32_t nodes, named;     /* it waits for so many, of which so many are named: */
    struct myr_node_view missing[MYR_VIEW_NODES];
    uint32_t locals, absent;              /* processes of this node; not arrived, */
    uint32_t absent_pid[MYR_VIEW_LOCALS]; /* ... the first of them; 0: it has not joined */
};

/* A port: the endpoint of a process, for the messages of btl/myr or mtl/myr. */
struct myr_port_view {
    uint32_t number;
    uint32_t pid;       /* as its own processes see it */
    uint32_t under_way; /* messages that it sends, and that have not arrived as a whole */
};

/* What there is to say about a NIC. */
struct myr_soft_view {
    bool there; /* otherwise `why` says why there is none */
    bool broken;
    enum myr_soft_runner runs_as;
    uint32_t runner; /* pid, as its own processes see it */
    struct myr_nic_name name;
    struct mcp_counters counters;
    char why[240];
    uint32_t groups;              /* open ones */
    struct myr_group_view *group; /* [groups] */
    uint32_t ports;               /* open ones */
    struct myr_port_view *port;   /* [ports] */
};

/* MYR_ERR_NOT_THERE: no segment of ours. MYR_ERR_FOREIGN: of another version. */
enum myr_status myr_look_at_segment(int fd, struct myr_segment_view *view, struct myr_error *error);

/* The NIC in a segment that could be looked at. MYR_ERR_NOT_THERE: it has none. Give the view back
 * to myr_soft_view_free() if there is one. */
enum myr_status myr_look_at_nic(int fd, struct myr_soft_view *view, struct myr_error *error);
void myr_soft_view_free(struct myr_soft_view *view);

/* The RDMA NICs of the processes of such a segment: a list of *count, which the caller frees; NULL
 * where there is none. */
struct myr_verbs_shown *myr_look_at_rdma(int fd, uint32_t *count);

#endif
