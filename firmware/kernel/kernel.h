/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC in the kernel: definitions that its BPF program (program.bpf.c) shares with the owner
 * (owner.c), and the format of the doorbells that hosts send.
 *
 * The program is attached to one network interface (hooks.h). For each packet that arrives for the
 * NIC's UDP port, which is the same for all NICs of a network, it runs the collective engine and
 * sends the resulting messages immediately. Processes are woken only at the end of a collective. A
 * host notifies the NIC by a doorbell, a UDP packet (bell.h) that the program consumes at the
 * interface.
 *
 * The packets on the wire are the same as those of the soft NIC (wire.h). Over IPv4 they have no
 * UDP checksum, because they contain a stronger check. IPv6 requires a UDP checksum. */
#ifndef MCP_KERNEL_H
#define MCP_KERNEL_H

#include <linux/bpf.h>
#include <stdint.h>

#include "firmware/bcast.h"
#include "firmware/counters.h"
#include "firmware/ip.h"
#include "firmware/policy.h"
#include "firmware/wire.h"

/* A doorbell has the size of a collective packet, so that the program can rewrite it into such a
 * packet in place. In a group that carries data, a doorbell that begins an epoch is followed by
 * this node's block (0 bytes if no node has data in this epoch). In a group that broadcasts, a
 * doorbell that begins a broadcast is followed by the root's block. */
enum { MCP_DOORBELL_MAGIC = 0x4d42, MCP_DOORBELL_VERSION = 3 };

enum mcp_ring {
    MCP_RING_START = 1, /* the node has arrived in `epoch`; each epoch needs its own doorbell */
    MCP_RING_ASK,       /* the host has waited too long: request the missing messages */
    MCP_RING_SLEEP,     /* the host sleeps on the socket of this doorbell: wake it when `epoch` is
                           complete */
    MCP_RING_FAIL,      /* fail the group, because the node whose number is in `epoch` is lost */
    MCP_RING_CLOSING,   /* the hosts have left: begin `epoch`, without data, and ignore FAIL
                            messages, as other peers may miss this node's data */
    MCP_RING_BCAST,     /* this node is the root of broadcast `epoch` */
    MCP_RING_BCAST_ASK, /* the host has waited too long: request broadcast `epoch` of `root` */
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

/* The offset of a group's state (bytes), which begins with the last complete epoch. */
enum { MCP_KERNEL_STATE = 128 };

#ifdef MCP_KERNEL_INSIDE

/* The timer's state for a waiting group, kept between its runs. */
struct mcp_kernel_watched {
    uint32_t waits;             /* whether the group was waiting at the last scan */
    uint32_t done;              /* its last complete epoch at that time */
    uint32_t reports;           /* how often the owner was notified that the group is stuck there */
    struct mcp_backoff backoff; /* until the next notification */
};

/* A group, which is found in a map by its key. The struct mcp_group and its tables are at the
 * offsets that the engine expects. All fields that are written in each epoch are in one cache line,
 * so when another core begins to execute the group, it fetches only this line from the previous
 * core. */
struct mcp_kernel_group {
    uint32_t uid;  /* the user who owns the group: doorbells of other users are ignored */
    uint32_t line; /* index of its release word, counted over all pages (struct mcp_kernel_line) */
    struct mcp_ip wake_ip; /* the address to which a sleeping host's socket is connected */
    uint16_t wake_to;      /* the port to which that socket is bound; 0 if no host sleeps */
    uint16_t number;       /* its index among the open groups, for its owner */
    uint32_t buffer;   /* its index among the buffers, if the group carries data or broadcasts */
    uint32_t leaves;   /* whether it runs its closing epoch */
    uint32_t apart[5]; /* pads the written fields to the start of a cache line */
    struct mcp_group group;
    struct bpf_spin_lock lock; /* protects `group` and the tables behind it */
    uint32_t arrivals[MCP_KERNEL_MESSAGES];
    struct mcp_step steps[MCP_KERNEL_STEPS];
    /* peers to send to, then (from nsends on) peers to wait for */
    struct mcp_peer peers[MCP_KERNEL_PEERS];
    uint32_t heard[MCP_KERNEL_MESSAGES]; /* as mcp_group_heard(), by CLOCK_MONOTONIC */
    uint32_t claims[MCP_KERNEL_MESSAGES];
    struct mcp_kernel_watched watched;
};

_Static_assert(offsetof(struct mcp_kernel_group, group.done) == MCP_KERNEL_STATE &&
                   offsetof(struct mcp_kernel_group, arrivals) <=
                       MCP_KERNEL_STATE + 64 - 7 * sizeof(uint32_t),
               "the state, the lock and the first arrivals lie in one line");

#endif

/* The final state of a closed group, for peers that send requests. */
struct mcp_kernel_late {
    struct mcp_ending ending;
    struct mcp_secret secret; /* authenticates its packets */
    uint64_t closed_ns;       /* for the owner: when the group was closed (CLOCK_MONOTONIC) */
    uint64_t uid;             /* for the owner: the group's user */
};

/* The release of a group: a cache line in which the NIC publishes the group's last complete epoch.
 * It is the only part of the group's state that hosts map. A page contains the releases of
 * several groups, all of the same user, whose processes may map the page read-only. */
struct mcp_kernel_line {
    myr_word done;      /* the release: the last complete epoch */
    myr_word failed;    /* if not 0, no further epoch completes: a node as in struct mcp_group, or
                           MCP_KERNEL_REMOVED */
    uint32_t apart[30]; /* so that groups do not share a cache line */
};

_Static_assert(sizeof(struct mcp_kernel_line) == MYR_LINE, "a line is a line of memory");

/* The value of `failed` after the owner has removed the NIC. */
#define MCP_KERNEL_REMOVED UINT32_MAX

/* The buffer of a group. If the group carries data, the two halves of the buffer contain the blocks
 * of the last even and the last odd epoch. If it broadcasts, both halves together form the window.
 * Each buffer is a separate map, which belongs to one user, whose processes may map it
 * read-only. */
enum { MCP_KERNEL_BUFFER = 32768 /* bytes, for an epoch */ };
struct mcp_kernel_buffer {
    uint64_t word[2][MCP_KERNEL_BUFFER / 8];
};

_Static_assert(MCP_BCAST_BYTES == sizeof(struct mcp_kernel_buffer), "a window has room");

/* The locations of a group's release and buffer. The descriptors may only be mapped read-only. */
struct mcp_kernel_seen {
    int page;        /* array of MCP_KERNEL_LINES times struct mcp_kernel_line */
    uint32_t line;   /* index of the group's release in the page */
    int buffer;      /* struct mcp_kernel_buffer; -1 if there is none */
    uint32_t number; /* for the owner: the group's index among the open groups */
};

/* MCP_KERNEL_LINES is the number of releases in a page. The other constants limit the numbers of
 * pages and buffers, in total and for each account, which consists of one user or several. The
 * limits of pages suffice even if each open group belongs to a different user and thus needs its
 * own page. MCP_KERNEL_NOWHERE replaces the index of a release or buffer that does not exist. */
enum {
    MCP_KERNEL_LINES = 32,
    MCP_KERNEL_PAGES = 1024,
    MCP_KERNEL_PAGES_OF_ONE = 256,
    MCP_KERNEL_BUFFERS = 1024,
    MCP_KERNEL_BUFFERS_OF_ONE = 128
};
#define MCP_KERNEL_NOWHERE UINT32_MAX

/* The address of the NIC, fixed when its program is loaded. */
struct mcp_kernel_nic_address {
    uint32_t interface; /* its index */
    struct mcp_ip ip;
    uint16_t port; /* network byte order */
    uint8_t mac[6];
    uint32_t owner; /* user id of the owner, who may ring for all groups */
};

/* A neighbour entry contains the hardware address of a host. The engine's links are indices into
 * the table of neighbours. Index 0 is unused and denotes an unknown address. */
struct mcp_kernel_neighbour {
    struct mcp_ip ip;
    uint8_t mac[6];
    uint8_t known;
    uint8_t zero;
};

/* A peer as passed to the owner: struct mcp_peer with an address instead of a link. */
struct mcp_kernel_peer {
    struct mcp_ip ip;
    uint16_t port; /* of its NIC, equal to this NIC's; network byte order */
    uint16_t node, slot;
    uint16_t blocks, at;
    uint16_t zero;
};

/* A notification to the owner that a group has been waiting for epoch `done` + 1 for several
 * scans. */
struct mcp_kernel_stuck {
    uint64_t key;
    uint32_t done;
    uint32_t reports; /* notifications in this epoch, including this one */
};

/* The interval of scans for stuck groups (nanoseconds). A scan visits all groups, so its time
 * cannot be charged to a single user. To use less than 1 % of a core, the program pauses after each
 * scan for 100 times the duration of the scan. The pause is limited to 1 s, because a scan of more
 * than 10 ms must have been delayed by the system. */
#define MCP_KERNEL_SCAN_NS UINT64_C(10000000)
#define MCP_KERNEL_REST_NS UINT64_C(1000000000)

static inline uint64_t mcp_kernel_rest(uint64_t took_ns)
{
    if (took_ns >= MCP_KERNEL_REST_NS / 100) {
        return MCP_KERNEL_REST_NS;
    }
    return 100 * took_ns > MCP_KERNEL_SCAN_NS ? 100 * took_ns : MCP_KERNEL_SCAN_NS;
}

/* The size of the ring buffer of notifications to the owner (bytes). */
enum { MCP_KERNEL_NOTIFICATIONS = 65536 };

/* Limits of the open groups, of the closed groups whose last epoch is kept, and of the known
 * hosts. */
enum { MCP_KERNEL_GROUPS = 1024, MCP_KERNEL_LATE = 16384, MCP_KERNEL_NEIGHBOURS = 4096 };

/* State that the owner keeps in maps of the program for its successor (owner.h), and that the
 * program itself does not read. */

/* The version of the contents of the maps. It must be incremented when the meaning of the contents
 * changes, unless the size of a map changes as well, which is detected anyway. */
enum { MCP_KERNEL_FORMAT = 1 };

/* The state of the NIC. */
struct mcp_kernel_kept {
    uint32_t format;
    uint32_t complete; /* whether it was attached to the interface with this index */
    uint32_t interface;
    uint32_t zero;
    uint64_t key; /* the owner's key for the NIC */
};

/* A process that has groups open, as the owner identifies it. */
enum { MCP_KERNEL_HOLDERS = 4096 };
struct mcp_kernel_holder {
    uint64_t number; /* 0 if the entry is free */
    uint64_t since_ns;
    uint32_t uid, zero;
    uint64_t groups[MCP_KERNEL_GROUPS / 64]; /* one bit for each group's index */
};

/* The user of a page of releases or, in the entries after the pages, of a buffer. */
struct mcp_kernel_page_owner {
    uint32_t owned, uid;
};

#endif
