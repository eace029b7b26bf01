/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote ports: connections to them, and whether messages to them can be delivered; see port.h. */
#include "libmyr/messages/port_inside.h"

#include "libmyr/soft/nic_thread.h"
#include "os/clock.h"

/* ---- connections ---- */

/* Returns the entry of a port of this NIC, or NULL if it is closed. */
static const struct mcp_port *open_port(struct mcp_nic *nic, const struct myr_remote *remote)
{
    const struct mcp_port *port = NULL == nic ? NULL : mcp_port_at(nic, remote->number);
    return NULL != port && port->key == remote->key ? port : NULL;
}

static void find_outlet(struct myr_port *port, struct myr_remote *remote)
{
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    const struct mcp_port *other = open_port(nic, remote);
    if (NULL != other) {
        struct mcp_rings *rings = mcp_at(board, other->rings);
        struct myr_inlet *inlet = myr_port_inlet(port->segment, rings);
        if (NULL != inlet && myr_port_registered(port, inlet, sizeof(*inlet))) {
            remote->outlet = (struct myr_outlet){.inlet = inlet, .key = remote->key};
        }
    }
    myr_soft_leave(port->nic);
}

/* Derives the secret shared with the NIC of the node that has this public key. Returns false if the
 * key is invalid. */
static bool agree_on_secret(const struct myr_port *port, const struct myr_public_key *public,
                            struct mcp_secret *secret)
{
    struct myr_agreed_key key;
    if (!myr_agree(&port->pair, public, &key)) {
        return false;
    }
    myr_connection_secret(&key, secret);
    return true;
}

/* If the watch cannot be started, this is not an error: packets then wait until a process of the
 * node makes calls. */
static void start_watch(struct myr_port *port)
{
    if (port->watched && NULL == port->watch) {
        (void)myr_soft_watch_start(port->nic, MYR_SOFT_WATCH_NS, &port->watch, NULL);
    }
}

enum myr_status myr_port_connect(struct myr_port *port, const struct myr_port_name *name,
                                 struct myr_remote *remote, struct myr_error *error)
{
    struct myr_nic_name own;
    myr_soft_get_name(port->nic, &own);
    *remote = (struct myr_remote){
        .connection = MCP_SAME_NIC,
        .key = name->key,
        .number = name->number,
        .same_nic = own.key == name->nic.key,
        .is_signed = myr_port_has_keys(port) && myr_has_key(&name->public),
    };
    if (remote->same_nic) {
        find_outlet(port, remote);
        return MYR_OK;
    }
    const uint32_t mtu = myr_soft_mtu(port->nic, &name->nic);
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    if (NULL == nic) {
        myr_soft_leave(port->nic);
        return myr_soft_is_broken(port->nic, error);
    }
    /* The key agreement takes 50 us, so it is performed once for each NIC. The NIC stays locked
     * meanwhile: if the entry of an existing connection were reused between the check and
     * mcp_connect(), the new connection would have no secret. */
    struct mcp_secret secret;
    const bool sign = remote->is_signed && !mcp_is_connected(nic, name->nic.key);
    if (sign && !agree_on_secret(port, &name->public, &secret)) {
        myr_soft_leave(port->nic);
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "a peer's NIC has no key");
    }
    const mcp_link link = myr_soft_link(port->nic, &name->nic);
    if (MCP_LINK_SENDER == link) {
        myr_soft_leave(port->nic);
        return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                        "a peer's NIC has no address that this one can send to (one of them uses "
                        "IPv4 and the other one IPv6: name a network that both have), or the "
                        "maximum number of peers is reached");
    }
    remote->connection = mcp_connect(nic, board, name->nic.key, link, mtu, sign ? &secret : NULL);
    const uint32_t room = nic->messages.nconnections;
    myr_soft_leave(port->nic);
    if (MCP_NO_CONNECTION != remote->connection) {
        start_watch(port);
        return MYR_OK;
    }
    return myr_fail(error, MYR_ERR_FULL, 0,
                    "this node's NIC has connections to %u others already, the maximum (NICs whose "
                    "processes were all killed are counted, too)",
                    room);
}

void myr_port_met_other_job(struct myr_port *port)
{
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    if (NULL != nic) {
        nic->messages.takes_leave = true;
    }
    myr_soft_leave(port->nic);
    myr_soft_watch_stay(port->watch);
}

/* ---- unresponsive peers ---- */

bool myr_port_undeliverable(struct myr_port *port, const struct myr_remote *to, uint32_t least_s)
{
    const struct mcp_destination destination = {
        .connection = to->connection, .key = to->key, .port = to->number};
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    const bool undeliverable =
        NULL == nic ||
        mcp_messages_undeliverable(nic, board, port->number, &destination, os_ms_of_s(least_s));
    myr_soft_leave(port->nic);
    return undeliverable;
}

bool myr_port_unresponsive(struct myr_port *port, uint32_t recipient, uint32_t least_s,
                           struct myr_unresponsive *unresponsive)
{
    struct mcp_unresponsive found;
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    const bool any = NULL != nic && mcp_messages_unresponsive(nic, board, port->number, recipient,
                                                              os_ms_of_s(least_s), &found);
    if (any) {
        unresponsive->connection = found.connection;
        unresponsive->silence_s = found.silence_ms / 1000;
        myr_soft_address_of(port->nic, found.link, unresponsive->address);
    }
    myr_soft_leave(port->nic);
    return any;
}
