/* SPDX-License-Identifier: BSD-3-Clause */
/* See sharing.h.
 *
 * Rank 0 broadcasts one message (struct secret_message), which contains the caller's words, a nonce
 * and, for each node, a copy of the secret that is encrypted for that node. In this file, a node is
 * the set of processes that share a segment, because the key pair is in the segment. All members
 * number the nodes in the order of their lowest ranks, so each member finds the copy for its
 * node. */
#include "coll_nicbarr/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/peers.h"
#include "libmyr/groups/secrets.h"
#include "libmyr/seal.h"

/* The nodes of a communicator. */
struct addressees {
    const struct nicbarr_peer **first; /* [count]: the first process of each node */
    uint32_t count;
    uint32_t own;  /* number of this process's node */
    bool all_have; /* all nodes have a public key */
};

/* Number the nodes of the processes `peers`. Returns false if out of memory. */
static bool number_nodes(const struct nicbarr_peer *const *peers, uint32_t size, uint32_t rank,
                         struct addressees *nodes)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < size; ++r) {
        most = peers[r]->segment > most ? peers[r]->segment : most;
    }
    /* by segment; 0: not numbered yet */
    uint32_t *node_of = calloc((size_t)most + 1, sizeof(*node_of));
    *nodes = (struct addressees){.first = malloc(size * sizeof(*nodes->first)), .all_have = true};
    const bool good = NULL != node_of && NULL != nodes->first;
    for (uint32_t r = 0; good && r < size; ++r) {
        uint32_t *node = &node_of[peers[r]->segment];
        if (0 == *node) {
            nodes->first[nodes->count] = peers[r];
            *node = ++nodes->count;
        }
        nodes->own = r == rank ? *node - 1 : nodes->own;
        nodes->all_have = nodes->all_have && peers[r]->sealed;
    }
    free(node_of);
    return good;
}

/* The head of the message. The sealed copies follow, or the secret itself if not all nodes have a
 * key. */
struct secret_message {
    uint64_t words[NICBARR_SHARED_WORDS];
    struct myr_nonce nonce;
};

static size_t message_bytes(const struct addressees *nodes)
{
    return sizeof(struct secret_message) +
           (nodes->all_have ? nodes->count * sizeof(struct myr_sealed) : sizeof(struct mcp_secret));
}

static void write_message(const struct addressees *nodes, const uint64_t *words,
                          const struct mcp_secret *secret, struct secret_message *message)
{
    struct myr_sealed *sealed = (struct myr_sealed *)(message + 1);
    struct myr_agreed_key key;
    memcpy(message->words, words, sizeof(message->words));
    if (!nodes->all_have) {
        memcpy(message + 1, secret, sizeof(*secret));
        return;
    }
    myr_nonce_draw(&message->nonce);
    for (uint32_t n = 0; n < nodes->count; ++n) {
        /* a node without an agreed key cannot unseal its copy */
        if (nicbarr_peer_agree(nodes->first[n], &key)) {
            myr_seal(&key, &message->nonce, secret, &sealed[n]);
        }
    }
}

/* Returns false if the secret or a key has been changed in transit. */
static bool read_message(const struct addressees *nodes, const struct secret_message *message,
                         uint64_t *words, struct mcp_secret *secret)
{
    const struct myr_sealed *sealed = (const struct myr_sealed *)(message + 1);
    struct myr_agreed_key key;
    memcpy(words, message->words, sizeof(message->words));
    if (!nodes->all_have) {
        memcpy(secret, message + 1, sizeof(*secret));
        return true;
    }
    return nicbarr_peer_agree(nodes->first[0], &key) &&
           myr_unseal(&key, &message->nonce, &sealed[nodes->own], secret);
}

static int broadcast_message(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             const struct addressees *nodes, uint64_t *words)
{
    const size_t bytes = message_bytes(nodes);
    struct secret_message *message = calloc(1, bytes);
    if (NULL == message) {
        nicbarr_end_without_memory(comm);
    }
    if (0 == ompi_comm_rank(comm)) {
        write_message(nodes, words, &module->secret, message);
    }
    const int rc = nicbarr_openmpi_bcast(message, (int)bytes, MPI_BYTE, 0, comm, &module->openmpi);
    if (OMPI_SUCCESS == rc && !read_message(nodes, message, words, &module->secret)) {
        nicbarr_complain(
            "the secret of a communicator was changed on its way from rank 0, so barriers of NICs "
            "will not work on it. Can others modify this job's network traffic?");
        (void)myr_secret_draw(&module->secret);
    }
    free(message);
    return rc;
}

int nicbarr_share_secret(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         uint64_t words[NICBARR_SHARED_WORDS])
{
    const struct nicbarr_peer **peers = nicbarr_peers_of(comm);
    struct addressees nodes = {NULL};
    if (!number_nodes(peers, (uint32_t)ompi_comm_size(comm), (uint32_t)ompi_comm_rank(comm),
                      &nodes)) {
        nicbarr_end_without_memory(comm);
    }
    module->sealed = nodes.all_have;
    const int rc = broadcast_message(module, comm, &nodes, words);
    free(nodes.first);
    free(peers);
    return rc;
}
