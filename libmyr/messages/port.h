/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports: messages between processes, modelled on GM.
 *
 *   GM                                   here
 *   gm_open, gm_close                    myr_port_open, myr_port_close
 *   gm_host_name_to_node_id              myr_port_connect
 *   gm_dma_malloc, gm_dma_free           myr_port_alloc, myr_port_free
 *   gm_send_with_callback                myr_port_send
 *   gm_provide_receive_buffer            myr_port_provide
 *   gm_receive                           myr_port_receive
 *   gm_num_send_tokens, ..receive_tokens myr_port_send_tokens, myr_port_receive_tokens
 *
 * Messages between two ports are delivered completely, exactly once, and in order. Delivery is
 * reliable as long as both NICs and both ports are open. A port has a limited number of send tokens
 * (for outstanding sends) and of receive tokens (for provided buffers). Messages must be in
 * registered memory, which all processes of the node share.
 *
 * Packets between two NICs are authenticated with a secret that is derived from the keys of both
 * (seal.h). Therefore a NIC accepts packets of another NIC only after a process on its node has
 * connected to a port of the other NIC, either to send to that port, or because myr_soft_knocked()
 * has reported it. Until then the other NIC retransmits. If one of the two NICs has no keys,
 * because nicbarr was built without libsodium there, packets between them are not authenticated.
 *
 * Only one thread at a time may use a port. */
#ifndef MYR_PORT_H
#define MYR_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "firmware/soft/addresses.h"
#include "libmyr/messages/inlet.h"
#include "libmyr/seal.h"
#include "libmyr/soft/nic.h"

struct myr_port;

/* The address of a port: plain data, to be passed on by any means. */
struct myr_port_name {
    struct myr_nic_name nic;
    uint16_t number;
    uint16_t zero;
    uint32_t key;                 /* random, new each time a port is opened */
    struct myr_public_key public; /* of the NIC's node */
};

enum { MYR_ANY_PORT = 0xffff };

struct myr_port_options {
    uint16_t number;         /* the port's number, or MYR_ANY_PORT */
    uint32_t send_tokens;    /* 0 means 64 */
    uint32_t receive_tokens; /* 0 means 64 */
    bool inlet; /* whether to receive short messages from this node directly, see myr_port_intake()
                 */
    bool watch; /* whether to start a watch of the NIC (nic_thread.h) when the first connection to
                   another NIC is made, so that messages are acknowledged and retransmitted while
                   all processes of the node compute */
};

enum myr_status myr_port_open(struct myr_soft_nic *nic, const struct myr_port_options *options,
                              struct myr_port **port, struct myr_error *error);

/* Closes a port immediately. Outstanding messages may be lost. Later messages to the port are
 * refused. */
void myr_port_close(struct myr_port *port);

void myr_port_get_name(const struct myr_port *port, struct myr_port_name *name);

/* Allocates at least `bytes` of registered memory, aligned to 128 bytes. Returns NULL if none is
 * left. Closing the port frees all of its memory. The size of an allocation plus 128 bytes is
 * rounded up to a power of two, so the caller should request 128 bytes less than a power of two, or
 * many buffers in one allocation. */
void *myr_port_alloc(struct myr_port *port, size_t bytes);
void myr_port_free(struct myr_port *port, void *memory);

/* Leaves an allocation to other processes, which may read it until the job ends. Closing the port
 * no longer frees it. */
void myr_port_forget(struct myr_port *port, void *memory);

/* A remote port to send to. It is valid as long as the port of this process is open. `same_nic`
 * means that both ports are on the same NIC. */
struct myr_remote {
    uint32_t connection; /* the index of the connection to its NIC */
    uint32_t key;
    uint16_t number;
    bool same_nic;
    bool is_signed; /* whether packets to its NIC are authenticated, if it is another NIC */
    struct myr_outlet outlet; /* for short messages; always full if the port has no inlet */
};
enum myr_status myr_port_connect(struct myr_port *port, const struct myr_port_name *name,
                                 struct myr_remote *remote, struct myr_error *error);

/* The caller calls this function after it has connected to a process of another job on another
 * node. As that job may outlive this one, or the other way round, the NIC then behaves differently
 * in two respects. If the process whose thread keeps the watch of the NIC (see struct
 * myr_port_options) ends, a thread of this process takes over the watch. The last process that
 * closes the NIC notifies the connected NICs, so that they can reuse their connections
 * (mcp_messages_leave()). */
void myr_port_met_other_job(struct myr_port *port);

uint32_t myr_port_send_tokens(const struct myr_port *port);    /* number of free tokens */
uint32_t myr_port_receive_tokens(const struct myr_port *port); /* number of free tokens */

/* Sends `bytes` (0 to the size of the buffer) of registered memory. This takes a send token;
 * returns MYR_ERR_FULL if there is none.
 *
 * When the send completes, myr_port_receive() calls `callback`, and the buffer belongs to the
 * caller again. The callback gets the status MYR_OK if the other NIC has the whole message, or the
 * reason why the message cannot be delivered (usually MYR_ERR_TOO_LONG). The send remains
 * outstanding while the other port has no receive token, is not open, or cannot be reached; see
 * myr_port_unresponsive(). */
typedef void (*myr_sent_fn)(struct myr_port *port, void *context, void *buffer,
                            enum myr_status status);
enum myr_status myr_port_send(struct myr_port *port, const struct myr_remote *to,
                              const void *buffer, size_t bytes, myr_sent_fn callback,
                              void *context);

/* Provides a buffer for a message of up to `bytes`. This takes a receive token; returns
 * MYR_ERR_FULL if there is none. Buffers are used in the order in which they were provided. If a
 * message is longer than the next buffer, its send fails (MYR_ERR_TOO_LONG). */
enum myr_status myr_port_provide(struct myr_port *port, void *buffer, size_t bytes);

struct myr_received {
    void *buffer; /* belongs to the caller again, with its receive token */
    uint32_t bytes;
    uint16_t from_port;
    uint16_t zero;
    uint64_t from_nic; /* key of the sender's NIC */
};

/* Call the callbacks of completed sends, and get the next received message. Return false if there
 * is none.
 *
 * If there is no message, myr_port_receive() runs the NIC. myr_port_check() never runs the NIC, and
 * takes only a few nanoseconds. It still finds messages from ports of the same NIC, because their
 * senders deliver them. A progress function that is called continuously therefore uses
 * myr_port_check(), and runs the NIC with myr_soft_poll_now_and_then().
 *
 * A callback may use its port, except for the functions to receive, check and close. */
bool myr_port_receive(struct myr_port *port, struct myr_received *received);
bool myr_port_check(struct myr_port *port, struct myr_received *received);

/* Returns the receiving side of the inlet, through which short messages from ports of the same NIC
 * arrive (sent through the outlet of struct myr_remote). It contains the receive state, so the
 * caller must use only one copy of it. */
struct myr_intake myr_port_intake(const struct myr_port *port);

/* Finds a NIC that has not responded to retransmissions for at least `least_s` seconds, although
 * messages of this port to it are outstanding. Such a NIC is either unreachable, or no process runs
 * it because all processes of its node compute. Each such silence is reported once per `recipient`,
 * a number that is the same for all processes of a job on this node. */
struct myr_unresponsive {
    uint32_t connection; /* as in struct myr_remote */
    uint32_t silence_s;
    char address[MCP_ADDRESS_TEXT]; /* its address */
};
bool myr_port_unresponsive(struct myr_port *port, uint32_t recipient, uint32_t least_s,
                           struct myr_unresponsive *unresponsive);

/* Returns whether outstanding messages to this port can no longer be delivered, because the port is
 * closed, its process has ended, or its NIC has not responded to retransmissions for `least_s`
 * seconds. */
bool myr_port_undeliverable(struct myr_port *port, const struct myr_remote *to, uint32_t least_s);

/* Closes all ports of a dead process, and frees their memory. Returns the number of ports
 * closed. */
uint32_t myr_ports_reap(struct myr_soft_nic *nic, uint32_t process);

#endif
