/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process tells the others when it starts, and what it knows of them.
 *
 * The words go by the modex, before Open MPI's start-up fence, and for the processes of this node
 * by the shared segment, too. Afterwards everybody can read everybody's, so all members of a
 * communicator compare the same words. Of other nodes' processes the segment gets the words that
 * any process of this node has asked for. What was read is kept once for each process and once for
 * each NIC, however many communicators they are in.
 *
 * Threads: any may ask; open and close by one, before and after everything else.
 */
#ifndef NICBARR_PEERS_H
#define NICBARR_PEERS_H

#include "ompi/release.h"

#include "coll_nicbarr/census.h"
#include "coll_nicbarr/hello.h"

/* What keeps a process from taking part. */
enum nicbarr_trouble {
    NICBARR_TROUBLE_NONE,
    NICBARR_NO_COMPONENT,     /* it has said nothing, or in another version's words */
    NICBARR_NO_SEGMENT,       /* it says why */
    NICBARR_OTHER_PARAMETERS, /* or another version */
    NICBARR_NO_NIC,           /* it says why; matters between nodes only */
    NICBARR_NIC_LATER,        /* it has none yet; likewise */
};

/* Tell the others, whose public key is that of `keys`; Open MPI's error. */
int nicbarr_peers_open(const struct nicbarr_hello *own, const struct myr_key_pair *keys);
void nicbarr_peers_close(void);

/* What this process has said. */
const struct nicbarr_hello *nicbarr_hello_own(void);

/* What is known of a process, which may take long where it is still starting. Valid until closing;
 * NULL where there is no memory. */
const struct nicbarr_peer *nicbarr_peer(const opal_process_name_t *name);

/* The name of a NIC by its number among all that were met (struct nicbarr_peer); valid until
 * closing. */
const struct myr_nic_name *nicbarr_nic_name(uint32_t nic, uint32_t number);

/* Has it a public key? If so, agree with it, as this process's node; that is done once for each
 * node. False where its key is none, or there is no memory. Any thread. */
bool nicbarr_peer_has_key(const struct nicbarr_peer *peer);
bool nicbarr_peer_agree(const struct nicbarr_peer *peer, struct myr_agreed_key *key);

/* What `peer` is in trouble for, in a line. */
const char *nicbarr_peer_trouble(const opal_process_name_t *name, const struct nicbarr_peer *peer,
                                 char *text, size_t bytes);

/* The members of `comm`, by rank, to be given back by free(); NULL where there is no memory. */
const struct nicbarr_peer **nicbarr_peers_of(ompi_communicator_t *comm);

/* nicbarr_census() of them, with all that were met. */
enum nicbarr_counted nicbarr_peers_census(const struct nicbarr_peer *const *list,
                                          ompi_communicator_t *comm, uint32_t by_segment,
                                          struct nicbarr_nodes *nodes);

/* The job's identity, which is the same on all nodes: that of its first process's segment. 0: that
 * process has none. */
uint64_t nicbarr_job_identity(void);

/*
 * Words of processes that have more to say than when they started (`later`), as the bytes of
 * hello.h. They have more to say once. False where the bytes are no words, or there is no memory.
 */
void nicbarr_hello_renew(const struct nicbarr_hello *own);
bool nicbarr_peer_renew(const opal_process_name_t *name, const uint8_t *bytes, size_t count);

#endif
