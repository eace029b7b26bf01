/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format of packets between two NICs.
 *
 * The format is shared by the control programs (MCP) of all kinds of NICs, and by the tests.
 * docs/protocol.md describes the protocol. All fields are in the byte order of the sender. The
 * magic number reveals this order, so a receiver drops packets of the other byte order like packets
 * of other programs.
 *
 * Every packet contains a random key, which identifies its group or the receiving NIC. Each job has
 * new keys, so packets of other jobs, of earlier jobs and of unknown senders do not match. Since an
 * eavesdropper can read keys, each group also has a secret, which is never sent in a packet. Every
 * packet contains a check, a SipHash with this secret, so packets cannot be forged without knowing
 * the secret. Packets are not encrypted. */
#ifndef MCP_WIRE_H
#define MCP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/nh.h"
#include "firmware/siphash.h"

enum { MCP_MAGIC = 0x4d59, MCP_WIRE_VERSION = 7 };

enum mcp_type {
    /* Collectives: idempotent, hence not acknowledged. */
    MCP_ARRIVE = 1, /* the sender has reached this point of `epoch`: store it in arrival `slot` */
    MCP_ASK,        /* the sender misses `epoch` in its arrival `slot`: retransmit it */
    MCP_DONE,       /* all nodes have entered `epoch`: all hosts that wait in it are released */
    MCP_LATER,      /* reply to ASK: the NIC is alive, but its host has not arrived yet */
    MCP_FAIL,       /* the group completes no further epoch, because node `node` is missing */
    /* Broadcasts, also idempotent. `epoch` is the number of the broadcast, and `slot` is the node
     * of its root. */
    MCP_BCAST,       /* the block of a broadcast: forward it down the tree */
    MCP_BCAST_ASK,   /* the sender misses a block: retransmit it */
    MCP_BCAST_LATER, /* reply to BCAST_ASK: the NIC is alive, but has not received the block yet */
    /* Messages between ports: go-back-N on the connection between two NICs. */
    MCP_DATA,   /* a part of a message */
    MCP_ACK,    /* only an acknowledgement */
    MCP_REFUSE, /* NACK: packet `sequence` was refused, for the reason in `detail`: send it again
                   later */
    MCP_TYPES
};

/* The reason of a refusal. The sender decides how to react. */
enum mcp_reason {
    MCP_NOT_READY = 1, /* the port has no receive token left */
    MCP_CLOSED,   /* the port is not open, or the packet is for an earlier port of that number */
    MCP_TOO_LONG, /* longer than the next buffer: never send it again */
    MCP_REASONS
};

/* Flags in a packet of a message or an acknowledgement. */
enum mcp_flag {
    MCP_FIRST = 1, /* DATA: first packet of a message; an incomplete message before it is dropped */
    MCP_VOID =
        2, /* DATA: only a sequence number; the port that sent the message was closed meanwhile */
    MCP_PLEASE = 4, /* DATA: acknowledge immediately, because the sender waits for it */
    MCP_GAP = 8,    /* ACK: packet `expected` is missing; later ones arrived and were dropped */
    /* ACK: port `from_port` had run out of receive tokens, and now has `length` of them */
    MCP_READY = 16,
    MCP_LEFT = 32, /* ACK: the sender's NIC is closed for good, and sends no messages any more */
    MCP_SEEN = 64, /* ACK: reply to LEFT */
};

/* A collective packet. A payload follows if the collective carries one. */
struct mcp_collective_part {
    uint32_t epoch;
    uint16_t slot; /* ASK: the sender's own; else the receiver's (for broadcasts see above) */
    uint16_t node; /* a number in the group: the sender's; ARRIVE and DONE: the receiver's; FAIL:
                      the missing node's */
};

/* A packet of a message, an acknowledgement or a refusal. */
struct mcp_message_part {
    uint64_t source;   /* key of the sending NIC: identifies the connection; replies contain it */
    uint32_t sequence; /* DATA: its sequence number on the connection; REFUSE: sequence number of
                          the refused packet */
    uint32_t expected; /* cumulative acknowledgement: the next packet that the sender expects */
    uint16_t to_port, from_port;
    uint32_t port_key; /* of the destination port, because a later port may have the same number;
                          ACK with READY: of `from_port` */
    uint32_t length;   /* of the whole message (bytes) */
    uint16_t round;    /* incremented by each refusal; REFUSE: of the refused packet */
    uint8_t flags;     /* enum mcp_flag */
    uint8_t detail; /* DATA: the sender's attempt number; ACK with GAP: attempt number of the later
                       packet; REFUSE: enum mcp_reason */
};

struct mcp_header {
    uint16_t magic;
    uint8_t version;
    uint8_t type;
    uint32_t payload_bytes; /* size of the payload that follows the header */
    uint64_t key;           /* of the group, or of the receiving NIC */
    uint64_t check;         /* covers all but the key, see mcp_seal() */
    union {
        struct mcp_collective_part collective;
        struct mcp_message_part message;
    };
};

enum {
    MCP_COLLECTIVE_BYTES = 32, /* size of a collective packet's header */
    MCP_MESSAGE_BYTES = 56,    /* size of all other headers */
    MCP_LEAST_BYTES = MCP_COLLECTIVE_BYTES,
};

_Static_assert(MCP_COLLECTIVE_BYTES ==
                   offsetof(struct mcp_header, collective) + sizeof(struct mcp_collective_part),
               "a collective packet's header");
_Static_assert(MCP_MESSAGE_BYTES == sizeof(struct mcp_header), "a message's header");

static inline bool mcp_is_collective(uint8_t type)
{
    return type >= MCP_ARRIVE && type <= MCP_BCAST_LATER;
}

/* Returns whether the packet belongs to a broadcast. */
static inline bool mcp_is_bcast(uint8_t type)
{
    return type >= MCP_BCAST && type <= MCP_BCAST_LATER;
}

/* Returns whether a collective packet of this type can have a payload of this length. */
static inline bool mcp_collective_sound(uint8_t type, uint32_t payload_bytes)
{
    return MCP_ARRIVE == type || (MCP_BCAST == type) == (0 != payload_bytes);
}

static inline size_t mcp_header_bytes(uint8_t type)
{
    return mcp_is_collective(type) ? MCP_COLLECTIVE_BYTES : MCP_MESSAGE_BYTES;
}

enum { MCP_CHECK_ROUNDS = 1, MCP_CHECK_LAST_ROUNDS = 3 };

/* The check, which authenticates a packet, is the SipHash-1-3 of these bytes: the part of the
 * header that is specific to the type, the payload, zeros up to a multiple of 8, and the first
 * seven bytes of the header. (The eighth byte is 0, because no datagram is so long.) Every eight
 * bytes form a word in the byte order of the sender, except for the last word, which
 * mcp_last_word() computes in such a way that it does not depend on the byte order. The key is not
 * covered, because it selects the secret. In the payload of a message, each complete MCP_NH_BLOCK
 * is replaced by the two words of its NH hash. */
static inline uint64_t mcp_last_word(const struct mcp_header *header, size_t bytes_before)
{
    return header->magic | (uint64_t)header->version << 16 | (uint64_t)header->type << 24 |
           (uint64_t)header->payload_bytes << 32 | (uint64_t)(bytes_before + 7) << 56;
}

/* Returns a part of a collective packet's header as a word, with the bytes in this machine's
 * order. */
static inline uint64_t mcp_collective_word(const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return part->epoch | (uint64_t)part->slot << 32 | (uint64_t)part->node << 48;
#else
    return (uint64_t)part->epoch << 32 | (uint64_t)part->slot << 16 | part->node;
#endif
}

/* Returns the check of a collective packet without payload, which covers two words. */
static inline uint64_t mcp_collective_check(const struct mcp_header *header,
                                            const struct mcp_secret *secret)
{
    struct mcp_sip sip = mcp_sip_begin(secret);
    mcp_sip_word(&sip, MCP_CHECK_ROUNDS, mcp_collective_word(header));
    return mcp_sip_end(sip, MCP_CHECK_ROUNDS, MCP_CHECK_LAST_ROUNDS, mcp_last_word(header, 8));
}

/* Completes a header whose other fields are set, by adding magic, version, length of the payload
 * and check. */
void mcp_seal(struct mcp_header *header, const struct mcp_secret *secret, const void *payload,
              size_t payload_bytes);

/* Parses a packet, and fills in `header`. Fields that packets of this type do not have are 0.
 * Returns false if the packet is incomplete or not in the format of nicbarr. If this returns true,
 * every field is in its range, and the payload begins after mcp_header_bytes(). However, no field
 * can be trusted before mcp_genuine() has authenticated the packet. */
bool mcp_parse(const void *packet, size_t bytes, struct mcp_header *header);

/* Returns whether the packet was sealed with this secret and has not been changed since. */
bool mcp_genuine(const struct mcp_header *header, const struct mcp_secret *secret,
                 const void *payload);

/* Seal a packet of a message, or verify it, with the NH key that was derived from the secret
 * (mcp_nh_kept()). The key may be NULL if the payload is shorter than a block. */
void mcp_seal_message(struct mcp_header *header, const struct mcp_secret *secret,
                      const struct mcp_nh_key *nh, const void *payload, size_t payload_bytes);
bool mcp_genuine_message(const struct mcp_header *header, const struct mcp_secret *secret,
                         const struct mcp_nh_key *nh, const void *payload);

#endif
