/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel as NIC: definitions shared by its program in the kernel (program.bpf.c) and its owner
 * (owner.c), and the doorbell of the hosts.
 *
 * The program is attached to one network interface (hooks.h). The collective engine plays each
 * received packet for the NIC's UDP port. Its replies are sent at once, and no process is woken
 * before the release. A host's doorbell is a UDP packet (bell.h) that reaches the interface, where
 * the program consumes it. All NICs of a network have the same UDP port.
 *
 * On the wire these are the soft NIC's packets (wire.h). Over IPv4 their UDP checksum is 0, because
 * they have a check of their own. IPv6 requires one. */
#ifndef MCP_KERNEL_H
#define MCP_KERNEL_H

#include <linux/bpf.h>
#include <stdint.h>

#include "firmware/bcast.h"
#include "firmware/counters.h"
#include "firmware/ip.h"
#include "firmware/policy.h"
#include "firmware/wire.h"

/* A doorbell. It has the size of a collective packet, so that it can be rewritten into one in
 * place. In a group that carries data, the node's block follows when an epoch is begun (0 bytes: no
 * node has data in it); in one that broadcasts, the root's. */
enum { MCP_DOORBELL_MAGIC = 0x4d42, MCP_DOORBELL_VERSION = 3 };

enum mcp_ring {
    MCP_RING_START = 1, /* the node has arrived in `epoch`; each epoch needs its own doorbell */
    MCP_RING_ASK,       /* the host has waited long: ask for the missing messages */
    MCP_RING_SLEEP,     /* the ringing host sleeps on its socket: wake it when `epoch` is done */
    MCP_RING_FAIL,     /* the group fails, because the node whose number is in `epoch` is missing */
    MCP_RING_FAREWELL, /* the hosts have left: `epoch` begins, without data, and FAIL messages are
                          ignored, as other peers may miss this node's data */
    MCP_RING_BCAST,    /* this node is the root of broadcast `epoch` */
    MCP_RING_BCAST_ASK, /* the host has waited long: ask for broadcast `epoch` of `root` */
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

/* The offset of a group's state, which begins with the last complete epoch (bytes). */
enum { MCP_KERNEL_STATE = 128 };

#ifdef MCP_KERNEL_INSIDE

/* The timer's state about a waiting group, kept between its runs. */
struct mcp_kernel_watched {
    uint32_t waits;             /* it was waiting, */
    uint32_t done;              /* ... after this epoch */
    uint32_t reports;           /* how often the owner was notified that it is stuck there */
    struct mcp_backoff backoff; /* until the next notification */
};

/* A group, in a map by its key. The tables are where the engine expects them. All fields that are
 * written each time share one cache line, so that processors which play the group only exchange
 * that line. */
struct mcp_kernel_group {
    uint32_t uid;          /* the user who owns it: doorbells of other users are ignored */
    uint32_t line;         /* its index among the lines of all pages */
    struct mcp_ip wake_ip; /* a sleeping host has connected to this address, */
    uint16_t wake_to;      /* ... from this port; 0: none sleeps */
    uint16_t number;       /* its index among the open groups, for its owner */
    uint32_t buffer;       /* its index among the buffers, if it carries data or broadcasts */
    uint32_t leaves;       /* it plays its farewell epoch */
    uint32_t apart[5];     /* so that the written fields begin a line */
    struct mcp_group group;
    struct bpf_spin_lock lock; /* protects `group` and the tables behind it */
    uint32_t arrivals[MCP_KERNEL_MESSAGES];
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_peer peers[MCP_KERNEL_PEERS]; /* those sent to, then (from nsends on) waited for */
    uint32_t heard[MCP_KERNEL_MESSAGES];     /* as mcp_group_heard(), by CLOCK_MONOTONIC */
    uint32_t claims[MCP_KERNEL_MESSAGES];
    struct mcp_kernel_watched watched;
};

_Static_assert(offsetof(struct mcp_kernel_group, group.done) == MCP_KERNEL_STATE &&
                   offsetof(struct mcp_kernel_group, arrivals) <=
                       MCP_KERNEL_STATE + 64 - 7 * sizeof(uint32_t),
               "the state, the lock and the first arrivals lie in one line");

#endif

/* The state of a closed group, for peers that ask. */
struct mcp_kernel_late {
    struct mcp_ending ending;
    struct mcp_secret secret; /* of its packets */
    uint64_t closed_ns;       /* for the owner: when it was closed (CLOCK_MONOTONIC), */
    uint64_t uid;             /* ... and its user */
};

/* A group's line of a page, which its hosts see. All groups with lines in a page belong to one
 * user, whose processes may map it read-only. */
struct mcp_kernel_line {
    myr_word done;      /* the release: the last complete epoch */
    myr_word failed;    /* not 0: no more epochs complete; as in struct mcp_group, or
                         * MCP_KERNEL_REMOVED */
    uint32_t apart[30]; /* so that groups do not share a cache line */
};

_Static_assert(sizeof(struct mcp_kernel_line) == MYR_LINE, "a line is a line of memory");

/* The owner has removed the NIC. */
#define MCP_KERNEL_REMOVED UINT32_MAX

/* The blocks received in the last even and odd epoch of a group that carries data. In a group that
 * broadcasts, both halves together are the window. Each has a map of its own, which belongs to one
 * user, whose processes may map it read-only. */
enum { MCP_KERNEL_BUFFER = 32768 /* bytes, for an epoch */ };
struct mcp_kernel_buffer {
    uint64_t word[2][MCP_KERNEL_BUFFER / 8];
};

_Static_assert(MCP_BCAST_BYTES == sizeof(struct mcp_kernel_buffer), "a window has room");

/* The locations of a group's line and buffer. The descriptors may only be mapped read-only. */
struct mcp_kernel_seen {
    int page;        /* MCP_KERNEL_LINES times struct mcp_kernel_line */
    uint32_t line;   /* index of the group's line in it */
    int buffer;      /* struct mcp_kernel_buffer; -1: none */
    uint32_t number; /* for the owner: the group's index among the open ones */
};

/* The number of lines of a page; the limits of pages and of buffers, in total and per account.
 * There are enough pages for each open group to belong to a different user, also within an account.
 * MCP_KERNEL_NOWHERE is the index of a group that has no line or buffer. */
enum {
    MCP_KERNEL_LINES = 32,
    MCP_KERNEL_PAGES = 1024,
    MCP_KERNEL_PAGES_OF_ONE = 256,
    MCP_KERNEL_BUFFERS = 1024,
    MCP_KERNEL_BUFFERS_OF_ONE = 128
};
#define MCP_KERNEL_NOWHERE UINT32_MAX

/* The address of the NIC, fixed when its program is loaded. */
struct mcp_kernel_place {
    uint32_t interface; /* its index */
    struct mcp_ip ip;
    uint16_t port; /* network byte order */
    uint8_t mac[6];
    uint32_t owner; /* this user may ring for all groups */
};

/* A peer's host (neighbour entry). The engine's links are indices into the table of hosts. Index 0
 * is unused and means "not known". */
struct mcp_kernel_neighbour {
    struct mcp_ip ip;
    uint8_t mac[6];
    uint8_t known;
    uint8_t zero;
};

/* A peer, as passed to the owner: struct mcp_peer with an address in place of its link. */
struct mcp_kernel_peer {
    struct mcp_ip ip;
    uint16_t port; /* of its NIC, equal to this NIC's; network byte order */
    uint16_t node, slot;
    uint16_t blocks, at;
    uint16_t zero;
};

/* A notification to the owner: this group has waited for epoch `done` + 1 during several scans. */
struct mcp_kernel_stuck {
    uint64_t key;
    uint32_t done;
    uint32_t reports; /* notifications in this epoch, including this one */
};

/* The interval of scans for stuck groups (nanoseconds). A scan visits all groups, so its time is
 * charged to no user. A scan that took `took_ns` is followed by a pause of 100 times its duration,
 * so that all scans together take less than 1 % of a processor. A scan of more than 10 ms was
 * delayed by the system, so the interval is limited to 1 s. */
#define MCP_KERNEL_LOOK_NS UINT64_C(10000000)
#define MCP_KERNEL_REST_NS UINT64_C(1000000000)

static inline uint64_t mcp_kernel_rest(uint64_t took_ns)
{
    if (took_ns >= MCP_KERNEL_REST_NS / 100) {
        return MCP_KERNEL_REST_NS;
    }
    return 100 * took_ns > MCP_KERNEL_LOOK_NS ? 100 * took_ns : MCP_KERNEL_LOOK_NS;
}

/* The bytes of the ring of notifications to the owner. */
enum { MCP_KERNEL_NOTIFICATIONS = 65536 };

/* Maximum of open groups, of closed groups whose last epoch is kept, and of known hosts. */
enum { MCP_KERNEL_GROUPS = 1024, MCP_KERNEL_LATE = 16384, MCP_KERNEL_NEIGHBOURS = 4096 };

/* State of the owner in maps of the program, for the owner's successor (owner.h). The program does
 * not read it. */

/* Increment this with each change to the content of a map that does not change its size. (Changes
 * of size are detected.) */
enum { MCP_KERNEL_FORMAT = 1 };

/* The NIC. */
struct mcp_kernel_kept {
    uint32_t format;
    uint32_t complete; /* it was attached to the interface with this index */
    uint32_t interface;
    uint32_t zero;
    uint64_t key; /* the owner's name of it */
};

/* A process that has groups open; in the owner's terms. */
enum { MCP_KERNEL_HOLDERS = 4096 };
struct mcp_kernel_holder {
    uint64_t number; /* 0: none */
    uint64_t since_ns;
    uint32_t uid, zero;
    uint64_t groups[MCP_KERNEL_GROUPS / 64]; /* a bit for each group's index */
};

/* The user of a page or (after all of these) of a buffer. */
struct mcp_kernel_page_owner {
    uint32_t owned, uid;
};

#endif
