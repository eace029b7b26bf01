/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA NIC as its own files see it: an InfiniBand or RoCE card, by libibverbs.
 *
 *   calls.c    libibverbs, loaded when it is wanted
 *   device.c   which device, which of its ports and addresses; opening it
 *   near.c     which devices are near this process
 *   route.c    librdmacm: the way to another node's device
 *   link.c     queue pairs to other processes; writing into their memory
 *   parcels.c  messages that carry data, and broadcasts
 *   words.c    words by which other nodes tell of one that is missing
 *   group.c    groups that are played so
 *   join.c     making them
 *   thread.c   a thread that plays them
 *   kind.c     all of it as a kind of NIC (nic_kind.h)
 *
 * Hoefler's ibbarr (Hoefler et al., "Fast Barrier Synchronization for InfiniBand", section 3): an
 * arrival record is remote memory, and a message is one RDMA write of the epoch into it. Nothing is
 * received, and nobody waits for a completion. A process that waits polls its own memory.
 *
 * Of a node's processes in a group, the first one plays it: it has the queue pairs. The others
 * arrive in the node's memory, and wait for the release there.
 *
 * Three orders are relied on, which a reliable queue pair has. Requests are reported in the order
 * in which they were posted. Of two writes to the same bytes the second one stays (ibv_reg_mr(3),
 * "ordering semantics", where memory is registered without a flag for another order): so a record
 * never goes back, and needs no second word for odd epochs. And a card takes the packets of a write
 * in their order: whoever has seen the last one's word may give back the memory (parcels.c). No
 * order is relied on between writes to different words, or to different processes. That memory is
 * polled at all is more than InfiniBand promises. Cards and machines that others poll on do it.
 *
 * Connections are reliable, so nothing is ever asked for or sent again here. A process that waits
 * for long posts empty writes, now and then, to the peers it waits for: their cards acknowledge
 * them as long as they live.
 *
 * A message that carries data is a parcel: what a soft NIC would put on the wire, with its header
 * and the check over all of it (firmware/wire.h). One write puts it into a landing place at the
 * peer, which looks at the epoch in the header, then at the check. Until that fits, the parcel is
 * not there. So nothing depends on the order in which a card delivers the bytes of a write, or two
 * writes: InfiniBand promises none to who polls memory. The check costs a nanosecond for each two
 * bytes or so, and on soft-RoCE a second write costs as much as the first.
 */
#ifndef MYR_VERBS_H
#define MYR_VERBS_H

#include <pthread.h>

#include "firmware/engine.h"
#include "libmyr/nic_kind.h"
#include "libmyr/verbs/calls.h"
#include "libmyr/verbs/shown.h"
#include "os/futex.h"

struct myr_verbs_device {
    const struct myr_verbs_calls *calls;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    char name[IBV_SYSFS_NAME_MAX];
    uint8_t port;
    bool ethernet; /* RoCE; else InfiniBand */
    uint8_t gid_index;
    uint8_t mtu;   /* enum ibv_mtu, that is active */
    uint16_t lid;  /* InfiniBand's, */
    uint16_t pkey; /* ... and the partition that is used, as it is in packets */
    uint32_t speed;
    union ibv_gid gid;
    bool routes; /* librdmacm knows it by that address */
};

/* Bits of a device's address: what it is, and whether it asks librdmacm for ways. */
enum { MYR_VERBS_ETHERNET = 1, MYR_VERBS_ROUTES = 2 };

/* What another process must know of a device to send to it. */
struct myr_verbs_address {
    uint8_t gid[16];
    uint16_t lid;
    uint8_t mtu, bits;
};

/* How packets get to another device, and how long they may be: both sides must mean the same. */
struct myr_verbs_way {
    struct ibv_ah_attr to;
    uint8_t mtu; /* enum ibv_mtu */
};

/* A connection to another process. */
struct myr_verbs_link {
    uint64_t node;    /* that process's: the identity of its segment, */
    uint32_t process; /* ... and its number there, which no other process ever gets */
    uint32_t place;   /* among this NIC's links */
    struct ibv_qp *qp;
    uint32_t remote;            /* its queue pair's number; 0: not connected */
    uint32_t posted, completed; /* work requests, of all time; these wrap around */
    uint32_t inline_most;       /* bytes that a request may have within itself, at least 4 */
    uint32_t heard_ms;          /* when it last acknowledged a question; 0: never */
    bool asked;                 /* a question is under way */
    bool broken;                /* a request has failed: nothing more gets through */
};

/* What a node's processes share of a group besides itself; their arrivals follow. */
struct myr_verbs_shared {
    myr_word told; /* the number of a node that is missing + 1; by those that do not play */
};

/*
 * Words by which other nodes tell that a node is missing, one for each group that is played. Who
 * tells does not know whether this node is through with the group, and has left it. So these words
 * are no part of a group's memory: they are registered as long as the NIC is open, or a late write
 * would break a connection that other groups need. A word that a group has given back goes to
 * another one some time, with another turn. What is told has the turn in it.
 */
enum { MYR_VERBS_WORDS = 4096, MYR_VERBS_TURNS = 1 << 15 };
struct myr_verbs_words {
    struct ibv_mr *memory;
    myr_word *word;
    uint32_t taken, given;          /* how many words, of all time; these wrap around */
    uint16_t free[MYR_VERBS_WORDS]; /* in the order in which they came back */
    uint16_t turn[MYR_VERBS_WORDS]; /* 1 to MYR_VERBS_TURNS - 1 */
};

static inline uint32_t myr_verbs_telling(uint32_t turn, uint32_t node)
{
    return turn << 17 | (node + 1);
}

/* Another node that this one sends to or waits for. */
struct myr_verbs_peer {
    uint32_t node;
    struct myr_verbs_link *link;
    uint32_t key, told_key;
    uint64_t arrivals, told, landing; /* addresses there */
    uint32_t turn;                    /* of the word `told` */
    uint32_t posted; /* the link's last request that reads this group's memory; 0: none has */
};

/*
 * This process's part of a group. Whoever does not play has no peers.
 *
 * In a group that carries data, a peer's landing places are two for each message that it waits for,
 * for even and odd epochs, like the buffers (engine.h); and the sender keeps what it sends as long.
 * In one that broadcasts they are a window like that of the slots (bcast.h); what has come is sent
 * on from there. Either way nobody writes there anew before the card has done with it.
 */
struct myr_verbs_group {
    struct mcp_group *mcp;
    struct myr_verbs_shared *shared;
    const myr_word *told; /* by other nodes; NULL: it has no such word */
    uint32_t turn;        /* ... the word's */
    myr_word *arrivals;   /* of this node's processes */
    struct myr_record *record;
    uint32_t locals;
    bool plays;
    struct myr_nic_data *data;  /* NULL: it carries none, or is left */
    uint8_t *landing, *staging; /* parcels that have come, and that were sent */
    uint32_t stride;            /* bytes between two of them; 0: there are none */
    uint32_t next_bcast;        /* the broadcast whose parcel is handed on next */
    struct ibv_mr *memory;
    uint32_t peers, asked_ms;
    uint32_t last;                /* once it is left: the epoch that it ends with */
    struct myr_verbs_group *next; /* of those that are left */
    struct myr_verbs_peer peer[];
};

struct myr_verbs {
    struct myr_verbs_device device;
    struct myr_segment *segment;
    pthread_mutex_t mutex; /* of all that follows, and of the groups' engines */
    struct myr_verbs_link **link;
    struct myr_verbs_group **group; /* that this process plays */
    struct myr_verbs_group *left;   /* that it has left, and cards may yet write or read */
    uint32_t links, groups;
    uint32_t next; /* which group is looked at next, see group.c */
    struct myr_verbs_words words;
    struct myr_verbs_thread *thread;
    struct myr_verbs_shown *shown;
    struct myr_record *record;     /* where that lies; NULL: there was no room, so it is */
    struct myr_verbs_shown hidden; /* ... this, which nobody sees */
};

/* ---- kind.c ---- */

/* Have a NIC with the best device that is wanted (as myr_verbs_device_open()); and give it back. */
enum myr_status myr_verbs_open(struct myr_segment *segment, const struct myr_verbs_calls *calls,
                               const char *wanted, struct myr_verbs **nic, struct myr_error *error);
void myr_verbs_close(struct myr_verbs *nic);

/* ---- device.c ---- */

/*
 * Open a port that is active and is wanted: `wanted` has names of devices, or device:port,
 * separated by commas, best first; NULL, "" and "all": the fastest. Where several are as good and
 * in one network, process number `process` of the node takes its share. MYR_ERR_NOT_THERE: the
 * machine has none.
 */
enum myr_status myr_verbs_device_open(const struct myr_verbs_calls *calls, const char *wanted,
                                      uint32_t process, struct myr_verbs_device *device,
                                      struct myr_error *error);
void myr_verbs_device_close(struct myr_verbs_device *device);

/* Register memory that other processes' cards write. NULL, with the error (MYR_ERR_SYSTEM): that
 * cannot be. */
struct ibv_mr *myr_verbs_register(const struct myr_verbs_device *device, void *memory, size_t bytes,
                                  struct myr_error *error);

/* Are there separators in such a list, and no word? `why` says so then, of `bytes`. */
bool myr_verbs_devices_wrong(const char *wanted, char *why, size_t bytes);

void myr_verbs_device_address(const struct myr_verbs_device *device,
                              struct myr_verbs_address *address);

/* ---- near.c ---- */

/* Are all processors that this process may use near the device, whose folder in sysfs that is? */
bool myr_verbs_is_near(const char *folder);

/* ---- route.c ---- */

/* librdmacm; NULL: it is not there. */
const struct myr_cm_calls *myr_verbs_load_cm(void);

/* Does librdmacm know the device by its address? */
bool myr_verbs_can_route(const struct myr_verbs_device *device);

/*
 * Ask librdmacm for the way to a device with that address. `way->mtu` is what both devices take; it
 * becomes less if the way takes less. 0, or an error number; it may take seconds to find none.
 */
int myr_verbs_route(const struct myr_verbs_device *device, const struct myr_verbs_address *address,
                    struct myr_verbs_way *way);

/* ---- link.c; with the mutex ---- */

/* The link to a process, made if there is none; NULL with a line if it cannot be had. It stays
 * until they all hang up: others of the job's communicators will want it. */
struct myr_verbs_link *myr_verbs_link(struct myr_verbs *nic, uint64_t node, uint32_t process,
                                      struct myr_error *error);

/* The other side's device, and its queue pair's number. Nothing is to be done where that is known.
 */
enum myr_status myr_verbs_connect(struct myr_verbs *nic, struct myr_verbs_link *link,
                                  const struct myr_verbs_address *address, uint32_t remote,
                                  struct myr_error *error);

/*
 * Write into the other process's memory. Whether that worked shows by `broken`, later. What is no
 * longer than inline_most has been read when this returns; else it must stay as it is until the
 * request is completed, or until its end is known to have come. `local_key` is that of the memory
 * where it lies; of no matter for a word.
 */
void myr_verbs_write(struct myr_verbs *nic, struct myr_verbs_link *link, uint64_t address,
                     uint32_t key, const void *from, uint32_t bytes, uint32_t local_key);

static inline void myr_verbs_write_word(struct myr_verbs *nic, struct myr_verbs_link *link,
                                        uint64_t address, uint32_t key, uint32_t value)
{
    myr_verbs_write(nic, link, address, key, &value, sizeof(value), 0);
}

/* Has the request been completed that was the link's `posted`-th? Or never will be. */
static inline bool myr_verbs_completed(const struct myr_verbs_link *link, uint32_t posted)
{
    return link->broken || myr_epoch_reached(link->completed, posted);
}

/* Does the other process live? The answer comes by myr_verbs_collect(), as `heard_ms`. */
void myr_verbs_ask(struct myr_verbs *nic, struct myr_verbs_link *link);

/* Take what the device has completed. */
void myr_verbs_collect(struct myr_verbs *nic);

/* Close all links, once the others have acknowledged all that was written. */
void myr_verbs_hang_up(struct myr_verbs *nic);

/* ---- parcels.c; with the mutex, but for myr_verbs_bcast() ---- */

/* How far apart parcels are whose payloads have up to so many bytes. */
uint32_t myr_verbs_stride(uint32_t payload);

/* In a group that carries data: send the message. */
void myr_verbs_send(struct myr_verbs *nic, struct myr_verbs_group *own,
                    struct mcp_message *message);

/* Take what has come of what the present step waits for. False: nothing. */
bool myr_verbs_take(struct myr_verbs_group *own);

/* A process of this node is the root of a broadcast: put the block where this node's processes
 * find it, and where the one that plays does. */
void myr_verbs_bcast(struct myr_verbs_group *own, uint32_t number, const void *block,
                     uint32_t bytes);

/* Hand on the blocks that have come. */
void myr_verbs_hand_on(struct myr_verbs *nic, struct myr_verbs_group *own);

/* The slot of a broadcast. */
struct mcp_bcast_slot *myr_verbs_slot(const struct myr_verbs_group *own, uint32_t number);

/* ---- words.c ---- */

enum myr_status myr_verbs_words_open(struct myr_verbs *nic, struct myr_error *error);
void myr_verbs_words_close(struct myr_verbs *nic);

/* Give a group a word; and take it back, if it has one. With the mutex. */
enum myr_status myr_verbs_word_take(struct myr_verbs *nic, struct myr_verbs_group *own,
                                    struct myr_error *error);
void myr_verbs_word_give(struct myr_verbs *nic, struct myr_verbs_group *own);

/* ---- thread.c ---- */

/* Have a thread go on with all groups that this process plays; and end it, if there is one. */
enum myr_status myr_verbs_thread_start(struct myr_verbs *nic, struct myr_error *error);
void myr_verbs_thread_stop(struct myr_verbs *nic);

/* ---- group.c ---- */

extern const struct myr_player myr_verbs_player;

/* Somebody sleeps on this word, and on the count of sleepers behind it. */
static inline void myr_verbs_wake(const myr_word *word)
{
    if (0 != myr_load_relaxed(word + 1)) {
        os_futex_wake((const void *)word);
    }
}

/* Go on with some of the groups. */
void myr_verbs_poll(struct myr_verbs *nic);

/* How much has been sent and completed since the NIC was opened. */
uint64_t myr_verbs_moves(struct myr_verbs *nic);

/* Give back the memory of all groups that were left; after myr_verbs_hang_up(). */
void myr_verbs_clear(struct myr_verbs *nic);

/* ---- join.c ---- */

enum myr_status myr_verbs_prepare(struct myr_verbs *nic, struct myr_waiter *waiter,
                                  const struct myr_nic_members *members,
                                  myr_schedule_fn schedule_of, const void *context,
                                  struct myr_nic_group *group, void *blob, struct myr_error *error);
enum myr_status myr_verbs_join(struct myr_verbs *nic, const struct myr_nic_members *members,
                               myr_schedule_fn schedule_of, const void *context, const void *blobs,
                               struct myr_nic_group *group, struct myr_error *error);

/* What a node says of its part of a group. */
enum { MYR_VERBS_PEERS = 52 };
struct myr_verbs_blob {
    struct myr_verbs_address address;
    uint32_t key;                         /* of the group's memory, */
    uint64_t arrivals;                    /* ... where its arrival records are, */
    uint64_t landing;                     /* ... and its landing places */
    uint64_t told;                        /* the word for a node that is missing, */
    uint32_t told_key, turn;              /* ... the key of its memory, and its turn */
    uint32_t queue_pair[MYR_VERBS_PEERS]; /* for each of its peers, by their numbers */
};
_Static_assert(sizeof(struct myr_verbs_blob) <= MYR_BLOB_MOST, "it travels as a blob");

#endif
