/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What myrd --kernel and its clients say to each other over its Unix socket (SOCK_SEQPACKET). A
 * client asks and the daemon answers, one after the other. When a client closes its connection, its
 * process has left all its groups. Those that it had not closed before fail. A user who has too
 * many connections has further ones closed without a word.
 *
 * When the daemon goes, the next one may take over its NIC, with all groups and who holds them.
 * Then it has the same name. A client connects to it, says HELLO, RETURN with the number that it
 * had before, HOLD for each group that it still has, and SETTLE. What it does not hold any more it
 * has left, but for a group that it was about to open: it asks for that one again.
 */
#ifndef MYR_KERNEL_WORDS_H
#define MYR_KERNEL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "firmware/kernel/kernel.h"
#include "libmyr/soft/nic.h"

#define MYR_KERNEL_MAGIC UINT32_C(0x6d796b4b) /* "mykK"; changes with what follows */

/* Where it listens; NICBARR_KERNEL_SOCKET in the environment of daemon and clients says otherwise.
 */
#define MYR_KERNEL_SOCKET "/run/nicbarr/kernel.sock"

enum myr_kernel_ask {
    MYR_KERNEL_HELLO = 1, /* which NIC are you? Answered with its name */
    MYR_KERNEL_OPEN,      /* open the group or share the one with this key; answered with a page */
    MYR_KERNEL_CLOSE,  /* this process has done with the group. Not answered: nobody waits for it */
    MYR_KERNEL_STATUS, /* what do you do? Answered with a report */
    MYR_KERNEL_MISSING, /* whom does this group wait for? Answered with a list */
    MYR_KERNEL_RETURN,  /* a daemon before has known this process by the number in `key` */
    MYR_KERNEL_HOLD,    /* ... when it opened this group */
    MYR_KERNEL_SETTLE   /* ... and it holds no others; it will open the group `key` (0: none). Not
                           answered */
};

struct myr_kernel_question {
    uint32_t magic;
    uint32_t ask; /* enum myr_kernel_ask */
    uint64_t key; /* of the group */
    struct mcp_secret secret;
    uint32_t nodes, node, nsteps, nsends, nwaits;
    uint32_t places, unit_most, window, slot_bytes; /* as in struct mcp_group */
    uint32_t zero;
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_kernel_peer peers[MCP_KERNEL_PEERS]; /* nsends + nwaits */
};

struct myr_kernel_answer {
    uint32_t magic;
    uint32_t status;         /* enum myr_status */
    struct myr_nic_name nic; /* HELLO */
    char why[240];           /* where that is not MYR_OK */
    /* OPEN: with the descriptors (SCM_RIGHTS) of the page and, if the group carries data or
     * broadcasts, of its buffer; and the place of the group's line on the page */
    uint32_t line;
    uint32_t zero;
    uint64_t number; /* HELLO: of the client; it tells it to the next daemon (RETURN) */
};

/* The answer to MISSING. It names nobody where the process has no such group. */
struct myr_kernel_missing {
    uint32_t magic;
    uint32_t count;
    struct mcp_missing node[MCP_KERNEL_MESSAGES];
};

/* Another node, with its address. */
struct myr_kernel_node {
    struct mcp_ip ip;
    uint32_t node;
    uint32_t heard_ms; /* as in struct mcp_missing */
};

enum { MYR_KERNEL_NODES = 4 };

/* A group, as far as it is told: its key is a secret. */
struct myr_kernel_group_words {
    uint32_t uid;
    uint32_t node;
    uint32_t done;     /* the last epoch that is complete */
    uint32_t waits;    /* 1: it has entered another, 0: not */
    uint32_t failed;   /* not 0: nothing more will be, as `lost` is missing; or, if that is its own
                          node, a process has died */
    uint32_t missing;  /* so many nodes does it wait for; the first of them follow below */
    uint64_t since_ms; /* since about when (CLOCK_MONOTONIC); 0: not for long, or not known */
    struct myr_kernel_node lost;
    struct myr_kernel_node node_missing[MYR_KERNEL_NODES];
};

/* The answer to STATUS. It lists the groups of the user who asks; all groups if that is root. It
 * ends behind the last of them: what a client leaves unread is the daemon's memory. */
struct myr_kernel_report {
    uint32_t magic;
    uint32_t pid; /* of the daemon */
    struct myr_nic_name nic;
    char interface[16];
    struct mcp_counters counters;
    uint64_t refused; /* connections, since the daemon began */
    uint32_t closed;  /* groups whose last epoch is kept, as peers may ask for it */
    uint32_t groups;
    struct myr_kernel_group_words group[MCP_KERNEL_GROUPS];
};

static inline size_t myr_kernel_report_bytes(uint32_t groups)
{
    return offsetof(struct myr_kernel_report, group) +
           groups * sizeof(struct myr_kernel_group_words);
}

#endif
