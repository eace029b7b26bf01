/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes this process's hello (hello.h) at start-up, and keeps the hellos of all other
 * processes.
 *
 * A process's hello, which describes its segment and its NICs, is published in Open MPI's modex
 * before the start-up fence, and within a node also in the shared segment. Afterwards each process
 * can read the hellos of all others, so all members of a communicator compare the same data. Once a
 * process of this node has read the hello of a process on another node, the segment caches it for
 * the others. The decoded data are stored once for each process and once for each NIC, regardless
 * of the number of communicators that contain them.
 *
 * Any thread may call the query functions. A single thread calls nicbarr_peers_open() before them,
 * and nicbarr_peers_close() after them. */
#ifndef NICBARR_PEERS_H
#define NICBARR_PEERS_H

#include "ompi/release.h"

#include "coll_nicbarr/census.h"
#include "coll_nicbarr/hello.h"

/* Why a process cannot participate. */
enum nicbarr_trouble {
    NICBARR_TROUBLE_NONE,
    NICBARR_NO_COMPONENT,     /* no hello, or a hello of another version */
    NICBARR_NO_SEGMENT,       /* it has no segment; its hello contains the reason */
    NICBARR_OTHER_PARAMETERS, /* its parameters or its version differ from those of this process */
    NICBARR_NO_NIC, /* it has no NIC; its hello contains the reason; matters between nodes only */
    NICBARR_NIC_LATER, /* it has no NIC yet; matters between nodes only */
};

/* Publish this process's hello, with the public key of `keys`. Returns Open MPI's error. */
int nicbarr_peers_open(const struct nicbarr_hello *own, const struct myr_key_pair *keys);
void nicbarr_peers_close(void);

/* Returns this process's hello. */
const struct nicbarr_hello *nicbarr_hello_own(void);

/* Returns the data about a process, which remain valid until nicbarr_peers_close(), or NULL if
 * memory is exhausted. The first call for a process may take long if that process is still starting
 * or lacks the component: since Open MPI 5.0, the modex then waits half a minute for its hello. */
const struct nicbarr_peer *nicbarr_peer(const opal_process_name_t *name);

/* Returns the same, or NULL if the process's hello has not been read yet. Never takes long. */
const struct nicbarr_peer *nicbarr_peer_if_read(const opal_process_name_t *name);

/* Returns whether a process is known to lack the component; `peer` may be NULL. */
bool nicbarr_peer_lacks_component(const struct nicbarr_peer *peer);

/* Returns the name of a NIC by its number among all known ones (struct nicbarr_peer); valid until
 * closing. */
const struct myr_nic_name *nicbarr_nic_name(uint32_t nic, uint32_t number);

/* Get the key that this node and the peer's node derive from each other's public keys (key
 * agreement). It is computed once for each node. Returns false if the peer has no public key
 * (`sealed`), or if out of memory. */
bool nicbarr_peer_agree(const struct nicbarr_peer *peer, struct myr_agreed_key *key);

/* Write the reason why `peer` cannot participate into text[bytes]; returns the message. */
const char *nicbarr_peer_trouble(const opal_process_name_t *name, const struct nicbarr_peer *peer,
                                 char *text, size_t bytes);

/* Returns the members of `comm` in an array by rank, which the caller frees with free(). If a
 * member lacks the component, the communicator cannot be served, and no further hello is read once
 * this process has found such a member. The elements of other members whose hellos have not been
 * read are NULL; this process's own element never is. If memory is exhausted, the job is ended. */
const struct nicbarr_peer **nicbarr_peers_of(ompi_communicator_t *comm);

/* Performs nicbarr_census() for the members of `comm`, with all known NICs. */
enum nicbarr_census_result nicbarr_peers_census(const struct nicbarr_peer *const *list,
                                                ompi_communicator_t *comm, uint32_t by_segment,
                                                struct nicbarr_nodes *nodes);

/* Returns the job's identity, which is the same on all nodes: the identity of the segment of the
 * job's first process, or 0 if that process has no segment. */
uint64_t nicbarr_job_identity(void);

/* Replace the hello of this process, or of another process, by a second one. Only a process that
 * had not opened all NICs when it started, and therefore set `later` in its first hello, sends a
 * second one, and at most once. `bytes` is ignored unless it is an encoded hello (hello.h). */
void nicbarr_hello_renew(const struct nicbarr_hello *own);
void nicbarr_peer_renew(const opal_process_name_t *name, const uint8_t *bytes, size_t count);

#endif
