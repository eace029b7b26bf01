/* SPDX-License-Identifier: BSD-3-Clause */
/* RECV: handles data packets, acknowledgements and refusals, and returns send tokens to the host.
 * It only accepts data packets that are in sequence and belong to the current round.
 *
 * Every packet that is handled here is well-formed (mcp_parse()) and contains the key of this NIC.
 * However, any host that can read the wire can forge such a packet, so each packet also contains a
 * hash that is keyed with the secret of the connection, and is dropped unless this hash is correct.
 * Even an authentic packet may be old, duplicated or out of order. */
#include "firmware/connection.h"

/* ---- the sending half ---- */

static void grow_window(struct mcp_connection *c, uint32_t packets)
{
    if (c->window < c->threshold) {
        c->window += packets;
    } else {
        c->credit += packets;
        if (c->credit >= c->window) {
            c->credit = 0;
            ++c->window;
        }
    }
    if (c->window > MCP_WINDOW_MOST) {
        c->window = MCP_WINDOW_MOST;
    }
}

/* If the RTT was measured, updates its estimate, and sets the retransmission timeout to four times
 * this estimate, within limits.
 *
 * Until then, a timeout that has expired stays doubled, although packets were acknowledged (Karn
 * and Partridge). If it was shorter than the RTT and were reset now, it would expire for the next
 * packet as well, whose RTT could then not be measured either, so each packet would be
 * retransmitted. */
static void update_rto(struct mcp_connection *c, uint32_t expected, uint64_t now_ns)
{
    if (0 != c->timed_ns && c->timed != expected && mcp_not_after(c->timed, expected)) {
        const uint64_t sample_ns = now_ns - c->timed_ns;
        c->round_trip_ns = 0 == c->round_trip_ns
                               ? sample_ns
                               : c->round_trip_ns - c->round_trip_ns / 8 + sample_ns / 8;
        c->timed_ns = 0;
        c->rto_ns = 4 * c->round_trip_ns;
        c->rto_ns = c->rto_ns < MCP_RETRY_NS ? MCP_RETRY_NS : c->rto_ns;
        c->rto_ns = c->rto_ns > MCP_RETRY_MOST_NS ? MCP_RETRY_MOST_NS : c->rto_ns;
    }
}

/* Processes a cumulative acknowledgement: the peer expects `expected` next, so it has received all
 * packets before. */
static void process_acknowledgement(struct mcp_nic *nic, struct mcp_board *board,
                                    struct mcp_connection *c, uint32_t expected)
{
    const uint32_t packets = expected - c->base;
    if (0 == packets || packets > c->highest - c->base) {
        return; /* a duplicate, or an old packet */
    }
    /* Losses before the first acknowledgement mean that the peer was not ready yet. They do not
     * indicate congestion or a long RTT, so the initial window and timeout are restored. */
    if (MCP_FIRST_SEQUENCE == c->base) {
        c->window = MCP_WINDOW_FIRST;
        c->threshold = MCP_WINDOW_MOST;
        c->rto_ns = MCP_RETRY_NS;
    }
    const uint64_t now_ns = board->ops.now_ns(board);
    mcp_advance_base(nic, board, c, expected);
    grow_window(c, packets);
    update_rto(c, expected, now_ns);
    c->retry_ns = 0;
    if (c->base != c->next) {
        c->retry_ns = now_ns + c->rto_ns;
        mcp_connection_due(nic, c, c->retry_ns);
    }
}

static void receive_acknowledgement(struct mcp_nic *nic, struct mcp_board *board,
                                    struct mcp_connection *c, const struct mcp_message_part *part)
{
    process_acknowledgement(nic, board, c, part->expected);
    c->aware = c->aware || 0 != (part->flags & MCP_SEEN);
    if (0 != (part->flags & MCP_READY)) {
        mcp_requeue_port(nic, board, c, part->from_port, part->port_key, part->length);
    }
    if (0 != (part->flags & MCP_GAP) && part->expected == c->base && part->detail == c->attempt &&
        c->base != c->next) {
        const uint32_t half = c->window / 2;
        c->window = c->threshold = half < MCP_WINDOW_LEAST ? MCP_WINDOW_LEAST : half;
        mcp_go_back(nic, board, c);
    }
    mcp_send_packets(nic, board, c);
}

/* Handles a LEFT, by which the other NIC reports that it is closed. The packet contains its last
 * acknowledgement. The other NIC repeats it until it gets the reply. */
static void receive_departure(struct mcp_nic *nic, struct mcp_board *board,
                              struct mcp_connection *c, const struct mcp_message_part *part)
{
    if (0 == c->departure) {
        process_acknowledgement(nic, board, c, part->expected);
        mcp_connection_end(nic, board, c);
    }
    mcp_send_acknowledgement(nic, board, c, MCP_SEEN, 0);
}

static void receive_refusal(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                            const struct mcp_message_part *part)
{
    process_acknowledgement(nic, board, c, part->expected);
    if (part->round != c->round || part->sequence != c->base || c->base == c->highest) {
        return; /* the refusal is a duplicate */
    }
    ++nic->counters.refused;
    struct mcp_sending *sending = mcp_next_round(board, c);
    if (NULL != sending && MCP_TOO_LONG == part->detail) {
        mcp_sending_done(nic, board, sending, MCP_FAILED, MCP_FAILED_TOO_LONG);
    } else if (NULL != sending) {
        mcp_set_aside(nic, board, c, sending, part->detail);
    }
    mcp_send_packets(nic, board, c);
}

/* ---- the receiving half ---- */

/* Acknowledges received packets, new or duplicate. Data packets contain an acknowledgement, so this
 * function first tries to send data. If there are none, it sends a separate acknowledgement:
 * immediately if `now` is set, otherwise after a delay, during which data may become available. */
static void acknowledge_packets(struct mcp_nic *nic, struct mcp_board *board,
                                struct mcp_connection *c, bool now)
{
    ++c->unacknowledged;
    mcp_send_packets(nic, board, c);
    if (0 == c->unacknowledged) {
        return;
    }
    if (now || c->unacknowledged >= MCP_ACK_EVERY) {
        mcp_send_acknowledgement(nic, board, c, 0, 0);
    } else if (0 == c->acknowledge_ns) {
        c->acknowledge_ns = board->ops.now_ns(board) + MCP_ACK_DELAY_NS;
        mcp_connection_due(nic, c, c->acknowledge_ns);
    }
}

static void refuse_packet(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                          const struct mcp_message_part *part, uint8_t why)
{
    ++nic->counters.refusals;
    c->incoming_round = (uint16_t)(part->round + 1);
    c->refused_why = why;
    if (MCP_NOT_READY == why) {
        c->refused_ports |= mcp_port_bit(part->to_port);
    }
    mcp_send_refusal(nic, board, c, part, why);
}

/* Reports a gap, once per attempt to fill it. */
static void report_gap(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                       uint8_t attempt)
{
    if (!c->gap_reported || c->gap_attempt != attempt) {
        c->gap_reported = true;
        c->gap_attempt = attempt;
        mcp_send_acknowledgement(nic, board, c, MCP_GAP, attempt);
    }
}

/* Handles the packet with the expected sequence number. */
static void accept_packet(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                          const struct mcp_message_part *part, const void *payload,
                          uint32_t payload_bytes)
{
    const uint8_t why = mcp_deliver_packet(nic, board, c, part, payload, payload_bytes);
    if (0 != why) {
        refuse_packet(nic, board, c, part, why);
        mcp_send_packets(nic, board, c);
    } else {
        ++c->expected;
        c->gap_reported = false;
        acknowledge_packets(nic, board, c, 0 != (part->flags & MCP_PLEASE));
    }
}

static void receive_data(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                         const struct mcp_message_part *part, const void *payload,
                         uint32_t payload_bytes)
{
    const int32_t ahead = (int32_t)(part->sequence - c->expected);
    const bool present = part->round == c->incoming_round;
    process_acknowledgement(nic, board, c, part->expected);
    if (0 == ahead && present) {
        accept_packet(nic, board, c, part, payload, payload_bytes);
        return;
    }
    ++nic->counters.duplicates;
    if (ahead < 0) {
        acknowledge_packets(nic, board, c, 0 != (part->flags & MCP_PLEASE));
        return;
    }
    if (present) {
        report_gap(nic, board, c, part->detail);
    } else if (0 == ahead && part->round == (uint16_t)(c->incoming_round - 1) &&
               0 != c->refused_why) {
        /* The refusal is repeated, because it may have been lost. */
        mcp_send_refusal(nic, board, c, part, c->refused_why);
    }
    mcp_send_packets(nic, board, c);
}

void mcp_messages_receive(struct mcp_nic *nic, struct mcp_board *board,
                          const struct mcp_header *header, const void *payload)
{
    const struct mcp_message_part *part = &header->message;
    const bool data = MCP_DATA == header->type;
    if (0 == part->source || nic->key == part->source) {
        ++nic->counters.dropped_implausible;
        return;
    }
    struct mcp_connection *c = mcp_connection_find(nic, part->source);
    if (NULL == c && data && nic->messages.known_only) {
        /* The packet is dropped; its sender will retransmit it. */
        nic->messages.stranger = part->source;
        nic->messages.stranger_attempt = part->detail;
        myr_store_release(&nic->messages.knocked, 1);
        ++nic->counters.dropped_foreign;
        return;
    }
    const bool genuine =
        NULL == c ? mcp_genuine(header, &mcp_open_secret, payload)
                  : mcp_genuine_message(header, &c->secret,
                                        mcp_nh_of(board, c, header->payload_bytes), payload);
    if (!genuine) {
        ++nic->counters.dropped_forged;
        return;
    }
    if (NULL == c && data) {
        c = mcp_connection_to_sender(nic, board, part->source);
    }
    if (NULL != c) {
        mcp_reset_silence(c);
    }
    if (NULL == c && data) {
        ++nic->counters.dropped_no_room;
    } else if (NULL == c) {
        ++nic->counters.dropped_implausible;
    } else if (MCP_ACK == header->type && 0 != (part->flags & MCP_LEFT)) {
        receive_departure(nic, board, c, part);
    } else if (0 != c->departure) {
        ++nic->counters.duplicates; /* it was sent before the other NIC left, and is late */
    } else if (data) {
        receive_data(nic, board, c, part, payload, header->payload_bytes);
    } else if (MCP_ACK == header->type) {
        receive_acknowledgement(nic, board, c, part);
    } else {
        receive_refusal(nic, board, c, part);
    }
}
