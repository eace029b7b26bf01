/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA NIC as its own files see it: an InfiniBand or RoCE card, by libibverbs.
 *
 *   calls.c    libibverbs, loaded when it is wanted
 *   device.c   which device, which of its addresses; opening it
 *   link.c     queue pairs to other processes; writing into their memory
 *   group.c    groups that are played so
 *   kind.c     all of it as a kind of NIC (nic_kind.h)
 *
 * Hoefler's ibbarr (Hoefler et al., "Fast Barrier Synchronization for InfiniBand", section 3): an
 * arrival record is remote memory, and a message is one RDMA write of the epoch into it. Nothing is
 * received, and nobody waits for a completion. A process that waits polls its own memory.
 *
 * Of a node's processes in a group, the first one plays it: it has the queue pairs. The others
 * arrive in the node's memory, and wait for the release there. Messages of a node come by one queue
 * pair each way, so they come in order: a record never goes back.
 *
 * Connections are reliable, so nothing is ever asked for or sent again here. Who waits for long
 * writes nothing, now and then, to the processes that it waits for: their cards acknowledge it as
 * long as they live.
 */
#ifndef MYR_VERBS_H
#define MYR_VERBS_H

#include <pthread.h>

#include "firmware/counters.h"
#include "libmyr/nic_kind.h"
#include "libmyr/verbs/calls.h"

struct myr_verbs_device {
    const struct myr_verbs_calls *calls;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    char name[IBV_SYSFS_NAME_MAX];
    uint8_t port;
    bool ethernet; /* RoCE; else InfiniBand */
    uint8_t gid_index;
    uint8_t mtu;  /* enum ibv_mtu, that is active */
    uint16_t lid; /* InfiniBand's */
    union ibv_gid gid;
};

/* What another process must know of a device to send to it. */
struct myr_verbs_address {
    uint8_t gid[16];
    uint16_t lid;
    uint8_t mtu, ethernet;
};

/* A connection to another process. */
struct myr_verbs_link {
    uint64_t node;    /* that process's: the identity of its segment, */
    uint32_t process; /* ... and its index there */
    uint32_t place;   /* among this NIC's links */
    struct ibv_qp *qp;
    uint32_t remote;            /* its queue pair's number; 0: not connected */
    uint32_t posted, completed; /* work requests, of all time; these wrap around */
    uint32_t heard_ms;          /* when it last acknowledged a question; 0: never */
    bool asked;                 /* a question is under way */
    bool broken;                /* a request has failed: nothing more gets through */
};

struct myr_verbs_group;

struct myr_verbs {
    struct myr_verbs_device device;
    struct myr_segment *segment;
    pthread_mutex_t mutex; /* of all that follows, and of the groups' engines */
    struct myr_verbs_link **link;
    struct myr_verbs_group **group; /* that this process plays */
    struct myr_verbs_group *left;   /* that it has left, and others may yet write into */
    uint32_t links, groups;
    uint32_t next; /* which group is looked at next, see group.c */
    struct mcp_counters counters;
};

/* ---- device.c ---- */

/*
 * Open the first port that is active and is wanted: `wanted` has names of devices, or device:port,
 * separated by commas, best first; NULL, "" and "all": any. MYR_ERR_NOT_THERE: the machine has
 * none.
 */
enum myr_status myr_verbs_device_open(const struct myr_verbs_calls *calls, const char *wanted,
                                      struct myr_verbs_device *device, struct myr_error *error);
void myr_verbs_device_close(struct myr_verbs_device *device);

void myr_verbs_device_address(const struct myr_verbs_device *device,
                              struct myr_verbs_address *address);

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

/* Write a word into the other process's memory. Whether that worked shows by `broken`, later. */
void myr_verbs_write(struct myr_verbs *nic, struct myr_verbs_link *link, uint64_t address,
                     uint32_t key, uint32_t value);

/* Does the other process live? The answer comes by myr_verbs_collect(), as `heard_ms`. */
void myr_verbs_ask(struct myr_verbs *nic, struct myr_verbs_link *link);

/* Take what the device has completed. */
void myr_verbs_collect(struct myr_verbs *nic);

/* Close all links, once the others have acknowledged all that was written. */
void myr_verbs_hang_up(struct myr_verbs *nic);

/* ---- group.c ---- */

enum myr_status myr_verbs_prepare(struct myr_verbs *nic, struct myr_waiter *waiter,
                                  const struct myr_nic_members *members,
                                  myr_schedule_fn schedule_of, const void *context,
                                  struct myr_nic_group *group, void *blob, struct myr_error *error);
enum myr_status myr_verbs_join(struct myr_verbs *nic, const struct myr_nic_members *members,
                               myr_schedule_fn schedule_of, const void *context, const void *blobs,
                               struct myr_nic_group *group, struct myr_error *error);

/* Go on with some of the groups. */
void myr_verbs_poll(struct myr_verbs *nic);

/* Give back the memory of all groups that were left; after myr_verbs_hang_up(). */
void myr_verbs_clear(struct myr_verbs *nic);

/* What a node says of its part of a group. */
enum { MYR_VERBS_PEERS = 54 };
struct myr_verbs_blob {
    struct myr_verbs_address address;
    uint32_t key;                         /* of the memory that both of the following lie in */
    uint64_t arrivals;                    /* addresses: its arrival records, */
    uint64_t told;                        /* ... and the word for a node that is missing */
    uint32_t queue_pair[MYR_VERBS_PEERS]; /* for each of its peers, by their numbers */
};
_Static_assert(sizeof(struct myr_verbs_blob) <= MYR_BLOB_MOST, "it travels as a blob");

#endif
