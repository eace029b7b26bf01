/* SPDX-License-Identifier: BSD-3-Clause */
/* Inspecting a segment and its NIC from outside, without joining.
 *
 * `nicbarr status` uses these functions to examine the segments of other processes. They neither
 * map nor write a segment, but copy the relevant data with pread(), and limit the number of bytes
 * that they read. Therefore they are safe even if the file is foreign or truncated, or if its data
 * change meanwhile. A copy may contain data of different points in time. */
#ifndef MYR_SOFT_INSPECT_H
#define MYR_SOFT_INSPECT_H

#include <stddef.h>

#include "libmyr/node/waits.h"
#include "libmyr/soft/nic.h"
#include "libmyr/verbs/shown.h"

/* A segment's state. */
struct myr_segment_view {
    uint64_t identity;
    uint32_t limit, bytes; /* maximum size, and present size */
    uint32_t processes;    /* number of processes that have joined */
    bool full;
};

/* Another node of a group. */
struct myr_node_view {
    uint32_t node;     /* its index in the group */
    struct mcp_ip ip;  /* none if not known */
    uint32_t heard_ms; /* when its NIC last reported its host late (CLOCK_MONOTONIC); 0 if never */
};

enum { MYR_VIEW_NODES = 16, MYR_VIEW_LOCALS = 16 };

/* Limit of list entries that one inspection visits, over all lists. */
enum { MYR_VIEW_ENTRIES = 1 << 16 };

/* A group of the NIC. The group waits if `nodes` or `absent` is not 0. `nodes` is the number of
 * nodes whose messages it waits for. `absent` is the number of processes of this node that have not
 * arrived in the next epoch, although others have, so that the group cannot even start it. The
 * lists contain as many nodes and processes as fit. */
struct myr_group_view {
    uint32_t offset;        /* unique among the NIC's groups at any time */
    uint32_t node;          /* the NIC's number in the group */
    uint32_t done, started; /* epochs: complete, and begun by the hosts */
    bool failed;            /* whether no further epoch will complete */
    /* the missing node of a failed group; the NIC's own node if a process of that node has died */
    struct myr_node_view lost;
    uint64_t since_ns; /* when it began to wait for nodes (CLOCK_MONOTONIC); 0 if not known */
    uint32_t nodes,
        named; /* number of nodes that the group waits for, and number of them that are listed */
    struct myr_node_view missing[MYR_VIEW_NODES];
    /* number of processes of this node, and of those that have not arrived */
    uint32_t locals, absent;
    /* pids of the first of these; 0 if the process has not joined */
    uint32_t absent_pid[MYR_VIEW_LOCALS];
};

/* A port: the endpoint of a process, for the messages of btl/myr or mtl/myr. */
struct myr_port_view {
    uint32_t number;
    uint32_t pid;       /* in its own pid namespace */
    uint32_t under_way; /* number of sends that are not completely acknowledged */
};

/* A NIC's state. */
struct myr_soft_view {
    bool there; /* if not, `why` contains the reason */
    bool broken;
    enum myr_soft_runner runs_as;
    uint32_t runner; /* pid, in its own pid namespace */
    struct myr_nic_name name;
    struct mcp_counters counters;
    uint32_t peers; /* number of NICs to which it has connections, without those that were closed */
    char why[240];
    uint32_t groups;              /* number of open groups */
    struct myr_group_view *group; /* [groups] */
    uint32_t ports;               /* number of open ports */
    struct myr_port_view *port;   /* [ports] */
};

/* Inspects a segment. Returns MYR_ERR_NOT_THERE if it is not a segment of nicbarr, and
 * MYR_ERR_FOREIGN if it has another version. */
enum myr_status myr_inspect_segment(int fd, struct myr_segment_view *view, struct myr_error *error);

/* Inspects the NIC in such a segment. Returns MYR_ERR_NOT_THERE if it has none. Free the view with
 * myr_soft_view_free() on success. */
enum myr_status myr_inspect_nic(int fd, struct myr_soft_view *view, struct myr_error *error);
void myr_soft_view_free(struct myr_soft_view *view);

/* Returns a list of the RDMA NICs that the processes of the segment behind `fd` have published, or
 * NULL if there is none. The list has *count entries, and the caller frees it. */
struct myr_verbs_shown *myr_inspect_rdma(int fd, uint32_t *count);

/* Returns a list of the long waits that the processes of the segment behind `fd` have published, or
 * NULL if there is none. The list has *count entries, and the caller frees it. Its texts end with
 * '\0', but may contain any other byte. */
struct myr_shown_waits *myr_inspect_waits(int fd, uint32_t *count);

#endif
