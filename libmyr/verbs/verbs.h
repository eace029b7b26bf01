/* SPDX-License-Identifier: BSD-3-Clause */
/* The RDMA NIC, internal interface: an InfiniBand or RoCE NIC, used through libibverbs.
 *   calls.c        libibverbs, loaded on demand
 *   device.c       choosing a device, its port and address; opening it
 *   near.c         the devices near this process (NUMA)
 *   route.c        librdmacm: address and route resolution to another node's device
 *   link.c         queue pairs to other processes; RDMA writes
 *   data_messages.c  messages that carry data, and broadcasts
 *   words.c        words through which other nodes report a missing node
 *   verbs_group.c  executing the schedules of groups
 *   join.c         creating groups
 *   thread.c       the progress thread
 *   verbs_kind.c   all of it as a kind of NIC (nic_kind.h)
 *
 * As in Hoefler's ibbarr (Hoefler et al., "Fast Barrier Synchronization for InfiniBand", section
 * 3), a message is one RDMA write of the epoch into an arrival record in the memory of the
 * receiver. No receive requests are posted, and no process waits for a completion: a process that
 * waits for a message polls its own memory.
 *
 * In each group, only the first process of a node executes the schedule and has queue pairs. The
 * other processes of the node announce their arrival in shared memory, and wait there for the word
 * that releases them.
 *
 * The code relies on three ordering guarantees of a reliable connection:
 * - Completions are reported in the order in which requests were posted.
 * - After two writes to the same bytes, the bytes have the value of the second write
 *   (ibv_reg_mr(3), "ordering semantics", for memory registered without a relaxed ordering flag). A
 *   record therefore never returns to an older epoch, and needs no second word for odd epochs.
 * - A NIC processes the packets of a write in order. Once a process has found the word that the
 *   last packet writes, it may reuse the memory (data_messages.c).
 *
 * The code does not assume any order between writes to different words or to different processes.
 * It does assume that a process can detect a write by polling its memory. InfiniBand does not
 * guarantee this, but other software relies on it with many NICs and machines.
 *
 * Connections are reliable, so this code need not retransmit. A process that waits for a long time
 * posts empty writes to the peers that it waits for, from time to time. The NICs of these peers
 * acknowledge them as long as the peers are alive.
 *
 * A data message is identical to the packet that a soft NIC would send, with the same header and a
 * hash of all of its bytes, the check (firmware/wire.h). A single RDMA write stores it in a buffer
 * of the peer, the landing place. The peer polls the epoch in the header, then computes the hash,
 * and accepts the message only if the hash is equal to the check. The NIC may therefore deliver the
 * bytes of the write in any order, and InfiniBand indeed guarantees no order to a process that
 * polls memory.
 *
 * Hashing takes about a nanosecond per two bytes. The alternative, a second write for the epoch,
 * would depend on the order of the two writes, and with soft-RoCE would take as long as the first.
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
    bool ethernet; /* whether it is RoCE, else InfiniBand */
    uint8_t gid_index;
    uint8_t mtu;   /* enum ibv_mtu, the active one */
    uint16_t lid;  /* InfiniBand's local identifier */
    uint16_t pkey; /* partition key, as in packets */
    uint32_t speed;
    union ibv_gid gid;
    bool routes; /* whether librdmacm finds the device by its address */
};

/* Bits of a device's address: its link layer, and whether librdmacm resolves its routes. */
enum { MYR_VERBS_ETHERNET = 1, MYR_VERBS_ROUTES = 2 };

/* The address of a device, for other nodes. */
struct myr_verbs_address {
    uint8_t gid[16];
    uint16_t lid;
    uint8_t mtu, bits;
};

/* The path to another device and its MTU, on which both sides must agree. */
struct myr_verbs_way {
    struct ibv_ah_attr to;
    uint8_t mtu; /* enum ibv_mtu */
};

/* A connection to another process. */
struct myr_verbs_link {
    uint64_t node;    /* identity of that process's segment */
    uint32_t process; /* number of that process in its segment, which is never reused */
    uint32_t index;   /* index among this NIC's links */
    struct ibv_qp *qp;
    uint32_t remote;            /* number of the remote queue pair; 0 if not connected */
    uint32_t posted, completed; /* numbers of work requests so far; these wrap around */
    uint32_t inline_most;       /* inline limit in bytes, at least 4 */
    uint32_t heard_ms;          /* when the peer last acknowledged a probe; 0 if never */
    bool asked;                 /* whether a probe is outstanding */
    bool broken;                /* a request has failed, so the connection is unusable */
};

/* The state of a group that a node's processes share; their arrivals follow. */
struct myr_verbs_shared {
    myr_word report; /* the number of a missing node + 1; written by processes that do not execute
                        the schedule */
};

/* Words into which other nodes write to report a missing node, one for each group whose schedule
 * this process executes.
 *
 * A node that reports a missing node cannot know whether the receiver of the report has already
 * left the group. If the receiver's memory were no longer registered, such a late write would break
 * a connection that other groups need. Therefore the words for reports are not in the memory of a
 * group, but are registered as long as the NIC is open. A freed word is eventually reused by
 * another group, with another generation, which is part of the reported value. */
enum { MYR_VERBS_WORDS = 4096, MYR_VERBS_GENERATIONS = 1 << 15 };
struct myr_verbs_words {
    struct ibv_mr *memory;
    myr_word *word;
    uint32_t taken, given; /* numbers of words allocated and freed so far; these wrap around */
    uint16_t free[MYR_VERBS_WORDS];       /* in the order in which they were freed */
    uint16_t generation[MYR_VERBS_WORDS]; /* 1 to MYR_VERBS_GENERATIONS - 1 */
};

static inline uint32_t myr_verbs_report(uint32_t generation, uint32_t node)
{
    return generation << 17 | (node + 1);
}

/* Another node that this node sends to or waits for. */
struct myr_verbs_peer {
    uint32_t node;
    struct myr_verbs_link *link;
    uint32_t key, report_key;
    uint64_t arrivals, report, landing; /* remote addresses */
    uint32_t generation;                /* of the word `report` */
    uint32_t posted; /* the link's last request that reads this group's memory; 0 if none */
};

/* The part of a group in this process. A process that does not execute the schedule has no peers.
 *
 * In a group that carries data, a node has two landing places for each message that it waits for,
 * one for even and one for odd epochs, like the buffers (engine.h). It also has two places for each
 * message that it sends. In a group that broadcasts, the landing places form a window, like the
 * slots of the broadcasts (bcast.h), and blocks are forwarded directly from them. In both cases no
 * place is overwritten before the NIC has finished with it. */
struct myr_verbs_group {
    struct mcp_group *mcp;
    struct myr_verbs_shared *shared;
    const myr_word *report; /* written by other nodes; NULL if there is no such word */
    uint32_t generation;    /* generation of the word `report` */
    myr_word *arrivals;     /* of this node's processes */
    struct myr_record *record;
    uint32_t locals;
    bool runs;
    struct myr_nic_data *data;  /* NULL if the group carries no data, or was left */
    uint8_t *landing, *staging; /* data messages received and sent */
    uint32_t stride;            /* distance between two data messages in bytes; 0 if none */
    uint32_t next_bcast;        /* the broadcast whose data message is forwarded next */
    struct ibv_mr *memory;
    uint32_t peers, asked_ms;
    uint32_t last;                /* its last epoch, once it was left */
    struct myr_verbs_group *next; /* in the list of groups that were left */
    struct myr_verbs_peer peer[];
};

struct myr_verbs {
    struct myr_verbs_device device;
    struct myr_segment *segment;
    pthread_mutex_t mutex; /* protects all of the following, and the engines of the groups */
    struct myr_verbs_link **link;
    struct myr_verbs_group **group; /* groups whose schedule this process executes */
    struct myr_verbs_group
        *left; /* groups that this process has left, but whose memory NICs may still access */
    uint32_t links, groups;
    uint32_t next; /* the next group to poll, see verbs_group.c */
    struct myr_verbs_words words;
    struct myr_verbs_thread *thread;
    struct myr_verbs_shown *shown;
    struct myr_record *record;     /* the record of `shown`; NULL if there was no memory for it */
    struct myr_verbs_shown hidden; /* what `shown` points to if there is no record */
};

/* ---- verbs_kind.c ---- */

/* Open a NIC with the best of the devices in `wanted`, like myr_verbs_device_open(), and close
 * it. */
enum myr_status myr_verbs_open(struct myr_segment *segment, const struct myr_verbs_calls *calls,
                               const char *wanted, struct myr_verbs **nic, struct myr_error *error);
void myr_verbs_close(struct myr_verbs *nic);

/* ---- device.c ---- */

/* Opens an active port that the user wants. `wanted` lists devices, or device:port, separated by
 * commas, in order of preference; NULL, "" and "all" select the fastest device. If several devices
 * in one network are equally good, the number of the process on the node, `process`, selects one of
 * them. Returns MYR_ERR_NOT_THERE if the machine has no such port. */
enum myr_status myr_verbs_device_open(const struct myr_verbs_calls *calls, const char *wanted,
                                      uint32_t process, struct myr_verbs_device *device,
                                      struct myr_error *error);
void myr_verbs_device_close(struct myr_verbs_device *device);

/* Registers memory for remote writes. Returns NULL, with the error (MYR_ERR_SYSTEM), if that
 * fails. */
struct ibv_mr *myr_verbs_register(const struct myr_verbs_device *device, void *memory, size_t bytes,
                                  struct myr_error *error);

/* Returns whether `wanted` is invalid, because it consists only of separators. If so, the reason is
 * written to why[bytes]. */
bool myr_verbs_devices_wrong(const char *wanted, char *why, size_t bytes);

void myr_verbs_device_address(const struct myr_verbs_device *device,
                              struct myr_verbs_address *address);

/* ---- near.c ---- */

/* Returns whether all CPUs in this process's affinity mask are near the device with this sysfs
 * directory. */
bool myr_verbs_is_near(const char *dir);

/* ---- route.c ---- */

/* Returns the table of librdmacm, or NULL if it is not available. */
const struct myr_cm_calls *myr_verbs_load_cm(void);

/* Returns whether librdmacm finds the device by its address. */
bool myr_verbs_can_route(const struct myr_verbs_device *device);

/* Resolves the route to a device with this address by librdmacm. `way->mtu` is initially the MTU of
 * both devices, and is reduced to the MTU of the path. Returns 0 or, possibly after seconds, an
 * error number. */
int myr_verbs_route(const struct myr_verbs_device *device, const struct myr_verbs_address *address,
                    struct myr_verbs_way *way);

/* ---- link.c; requires the mutex ---- */

/* Returns the link to a process, and creates it if it does not exist. On failure returns NULL, with
 * a message in `error`. The link exists until the NIC closes all links, because other communicators
 * of the job are likely to need it. */
struct myr_verbs_link *myr_verbs_link(struct myr_verbs *nic, uint64_t node, uint32_t process,
                                      struct myr_error *error);

/* Connects the link to the device and the queue pair number of the other side. Does nothing if the
 * link is already connected. */
enum myr_status myr_verbs_connect(struct myr_verbs *nic, struct myr_verbs_link *link,
                                  const struct myr_verbs_address *address, uint32_t remote,
                                  struct myr_error *error);

/* Writes to the memory of the process at the other end of the link. Errors are reported later, by
 * the link's `broken`. Data of up to inline_most bytes are copied before this function returns.
 * Longer data must not change until the request has completed, or until their end is known to have
 * arrived. `local_key` is the key of the memory at `from`; it is not used for a single word. */
void myr_verbs_write(struct myr_verbs *nic, struct myr_verbs_link *link, uint64_t address,
                     uint32_t key, const void *from, uint32_t bytes, uint32_t local_key);

static inline void myr_verbs_write_word(struct myr_verbs *nic, struct myr_verbs_link *link,
                                        uint64_t address, uint32_t key, uint32_t value)
{
    myr_verbs_write(nic, link, address, key, &value, sizeof(value), 0);
}

/* Returns whether request number `posted` of the link has completed, or failed permanently. */
static inline bool myr_verbs_completed(const struct myr_verbs_link *link, uint32_t posted)
{
    return link->broken || myr_epoch_reached(link->completed, posted);
}

/* Probes the other process. myr_verbs_collect() records the answer in `heard_ms`. */
void myr_verbs_probe(struct myr_verbs *nic, struct myr_verbs_link *link);

/* Polls the completion queue. */
void myr_verbs_collect(struct myr_verbs *nic);

/* Closes all links, once the peers have acknowledged all writes. */
void myr_verbs_close_links(struct myr_verbs *nic);

/* ---- data_messages.c; requires the mutex, except for myr_verbs_bcast() ---- */

/* Returns the distance between landing places of data messages with up to `payload` bytes of
 * payload. */
uint32_t myr_verbs_stride(uint32_t payload);

/* Sends the message, in a group that carries data. */
void myr_verbs_send(struct myr_verbs *nic, struct myr_verbs_group *own,
                    struct mcp_message *message);

/* Takes a data message that the present step waits for. Returns false if there is none. */
bool myr_verbs_take(struct myr_verbs_group *own);

/* Stores the block of a broadcast whose root is on this node, at the place where the processes of
 * the node and the process that executes the schedule expect it. */
void myr_verbs_bcast(struct myr_verbs_group *own, uint32_t number, const void *block,
                     uint32_t bytes);

/* Forwards the blocks that have arrived. */
void myr_verbs_forward_blocks(struct myr_verbs *nic, struct myr_verbs_group *own);

/* Returns the slot of a broadcast. */
struct mcp_bcast_slot *myr_verbs_slot(const struct myr_verbs_group *own, uint32_t number);

/* ---- words.c ---- */

enum myr_status myr_verbs_words_open(struct myr_verbs *nic, struct myr_error *error);
void myr_verbs_words_close(struct myr_verbs *nic);

/* Allocate a word for a group, and free it if the group has one. Both require the mutex. */
enum myr_status myr_verbs_word_take(struct myr_verbs *nic, struct myr_verbs_group *own,
                                    struct myr_error *error);
void myr_verbs_word_give(struct myr_verbs *nic, struct myr_verbs_group *own);

/* ---- thread.c ---- */

/* Start a thread that advances all groups whose schedule this process executes, and stop it if
 * there is one. */
enum myr_status myr_verbs_thread_start(struct myr_verbs *nic, struct myr_error *error);
void myr_verbs_thread_stop(struct myr_verbs *nic);

/* ---- verbs_group.c ---- */

extern const struct myr_group_ops myr_verbs_ops;

/* Wakes the processes that sleep on this word. The word after it contains their number. */
static inline void myr_verbs_wake(const myr_word *word)
{
    if (0 != myr_load_relaxed(word + 1)) {
        os_futex_wake((const void *)word);
    }
}

/* Advances some of the groups. */
void myr_verbs_poll(struct myr_verbs *nic);

/* Returns a measure of progress: packets sent, and barriers and broadcasts completed since the NIC
 * was opened. */
uint64_t myr_verbs_moves(struct myr_verbs *nic);

/* Frees the memory of all groups that were left; to be called after myr_verbs_close_links(). */
void myr_verbs_free_left_groups(struct myr_verbs *nic);

/* ---- join.c ---- */

enum myr_status myr_verbs_prepare(struct myr_verbs *nic, struct myr_waiter *waiter,
                                  const struct myr_nic_members *members,
                                  myr_schedule_fn schedule_of, const void *context,
                                  struct myr_nic_group *group, void *blob, struct myr_error *error);
enum myr_status myr_verbs_join(struct myr_verbs *nic, const struct myr_nic_members *members,
                               myr_schedule_fn schedule_of, const void *context, const void *blobs,
                               struct myr_nic_group *group, struct myr_error *error);

/* The description of a node's part of a group, which the other nodes get as a blob. */
enum { MYR_VERBS_PEERS = 52 };
struct myr_verbs_blob {
    struct myr_verbs_address address;
    uint32_t key;                         /* remote key of the group's memory */
    uint64_t arrivals;                    /* address of its arrival records */
    uint64_t landing;                     /* address of its landing places */
    uint64_t report;                      /* address of the word for reports of a missing node */
    uint32_t report_key;                  /* remote key of that word's memory */
    uint32_t generation;                  /* generation of that word */
    uint32_t queue_pair[MYR_VERBS_PEERS]; /* one for each of its peers, by their numbers */
};
_Static_assert(sizeof(struct myr_verbs_blob) <= MYR_BLOB_MOST, "a blob has this limit");

#endif
