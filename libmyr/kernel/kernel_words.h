/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol between myrd --kernel and its clients over a Unix socket (SOCK_SEQPACKET). The
 * client sends requests, and the daemon answers them in order. When a client closes its connection
 * or dies, the groups that it has not closed before fail. If a user exceeds the quota of
 * connections, the daemon closes further ones without an answer.
 *
 * When the daemon exits, its successor may take over its NIC under the same name, with all groups
 * and the list of clients that hold them. Each client then connects to the successor and sends
 * HELLO, RETURN with its previous number, HOLD for each group that it still has, and SETTLE. The
 * successor considers all groups that the client has not listed by HOLD as left. The only exception
 * is a group that the client was about to open: SETTLE names it, and the client repeats the request
 * to open it. */
#ifndef MYR_KERNEL_WORDS_H
#define MYR_KERNEL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "firmware/kernel/kernel.h"
#include "libmyr/soft/nic.h"

#define MYR_KERNEL_MAGIC UINT32_C(0x6d796b4b) /* "mykK"; changes with what follows */

/* The default socket; NICBARR_KERNEL_SOCKET in the environment of daemon and clients overrides
 * it. */
#define MYR_KERNEL_SOCKET "/run/nicbarr/kernel.sock"

enum myr_kernel_ask {
    MYR_KERNEL_HELLO = 1, /* requests the NIC's name, and a number for this client */
    MYR_KERNEL_OPEN,      /* opens the group with this key, or shares it; answered with a page */
    MYR_KERNEL_CLOSE,     /* leaves the group; not answered, because no client waits for that */
    MYR_KERNEL_STATUS,    /* requests a report */
    MYR_KERNEL_MISSING,   /* requests the list of nodes that the group waits for */
    MYR_KERNEL_RETURN,    /* `key` is the number that this client had at the previous daemon */
    MYR_KERNEL_HOLD,      /* after RETURN: the client still holds this group */
    MYR_KERNEL_SETTLE /* after all HOLDs: the client holds no other group, and will open the group
                         `key` (0: none); not answered */
};

struct myr_kernel_question {
    uint32_t magic;
    uint32_t ask; /* enum myr_kernel_ask */
    uint64_t key; /* of the group */
    struct mcp_secret secret;
    uint32_t nodes, node, nsteps, nsends, nwaits;
    uint32_t buffer_blocks, unit_most, window, slot_bytes; /* as in struct mcp_group */
    uint32_t zero;
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_kernel_peer peers[MCP_KERNEL_PEERS]; /* nsends + nwaits */
};

struct myr_kernel_answer {
    uint32_t magic;
    uint32_t status;         /* enum myr_status */
    struct myr_nic_name nic; /* HELLO */
    char why[240];           /* the error, if not MYR_OK */
    /* OPEN: the index of the group's release word in the page that the daemon shares with the
     * client. The descriptor of this page is attached to the answer (SCM_RIGHTS), and if the group
     * carries data or broadcasts, so is the descriptor of its buffer. */
    uint32_t line;
    uint32_t zero;
    uint64_t number; /* HELLO: identifies the client, which sends it to the next daemon (RETURN) */
};

/* The answer to MISSING; empty if the process has no such group. */
struct myr_kernel_missing {
    uint32_t magic;
    uint32_t count;
    struct mcp_missing node[MCP_KERNEL_MESSAGES];
};

/* Another node, with its address and the state of its host. */
struct myr_kernel_node {
    struct mcp_ip ip;
    uint32_t node;
    uint32_t heard_ms; /* as in struct mcp_missing */
};

enum { MYR_KERNEL_NODES = 4 };

/* The public part of a group; its key is secret and not included. */
struct myr_kernel_group_words {
    uint32_t uid;
    uint32_t node;
    uint32_t done;    /* the last epoch that is complete */
    uint32_t waits;   /* 1 if a later epoch has begun, else 0 */
    uint32_t failed;  /* if not 0, no more epochs complete, because node `lost` is missing or, if
                         `lost` is this node, a process has died */
    uint32_t missing; /* number of nodes that it waits for; the first of them follow below */
    /* when that wait began, roughly (CLOCK_MONOTONIC); 0 if recently, or not known */
    uint64_t since_ms;
    struct myr_kernel_node lost;
    struct myr_kernel_node node_missing[MYR_KERNEL_NODES];
};

/* The answer to STATUS. It lists the groups of the requesting user, or all groups if that is root.
 * Only the used entries of `group` are sent, because an answer occupies memory of the daemon until
 * the client reads it. */
struct myr_kernel_report {
    uint32_t magic;
    uint32_t pid; /* of the daemon */
    struct myr_nic_name nic;
    char interface[16];
    struct mcp_counters counters;
    uint64_t refused; /* number of connections refused since the daemon started */
    uint32_t closed;  /* closed groups whose last epoch is kept, because peers may request it */
    uint32_t groups;
    struct myr_kernel_group_words group[MCP_KERNEL_GROUPS];
};

static inline size_t myr_kernel_report_bytes(uint32_t groups)
{
    return offsetof(struct myr_kernel_report, group) +
           groups * sizeof(struct myr_kernel_group_words);
}

#endif
