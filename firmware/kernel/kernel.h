/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel as NIC: the part that its program in the kernel (program.bpf.c) shares with its owner
 * (owner.c), and the doorbell of the hosts.
 *
 * The program stands at one network interface (hooks.h). The collective engine plays each packet
 * that comes in for the NIC's UDP port. Its answers leave at once, and no process is woken before
 * the release. A host rings by a UDP packet of its own (bell.h). The packet gets as far as the
 * interface, where the program takes it off the wire. All NICs of a network have the same UDP port.
 *
 * On the wire these are the soft NIC's packets (wire.h). Over IPv4 their UDP checksum is 0, as they
 * have a check of their own. IPv6 wants one.
 */
#ifndef MCP_KERNEL_H
#define MCP_KERNEL_H

#include <linux/bpf.h>
#include <stdint.h>

#include "firmware/bcast.h"
#include "firmware/counters.h"
#include "firmware/ip.h"
#include "firmware/policy.h"
#include "firmware/wire.h"

/* What a host says to the kernel's NIC. It is as long as a collective packet, so that one can
 * become the other in place. In a group that carries data, the node's block follows where an epoch
 * is begun (0 bytes: nobody has data in it); in one that broadcasts, the root's. */
enum { MCP_DOORBELL_MAGIC = 0x4d42, MCP_DOORBELL_VERSION = 3 };

enum mcp_ring {
    MCP_RING_START = 1, /* the node has arrived in `epoch`; each epoch wants a ring of its own */
    MCP_RING_ASK,       /* the host has waited for long: ask for the missing messages */
    MCP_RING_SLEEP,     /* the ringing host sleeps on its socket: wake it when `epoch` is done */
    MCP_RING_FAIL,      /* the group fails, as the node whose number is in `epoch` is missing */
    MCP_RING_FAREWELL,  /* the hosts have left: `epoch` begins, without data, and no peer's word
                           makes the group fail, as others may miss its data */
    MCP_RING_BCAST,     /* this node is the root of broadcast `epoch` */
    MCP_RING_BCAST_ASK, /* the host has waited for long: ask for broadcast `epoch` of `root` */
};

struct mcp_doorbell {
    uint16_t magic;
    uint8_t version;
    uint8_t ring; /* enum mcp_ring */
    uint32_t epoch;
    uint64_t key; /* of the group */
    uint32_t root;
    uint32_t zero[3];
};

_Static_assert(MCP_COLLECTIVE_BYTES == sizeof(struct mcp_doorbell), "one becomes the other");

static inline struct mcp_doorbell mcp_doorbell(enum mcp_ring ring, uint32_t epoch, uint64_t key)
{
    return (struct mcp_doorbell){
        .magic = MCP_DOORBELL_MAGIC,
        .version = MCP_DOORBELL_VERSION,
        .ring = (uint8_t)ring,
        .epoch = epoch,
        .key = key,
    };
}

/* The place of a group's state, which begins with the last complete epoch (bytes). */
enum { MCP_KERNEL_STATE = 128 };

#ifdef MCP_KERNEL_INSIDE

/* The timer's notes about a group that waits, kept from one look to the next. */
struct mcp_kernel_watched {
    uint32_t waits;               /* it was in an epoch, */
    uint32_t done;                /* ... after this one */
    uint32_t told;                /* how often the owner was told that it is stuck there */
    struct mcp_patience patience; /* until it is told again */
};

/* A group, in a map by its key. The tables lie where the engine looks for them. All that is
 * written at each turn lies in one line. So processors that play the group hand each other that
 * line only. */
struct mcp_kernel_group {
    uint32_t uid;          /* the user who owns it: nobody else's doorbell counts */
    uint32_t line;         /* its place among the lines of all pages */
    struct mcp_ip wake_ip; /* a sleeping host has connected to this address, */
    uint16_t wake_to;      /* ... with this port of its own; 0: nobody sleeps */
    uint16_t number;       /* its own among the open groups, for its owner */
    uint32_t buffer;       /* its place among the buffers, if it carries data or broadcasts */
    uint32_t leaves;       /* whether it says farewell */
    uint32_t apart[5];     /* so that the written fields begin a line */
    struct mcp_group group;
    struct bpf_spin_lock lock; /* protects `group` and the tables behind it */
    uint32_t arrivals[MCP_KERNEL_MESSAGES];
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_peer peers[MCP_KERNEL_PEERS]; /* those sent to, then (from nsends on) waited for */
    uint32_t heard[MCP_KERNEL_MESSAGES];     /* as mcp_group_heard(): by CLOCK_MONOTONIC */
    uint32_t claims[MCP_KERNEL_MESSAGES];
    struct mcp_kernel_watched watched;
};

_Static_assert(offsetof(struct mcp_kernel_group, group.done) == MCP_KERNEL_STATE &&
                   offsetof(struct mcp_kernel_group, arrivals) <=
                       MCP_KERNEL_STATE + 64 - 7 * sizeof(uint32_t),
               "the state, the lock and the first arrivals lie in one line");

#endif

/* The remains of a closed group, for peers who ask. */
struct mcp_kernel_late {
    struct mcp_ending ending;
    struct mcp_secret secret; /* of its packets */
    uint64_t closed_ns;       /* for the owner: when it was closed (CLOCK_MONOTONIC), */
    uint64_t uid;             /* ... and whose it was */
};

/* What the hosts of a group see: a line of a page. All groups that have lines in a page are one
 * user's, whose processes may map it to read. */
struct mcp_kernel_line {
    myr_word done;      /* the release: the last epoch that is complete */
    myr_word failed;    /* not 0: nothing more will be; as in struct mcp_group, or as below */
    uint32_t apart[30]; /* so that groups do not share a line of memory */
};

_Static_assert(sizeof(struct mcp_kernel_line) == MYR_LINE, "a line is a line of memory");

/* The owner has removed the NIC. */
#define MCP_KERNEL_REMOVED UINT32_MAX

/* What has come in the last even and odd epoch of a group that carries data; or, all of it, the
 * window of a group that broadcasts. Each has a map of its own, of one user, whose processes may
 * map it to read. */
enum { MCP_KERNEL_BUFFER = 32768 /* bytes, for an epoch */ };
struct mcp_kernel_buffer {
    uint64_t word[2][MCP_KERNEL_BUFFER / 8];
};

_Static_assert(MCP_BCAST_BYTES == sizeof(struct mcp_kernel_buffer), "a window has room");

/* Where a group's line is, and its buffer. Descriptors may be mapped to read, and for nothing
 * else. */
struct mcp_kernel_seen {
    int page;        /* MCP_KERNEL_LINES times struct mcp_kernel_line */
    uint32_t line;   /* the place of the group's line there */
    int buffer;      /* struct mcp_kernel_buffer; -1: the group has none */
    uint32_t number; /* for the owner: the group's own among those that are open */
};

/* Lines of a page; the most pages, so that each group could be another user's, and the most of an
 * account's, so that each of its groups could be; the most buffers, in all and of an account; the
 * place of a group that has no line or buffer (any more). */
enum {
    MCP_KERNEL_LINES = 32,
    MCP_KERNEL_PAGES = 1024,
    MCP_KERNEL_PAGES_OF_ONE = 256,
    MCP_KERNEL_BUFFERS = 1024,
    MCP_KERNEL_BUFFERS_OF_ONE = 128
};
#define MCP_KERNEL_NOWHERE UINT32_MAX

/* The place of the NIC, fixed when its program is loaded. */
struct mcp_kernel_place {
    uint32_t interface; /* its number */
    struct mcp_ip ip;
    uint16_t port; /* network byte order */
    uint8_t mac[6];
    uint32_t owner; /* this user may ring for all groups */
};

/*
 * A peer's host. A link of the engine's is a place in the table of hosts. Place 0 is nobody's and
 * means "not known".
 */
struct mcp_kernel_neighbour {
    struct mcp_ip ip;
    uint8_t mac[6];
    uint8_t known;
    uint8_t zero;
};

/* A peer as the owner is told of it: struct mcp_peer with an address for its link. */
struct mcp_kernel_peer {
    struct mcp_ip ip;
    uint16_t port; /* of its NIC, which is that of this NIC; network byte order */
    uint16_t node, slot;
    uint16_t blocks, at;
    uint16_t zero;
};

/* The message to the owner: this group has waited for `done` + 1 for some looks now. */
struct mcp_kernel_stuck {
    uint64_t key;
    uint32_t done;
    uint32_t told; /* in this epoch, with this time */
};

/*
 * From one look for stuck groups to the next (nanoseconds). A look goes over all groups, so it
 * costs time that no user pays for. After one that took `took_ns` nobody looks for 100 times as
 * long: all looks together take less than 1 % of a processor. Whatever takes longer than 10 ms is
 * no look's cost; the system was held up. So nobody rests longer than 1 s.
 */
#define MCP_KERNEL_LOOK_NS UINT64_C(10000000)
#define MCP_KERNEL_REST_NS UINT64_C(1000000000)

static inline uint64_t mcp_kernel_rest(uint64_t took_ns)
{
    if (took_ns >= MCP_KERNEL_REST_NS / 100) {
        return MCP_KERNEL_REST_NS;
    }
    return 100 * took_ns > MCP_KERNEL_LOOK_NS ? 100 * took_ns : MCP_KERNEL_LOOK_NS;
}

/* The bytes of the ring of messages to the owner. */
enum { MCP_KERNEL_TOLD = 65536 };

/* Open groups at the most, closed groups whose last epoch is kept, and known hosts. */
enum { MCP_KERNEL_GROUPS = 1024, MCP_KERNEL_LATE = 16384, MCP_KERNEL_NEIGHBOURS = 4096 };

/*
 * What the owner keeps in maps of the program's, for the owner after it (owner.h). The program does
 * not look at these.
 */

/* To be raised with each change of what is in any map that keeps its size. (Another size shows
 * itself.) */
enum { MCP_KERNEL_FORMAT = 1 };

/* The NIC. */
struct mcp_kernel_kept {
    uint32_t format;
    uint32_t complete; /* it stood at the interface with this number */
    uint32_t interface;
    uint32_t zero;
    uint64_t key; /* the owner's name of it */
};

/* A process that has groups open; in words of the owner's. */
enum { MCP_KERNEL_HOLDERS = 4096 };
struct mcp_kernel_holder {
    uint64_t number; /* 0: nobody */
    uint64_t since_ns;
    uint32_t uid, zero;
    uint64_t groups[MCP_KERNEL_GROUPS / 64]; /* a bit for each group's number */
};

/* Whose a page or (behind all of these) a buffer is. */
struct mcp_kernel_page_owner {
    uint32_t owned, uid;
};

#endif
