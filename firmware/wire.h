/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire format: what packets between two NICs look like.
 *
 * Shared by the control program (MCP) on every kind of NIC and by the tests; docs/protocol.md tells
 * who sends what when. All fields are in the sender's byte order, which the magic number reveals: a
 * packet of the other order is dropped like any foreign one.
 *
 * Every packet begins with the secret key of what it is for: a group's, or the receiving NIC's.
 * Keys are random and new for each job, so packets of other jobs, earlier jobs and strangers do not
 * fit. That keeps out who cannot read the wire; it is no encryption.
 */
#ifndef MCP_WIRE_H
#define MCP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MCP_MAGIC = 0x4d59, MCP_WIRE_VERSION = 2 };

enum mcp_type {
    /* Collectives: idempotent, hence without acknowledgement. */
    MCP_ARRIVE = 1, /* the sender has reached this point of `epoch`: store it in arrival `slot` */
    MCP_ASK,        /* the sender misses `epoch` in its arrival `slot`: send that again */
    MCP_DONE,       /* everybody has entered `epoch`: whoever waits in it is released */
    MCP_LATER,      /* to an ASK: the NIC is alive, but its host has not come so far */
    MCP_FAIL,       /* the group will complete nothing more, as node `node` is missing */
    /* Messages between ports: go-back-N on the connection between two NICs. */
    MCP_DATA,   /* a part of a message */
    MCP_ACK,    /* nothing but an acknowledgement */
    MCP_REFUSE, /* packet `sequence` was not accepted, for `reason`: send it again later */
    MCP_TYPES
};

/* Why a packet of a message was refused; its sender decides what to do about it. */
enum mcp_reason {
    MCP_NOT_READY = 1, /* the port has no receive token left */
    MCP_CLOSED,        /* the port is not open, or not the one that was meant */
    MCP_TOO_LONG,      /* longer than the buffer that is next: never send it again */
    MCP_REASONS
};

/* What else a packet of a message or an acknowledgement says. */
enum mcp_flag {
    MCP_FIRST = 1,  /* DATA: a message begins here; one that was not finished will never be */
    MCP_VOID = 2,   /* DATA: nothing but its number; its message's port was closed meanwhile */
    MCP_PLEASE = 4, /* DATA: acknowledge at once, the sender waits for it */
    MCP_GAP = 8,    /* ACK: packet `expected` is missing, later ones have come and were dropped */
    MCP_READY = 16, /* ACK: port `from_port`, which had refused for want of tokens, has `length` */
};

/* A collective packet. The payload that follows is for collectives that carry one. */
struct mcp_collective_part {
    uint32_t epoch;
    uint16_t slot; /* ASK: the sender's own; else the receiver's */
    uint16_t node; /* the sender's number in the group; FAIL: of who is missing */
};

/* A packet of a message, an acknowledgement or a refusal. */
struct mcp_message_part {
    uint64_t source;   /* key of the sending NIC: names the connection, and is what answers carry */
    uint32_t sequence; /* DATA: of this packet on the connection; REFUSE: of the refused one */
    uint32_t expected; /* the next packet that the sender expects: acknowledges all before */
    uint16_t to_port, from_port;
    uint32_t port_key; /* of the port that is meant: a later one may have the same number; ACK with
                          READY: of `from_port` */
    uint32_t length;   /* of the whole message (bytes) */
    uint16_t round;    /* one more after each refusal; REFUSE: of the refused packet */
    uint8_t flags;     /* enum mcp_flag */
    uint8_t detail;    /* DATA: which attempt of the sender this is; ACK with GAP: of the later
                          packet; REFUSE: enum mcp_reason */
};

struct mcp_header {
    uint16_t magic;
    uint8_t version;
    uint8_t type;
    uint32_t check; /* over header and payload, see mcp_seal() */
    uint64_t key;   /* of the group, or of the NIC the packet is for */
    union {
        struct mcp_collective_part collective;
        struct mcp_message_part message;
    };
};

enum {
    MCP_COLLECTIVE_BYTES = 24, /* of a collective packet's header */
    MCP_MESSAGE_BYTES = 48,    /* of the others' */
    MCP_LEAST_BYTES = MCP_COLLECTIVE_BYTES,
};

_Static_assert(MCP_COLLECTIVE_BYTES ==
                   offsetof(struct mcp_header, collective) + sizeof(struct mcp_collective_part),
               "a collective packet's header");
_Static_assert(MCP_MESSAGE_BYTES == sizeof(struct mcp_header), "a message's header");

/* Is that the type of a collective packet? */
static inline bool mcp_is_collective(uint8_t type)
{
    return type >= MCP_ARRIVE && type <= MCP_FAIL;
}

static inline size_t mcp_header_bytes(uint8_t type)
{
    return mcp_is_collective(type) ? MCP_COLLECTIVE_BYTES : MCP_MESSAGE_BYTES;
}

/*
 * The check is made of words of 8 bytes, each mixed into the sum of those before; what is left is
 * filled up with zeros, its length added.
 */
static inline uint64_t mcp_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

/* The check of a collective packet without payload: three words, whatever its check field says. */
static inline uint32_t mcp_collective_check(const struct mcp_header *header)
{
    const uint64_t first =
        header->magic | (uint64_t)header->version << 16 | (uint64_t)header->type << 24;
    const uint64_t last = header->collective.epoch | (uint64_t)header->collective.slot << 32 |
                          (uint64_t)header->collective.node << 48;
    const uint64_t h = mcp_mix(mcp_mix(mcp_mix(0, first), header->key), last);
    /* The upper half: only there every bit of the last word counts. */
    return (uint32_t)(mcp_mix(h, 0) >> 32);
}

/* Complete a header whose other fields are set: magic, version and check. */
void mcp_seal(struct mcp_header *header, const void *payload, size_t payload_bytes);

/*
 * Take a packet apart. `header` gets its header, fields that its type does not have are 0. False if
 * it is none of ours, damaged, or not whole; otherwise every field is in its range, and what is
 * behind mcp_header_bytes() is the payload.
 */
bool mcp_parse(const void *packet, size_t bytes, struct mcp_header *header);

#endif
