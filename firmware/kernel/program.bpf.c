/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The kernel as NIC: the program that runs in the kernel; see kernel.h.
 *
 * It is the collective engine (engine.c, the soft NIC's) between two hooks of the network interface
 * and a few maps. All processors may run the program at once, so a spin lock protects each group's
 * state. Only the engine runs under the lock, since a packet cannot be sent there.
 *
 * Invariants: foreign packets pass untouched, nearly all of them after one look at their length. So
 * do packets that only look like ours: the system would not take them for datagrams either. A
 * message leaves in the packet that caused it: the last one in the packet itself, all others in
 * clones of it. Messages go to the NICs' port of hosts that the owner has met, and nowhere else. A
 * packet from the NIC's port that the program did not send is dropped. A doorbell counts only if it
 * comes from the user who owns the group. Only the socket that rang is woken. Apart from that, only
 * packets with a group's key are dropped.
 */
#define MCP_KERNEL_INSIDE /* groups are as the program has them */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "firmware/bcast.c"
#include "firmware/engine.c"
#include "firmware/kernel/kernel.h"

/* A program returns one of these. At tcx and at clsact they mean the same: whoever comes next
 * (which may be nobody) looks at the packet; the packet goes on, and nobody else here looks at it;
 * it does not go on. */
enum { NEXT = -1, PASS = 0, DROP = 2 };

/* The mark of the program's own packets. The hook on the way out takes it off. No process may give
 * its own packets a mark without CAP_NET_ADMIN. */
enum { OURS = 0x6d796d79 };

const volatile struct mcp_kernel_place place;

/* Is its network one of IPv6? The verifier drops the way that this NIC does not go. */
const volatile bool six;

/* May programs have timers here? (A kernel for real time does not let them.) */
const volatile bool timed;

/* Has the kernel bpf_loop() (Linux 5.17)? */
const volatile bool loops;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MCP_KERNEL_GROUPS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct mcp_kernel_group);
} groups SEC(".maps");

/* Closed groups, and how they ended. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MCP_KERNEL_LATE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct mcp_kernel_late);
} late SEC(".maps");

/* Pages with a line for each group. Hosts may map those of their user. */
struct page_of_lines {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_LINES);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct mcp_kernel_line));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, MCP_KERNEL_PAGES);
    __type(key, uint32_t);
    __array(values, struct page_of_lines);
} pages SEC(".maps");

/* Buffers of groups that carry data or broadcast. Hosts may map those of their user. */
struct page_of_buffer {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct mcp_kernel_buffer));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, MCP_KERNEL_BUFFERS);
    __type(key, uint32_t);
    __array(values, struct page_of_buffer);
} buffers SEC(".maps");

/* How many open groups have a buffer. The owner writes it. While there are none, only packets
 * without payload can be ours. */
volatile uint32_t carrying SEC(".data.owner");

/* A whole collective packet on the wire, or all but its payload, is a head and a body. A doorbell
 * has the same shape. The words are those of struct mcp_header up to its collective part, or those
 * of struct mcp_doorbell. */
enum { WORDS = MCP_COLLECTIVE_BYTES / 4 };
struct head {
    struct ethhdr ethernet;
    struct iphdr ip;
} __attribute__((packed, aligned(2)));
struct head_of_6 {
    struct ethhdr ethernet;
    struct ipv6hdr ip;
} __attribute__((packed, aligned(2)));
struct body {
    struct udphdr udp;
    uint32_t words[WORDS];
} __attribute__((packed, aligned(2)));

#define HEAD_BYTES (six ? sizeof(struct head_of_6) : sizeof(struct head))
#define FRAME_BYTES (HEAD_BYTES + sizeof(struct body))

/* A packet that is being made, with the alignment of its parts. Both kinds of head end where the
 * body begins. */
struct made_frame {
    uint16_t zero;
    union {
        struct head_of_6 head_of_6;
        struct {
            uint8_t apart[sizeof(struct head_of_6) - sizeof(struct head)];
            struct head head;
        };
    };
    struct body body;
} __attribute__((aligned(8)));

/* A payload while it is checked, or sealed. */
enum { PAYLOAD_WORDS = MCP_PAYLOAD_MOST / 8 };
struct payload {
    uint64_t word[PAYLOAD_WORDS];
};

/* The packet that a processor is at: the payload that came, or the whole of what it becomes. (The
 * stack is too short for that.) Nothing else writes it meanwhile, as programs at these hooks are
 * not interrupted by others. */
struct made {
    struct made_frame frame;
    struct payload payload; /* right behind it */
};

_Static_assert(sizeof(uint16_t) + sizeof(struct head_of_6) + sizeof(struct body) ==
                   offsetof(struct made, payload),
               "a payload follows its frame");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct made);
} all_made SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_NEIGHBOURS);
    __type(key, uint32_t);
    __type(value, struct mcp_kernel_neighbour);
} neighbours SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct mcp_counters);
} counters SEC(".maps");

/* The timer that looks for stuck groups. `armed` is 1 while it is going to run. */
struct watch {
    struct bpf_timer timer;
    uint32_t armed;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct watch);
} watches SEC(".maps");

/* How long the last look for stuck groups took (nanoseconds). */
uint64_t look_took;

/* For each socket that a host has rung MCP_RING_SLEEP by: the key of the group. It goes with the
 * socket. */
struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, uint64_t);
} sleepers SEC(".maps");

/* To the owner: struct mcp_kernel_stuck. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, MCP_KERNEL_TOLD);
} stuck SEC(".maps");

/* All functions that are under way have 512 bytes of stack together, and older kernels count each
 * one's in steps of 32. So what is not needed at the same time is in functions of its own. */
#define APART static __attribute__((noinline))

#define COUNT(name) COUNT_MORE(name, 1)
#define COUNT_MORE(name, more)                                                                     \
    do {                                                                                           \
        const uint32_t zero_ = 0;                                                                  \
        struct mcp_counters *counters_ = bpf_map_lookup_elem(&counters, &zero_);                   \
        if (counters_) {                                                                           \
            counters_->name += (more);                                                             \
        }                                                                                          \
    } while (0)

/* ---- packets ---- */

/* A word that lies anywhere: in a packet, in a map, or where the loader writes. */
typedef uint32_t any_word __attribute__((may_alias));

/* An address as packets have it: four words of IPv6, or one of IPv4. */
typedef const volatile any_word *address;

static __always_inline void copy_words(void *to, const void *from)
{
    for (int i = 0; i < WORDS; ++i) {
        ((any_word *)to)[i] = ((const any_word *)from)[i];
    }
}

/* One as the owner writes it, so. */
#define IN_PACKET(ip) (six ? &(ip)->word[0] : &(ip)->word[3])

static __always_inline void copy_address(any_word *to, address from)
{
    to[0] = from[0];
    if (six) {
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
    }
}

static __always_inline bool is_own(address ip)
{
    address own = IN_PACKET(&place.ip);
    return ip[0] == own[0] &&
           (!six || 0 == ((ip[1] ^ own[1]) | (ip[2] ^ own[2]) | (ip[3] ^ own[3])));
}

enum { UDP_BYTES = sizeof(struct body), UNCUT = 0x4000, HOPS = 64, FLOW_LABEL = 0xfffff };

static __always_inline const struct iphdr *ip_of(const struct ethhdr *frame)
{
    return &((const struct head *)frame)->ip;
}

static __always_inline const struct ipv6hdr *ip6_of(const struct ethhdr *frame)
{
    return &((const struct head_of_6 *)frame)->ip;
}

static __always_inline const struct body *body_of(const struct ethhdr *frame)
{
    return (const void *)frame + HEAD_BYTES;
}

static __always_inline address source_of(const struct ethhdr *frame)
{
    return six ? ip6_of(frame)->saddr.s6_addr32 : &ip_of(frame)->saddr;
}

static __always_inline address destination_of(const struct ethhdr *frame)
{
    return six ? ip6_of(frame)->daddr.s6_addr32 : &ip_of(frame)->daddr;
}

/* Bytes of payload in a packet of ours; more than MCP_PAYLOAD_MOST: it is none. */
static __always_inline uint32_t payload_bytes(const struct __sk_buff *packet)
{
    return packet->len - (uint32_t)FRAME_BYTES;
}

/* Can a packet of ours be that long? */
static __always_inline bool may_be_ours(uint32_t bytes)
{
    return 0 == bytes ||
           (bytes <= MCP_PAYLOAD_MOST && 0 == bytes % MCP_BLOCK_UNIT && 0 != carrying);
}

/* Does the head of a packet with so many bytes of payload have the shape of ours? Whatever the
 * system's UDP would not take for a datagram of this length does not. Over IPv4, nor does a
 * datagram with a checksum, as ours have none. */
static __always_inline bool has_shape(const struct ethhdr *frame, uint32_t bytes)
{
    const uint16_t length = bpf_htons((uint16_t)(UDP_BYTES + bytes));
    if (six) {
        const struct ipv6hdr *ip = ip6_of(frame);
        return 6 == ip->version && IPPROTO_UDP == ip->nexthdr && length == ip->payload_len &&
               length == body_of(frame)->udp.len;
    }
    const struct iphdr *ip = ip_of(frame);
    return 4 == ip->version && 5 == ip->ihl && IPPROTO_UDP == ip->protocol &&
           bpf_htons((uint16_t)(sizeof(*ip) + UDP_BYTES + bytes)) == ip->tot_len &&
           0 == (ip->frag_off & bpf_htons((uint16_t)~UNCUT)) && length == body_of(frame)->udp.len &&
           0 == body_of(frame)->udp.check;
}

/* The packet's frame, if it has the shape of one of ours. NULL: foreign. So is one of a VLAN, which
 * has a network of its own. */
static __always_inline const struct ethhdr *frame_of(struct __sk_buff *packet)
{
    const uint32_t bytes = payload_bytes(packet);
    if (!may_be_ours(bytes) ||
        packet->protocol != (six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP))) {
        return NULL;
    }
    if (packet->data + FRAME_BYTES > packet->data_end) {
        (void)bpf_skb_pull_data(packet, FRAME_BYTES);
    }
    const struct ethhdr *frame = (struct ethhdr *)(long)packet->data;
    if ((const void *)frame + FRAME_BYTES > (void *)(long)packet->data_end ||
        !has_shape(frame, bytes) || 0 != packet->vlan_present) {
        return NULL;
    }
    return frame;
}

/* ---- checksums ---- */

/* The Internet's checksum, from a sum of words of 16 or 32 bits. */
static __always_inline uint16_t internet_check(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* The checksum of the IPv4 header that fill_frame() makes, computed from its parts. */
static __always_inline uint16_t ip_check(uint32_t from, uint32_t to, uint16_t length)
{
    const uint32_t parts =
        bpf_htons(0x4500) + length + bpf_htons(UNCUT) + bpf_htons(HOPS << 8 | IPPROTO_UDP);
    return internet_check((uint64_t)parts + from + to);
}

/* Does the checksum of this IP header fit? The system makes sure of it for packets that leave. */
static __always_inline bool ip_fits(const void *ip)
{
    const any_word *words = ip;
    return 0 == internet_check((uint64_t)words[0] + words[1] + words[2] + words[3] + words[4]);
}

/* What UDP's checksum over IPv6 is of, but the payload: the addresses, one behind the other, and
 * the body. */
static __always_inline uint64_t sum_of(const void *addresses, const struct body *body)
{
    const any_word *ips = addresses, *words = (const void *)body;
    uint64_t sum = bpf_htons(IPPROTO_UDP) + body->udp.len;
    for (uint32_t w = 0; w < 2 * sizeof(struct in6_addr) / 4; ++w) {
        sum += ips[w];
    }
    for (uint32_t w = 0; w < sizeof(*body) / 4; ++w) {
        sum += words[w];
    }
    return sum;
}

/* The same of a payload. (As mcp_sum(), one that the verifier walks once.) */
__attribute__((noinline)) uint64_t mcp_sum_for_udp(const struct payload *payload, uint32_t words)
{
    uint64_t sum = 0;
    if (!payload) {
        return 0;
    }
    for (uint32_t w = 0; w < PAYLOAD_WORDS && w < words; ++w) {
        sum += (payload->word[w] & UINT32_MAX) + (payload->word[w] >> 32);
    }
    return sum;
}

/* This processor's. Not NULL, for any processor. */
static __always_inline struct made *own_made(void)
{
    const uint32_t zero = 0;
    return bpf_map_lookup_elem(&all_made, &zero);
}

static __always_inline struct payload *own_payload(void)
{
    struct made *made = own_made();
    return made ? &made->payload : NULL;
}

/* The checksum of a packet over IPv6 with such a sum, and with so many bytes of this processor's
 * payload. 0: the one that is in it fits. */
static __always_inline uint16_t udp_check(uint64_t sum, uint32_t bytes)
{
    return internet_check(0 == bytes ? sum : sum + mcp_sum_for_udp(own_payload(), bytes / 8));
}

/* ---- making packets ---- */

/* Fill in all of a packet from the NIC's port but the Ethernet addresses, the message, which has so
 * many bytes of payload, and a checksum of UDP's. */
static __always_inline void fill_frame(struct made_frame *frame, address from, address to,
                                       uint16_t to_port, uint32_t bytes)
{
    const uint16_t length = bpf_htons((uint16_t)(UDP_BYTES + bytes));
    frame->body.udp = (struct udphdr){.source = place.port, .dest = to_port, .len = length};
    if (six) {
        struct ipv6hdr *ip = &frame->head_of_6.ip;
        frame->head_of_6.ethernet.h_proto = bpf_htons(ETH_P_IPV6);
        *(any_word *)ip = bpf_htonl(6U << 28);
        ip->payload_len = length;
        ip->nexthdr = IPPROTO_UDP;
        ip->hop_limit = HOPS;
        copy_address(ip->saddr.s6_addr32, from);
        copy_address(ip->daddr.s6_addr32, to);
        return;
    }
    const uint16_t all = bpf_htons((uint16_t)(sizeof(struct iphdr) + UDP_BYTES + bytes));
    const uint32_t from_ip = from[0], to_ip = to[0];
    frame->head.ethernet.h_proto = bpf_htons(ETH_P_IP);
    frame->head.ip = (struct iphdr){
        .version = 4,
        .ihl = 5,
        .tot_len = all,
        .frag_off = bpf_htons(UNCUT),
        .ttl = HOPS,
        .protocol = IPPROTO_UDP,
        .saddr = from_ip,
        .daddr = to_ip,
        .check = ip_check(from_ip, to_ip, all),
    };
}

/* Where it begins. */
static __always_inline struct ethhdr *begin_of(struct made_frame *frame)
{
    return six ? &frame->head_of_6.ethernet : &frame->head.ethernet;
}

/* Copy byte by byte: the compiler does not see the values that the loader writes there. */
static __always_inline void copy_own_mac(uint8_t *to)
{
    for (int i = 0; i < ETH_ALEN; ++i) {
        to[i] = place.mac[i];
    }
}

/* The check of two words. The verifier walks a function of numbers once, whoever calls it; and it
 * has a frame of its own on the stack, which is short. */
__attribute__((noinline)) uint64_t mcp_sum(uint64_t secret0, uint64_t secret1, uint64_t word,
                                           uint64_t last)
{
    const struct mcp_secret secret = {{secret0, secret1}};
    struct mcp_sip sip = mcp_sip_begin(&secret);
    mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
    return mcp_sip_end(sip, MCP_CHECK_ROUNDS, MCP_CHECK_LAST_ROUNDS, last);
}

/* The same for a packet with payload: as long_check() in wire.c. */
__attribute__((noinline)) uint64_t mcp_sum_payload(const struct payload *payload,
                                                   const struct mcp_secret *secret, uint64_t word,
                                                   uint64_t last, uint32_t words)
{
    if (!payload || !secret) {
        return 0;
    }
    struct mcp_sip sip = mcp_sip_begin(secret);
    mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
    for (uint32_t w = 0; w < PAYLOAD_WORDS && w < words; ++w) {
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, payload->word[w]);
    }
    return mcp_sip_end(sip, MCP_CHECK_ROUNDS, MCP_CHECK_LAST_ROUNDS, last);
}

/* The check of a packet whose payload, if it has any, is this processor's. */
static __always_inline uint64_t check_of(const struct mcp_header *header,
                                         const struct mcp_secret *secret)
{
    const uint64_t word = mcp_collective_word(header);
    if (0 == header->payload_bytes) {
        return mcp_sum(secret->word[0], secret->word[1], word, mcp_last_word(header, 8));
    }
    return mcp_sum_payload(own_payload(), secret, word,
                           mcp_last_word(header, 8 + header->payload_bytes),
                           header->payload_bytes / 8);
}

/*
 * Is it a payload's length? The verifier knows the bounds of what was compared, in the register
 * where it was: so nothing comes in between, and each bound has a comparison of its own.
 */
#define IS_PAYLOAD(bytes)                                                                          \
    ({                                                                                             \
        barrier_var(bytes);                                                                        \
        bool is_ = (bytes) >= MCP_BLOCK_UNIT;                                                      \
        if (is_) {                                                                                 \
            barrier_var(bytes);                                                                    \
            is_ = (bytes) <= MCP_PAYLOAD_MOST;                                                     \
        }                                                                                          \
        is_;                                                                                       \
    })

/* Keep the packet's payload. */
static __always_inline bool load_payload(struct __sk_buff *packet, uint32_t bytes)
{
    struct payload *payload = own_payload();
    return payload && IS_PAYLOAD(bytes) &&
           0 == bpf_skb_load_bytes(packet, FRAME_BYTES, payload, bytes);
}

/* The packet becomes what has been made, with so many bytes of payload. */
static __always_inline bool put(struct __sk_buff *packet, struct made *made, uint32_t bytes)
{
    const uint32_t length = (uint32_t)FRAME_BYTES + bytes;
    if (length != packet->len && bpf_skb_change_tail(packet, length, 0) < 0) {
        return false;
    }
    barrier_var(bytes);
    return bytes <= MCP_PAYLOAD_MOST &&
           0 == bpf_skb_store_bytes(packet, 0, begin_of(&made->frame), FRAME_BYTES + bytes, 0);
}

/* Seal the header (mcp_seal()), and turn the packet into one of ours with it, to the NIC at this
 * address and hardware address. */
static __always_inline bool say(struct __sk_buff *packet, const uint8_t *mac, address ip,
                                struct mcp_header *header, const struct mcp_secret *secret,
                                uint32_t bytes)
{
    struct made *made = own_made();
    if (!made) {
        return false;
    }
    struct made_frame *frame = &made->frame;
    __builtin_memcpy(begin_of(frame)->h_dest, mac, ETH_ALEN);
    copy_own_mac(begin_of(frame)->h_source);
    fill_frame(frame, IN_PACKET(&place.ip), ip, place.port, bytes);
    header->magic = MCP_MAGIC;
    header->version = MCP_WIRE_VERSION;
    header->payload_bytes = bytes;
    header->check = check_of(header, secret);
    copy_words(frame->body.words, header);
    if (six) {
        /* Each message is a flow of its own: Linux may gather what comes of one flow into one
         * packet (GRO). Over IPv4 it gathers nothing that has no checksum. */
        *(any_word *)&frame->head_of_6.ip |= bpf_htonl(FLOW_LABEL) & (uint32_t)header->check;
        const uint16_t check = udp_check(sum_of(&frame->head_of_6.ip.saddr, &frame->body), bytes);
        frame->body.udp.check = 0 == check ? UINT16_MAX : check; /* 0 says that there is none */
    }
    if (!put(packet, made, bytes)) {
        COUNT(send_errors);
        return false;
    }
    COUNT(packets_sent);
    packet->mark = OURS;
    return true;
}

/* ---- buffers ---- */

/* The group's buffer. NULL: it has none (any more). */
static __always_inline struct mcp_kernel_buffer *buffer_at(uint32_t place)
{
    const uint32_t zero = 0;
    void *buffer = bpf_map_lookup_elem(&buffers, &place);
    return buffer ? bpf_map_lookup_elem(buffer, &zero) : NULL;
}

enum { BUFFER_WORDS = sizeof(struct mcp_kernel_buffer) / 8, LINE_WORDS = 8 };

static __always_inline uint64_t *word_at(struct mcp_kernel_buffer *buffer, uint32_t word)
{
    return &buffer->word[0][0] + word % BUFFER_WORDS;
}

/* As many words as a line of memory has, from this one on. To look at the place of each word would
 * take longer than to copy it. */
static __always_inline uint64_t *line_of_words(struct mcp_kernel_buffer *buffer, uint32_t word)
{
    const uint32_t place = word % BUFFER_WORDS, last = BUFFER_WORDS - LINE_WORDS;
    return &buffer->word[0][0] + (place < last ? place : last);
}

static __always_inline void copy_line(uint64_t *to, const uint64_t *from)
{
    for (uint32_t w = 0; w < LINE_WORDS; ++w) {
        to[w] = from[w];
    }
}

/* Where an epoch's data begin. */
static __always_inline uint32_t epoch_word(uint32_t epoch)
{
    return epoch % 2 * (MCP_KERNEL_BUFFER / 8);
}

/*
 * Put this processor's payload into the buffer, from this word on. The group is locked, and its
 * buffer still is this one: the owner takes a buffer away under that lock. So nobody writes it who
 * still knows a closed group.
 */
static __always_inline void keep(struct mcp_kernel_buffer *buffer, uint32_t first,
                                 const struct payload *payload, uint32_t bytes)
{
    const uint32_t words = bytes / 8;
    uint32_t w = 0;
    for (; w + LINE_WORDS <= PAYLOAD_WORDS && w + LINE_WORDS <= words; w += LINE_WORDS) {
        copy_line(line_of_words(buffer, first + w), &payload->word[w]);
    }
    for (; w < PAYLOAD_WORDS && w < words; ++w) {
        *word_at(buffer, first + w) = payload->word[w];
    }
}

/*
 * Have this processor's payload be that of the buffer, from this word on. When another processor is
 * far ahead, the buffer may change meanwhile. Then nobody misses this message any more: whoever
 * gets it knows it. What is sealed is what is sent.
 */
__attribute__((noinline)) int mcp_fetch(struct payload *payload, struct mcp_kernel_buffer *buffer,
                                        uint32_t first, uint32_t words)
{
    if (!payload || !buffer) {
        return 0;
    }
    uint32_t w = 0;
    for (; w + LINE_WORDS <= PAYLOAD_WORDS && w + LINE_WORDS <= words; w += LINE_WORDS) {
        copy_line(&payload->word[w], line_of_words(buffer, first + w));
    }
    for (; w < PAYLOAD_WORDS && w < words; ++w) {
        payload->word[w] = *word_at(buffer, first + w);
    }
    return 1;
}

/* ---- playing ---- */

/* How many bursts a packet can cause. It may complete two epochs: messages of the second may have
 * come before the last one of the first, and they stand for the first, too. */
enum { BURSTS = 2 * (MCP_KERNEL_STEPS + 2 * MCP_KERNEL_MESSAGES) / BURST_TURNS + 4 };

/*
 * Loops. Kernels before bpf_loop() can walk a map, which is an array of as many places as a loop
 * has turns at the most. The verifier drops the way that this kernel does not go. A loop calls
 *
 *     static __always_inline long TURN(uint32_t turn, void *context)
 *
 * and ends early if that returns 1. The context begins with a struct play, and WALKED(TURN) stands
 * behind the function. Loops may lie in each other.
 */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_PEERS);
    __type(key, uint32_t);
    __type(value, uint32_t);
} turns SEC(".maps");

#define WALKED(turn)                                                                               \
    static long turn##_walked(void *map, const uint32_t *place, void *value, struct play *context) \
    {                                                                                              \
        (void)map;                                                                                 \
        (void)value;                                                                               \
        return *place >= context->turns ? 1 : turn(*place, context);                               \
    }
#define LOOP(count, turn, play, context)                                                           \
    do {                                                                                           \
        const uint32_t count_ = (count);                                                           \
        if (loops) {                                                                               \
            bpf_loop(count_, turn, context, 0);                                                    \
        } else {                                                                                   \
            const uint32_t outer_ = (play)->turns;                                                 \
            (play)->turns = count_;                                                                \
            bpf_for_each_map_elem(&turns, turn##_walked, context, 0);                              \
            (play)->turns = outer_;                                                                \
        }                                                                                          \
    } while (0)

/* What a call of the program is at. */
struct play {
    struct __sk_buff *packet;
    struct mcp_kernel_group *group;
    struct mcp_burst burst;     /* to be sent; `first` is the next of them */
    uint32_t completed;         /* epochs, before this burst */
    struct mcp_message message; /* that is being sent: stacks are short */
    uint32_t turns;             /* of the loop that walks */
};

/* Turn the packet into the message. (A broadcast's block is this processor's payload already.)
 * False: the receiver's hardware address is not known. */
APART bool become(struct play *play)
{
    struct mcp_message *message = &play->message;
    const struct mcp_kernel_group *group = play->group;
    const struct mcp_kernel_neighbour *peer = bpf_map_lookup_elem(&neighbours, &message->to);
    const uint32_t bytes = message->bytes;
    if (!peer || !peer->known ||
        (0 != bytes && MCP_ARRIVE == message->header.type &&
         !mcp_fetch(own_payload(), buffer_at(group->buffer),
                    epoch_word(message->header.collective.epoch), bytes / 8))) {
        COUNT(send_errors);
        return false;
    }
    return say(play->packet, peer->mac, IN_PACKET(&peer->ip), &message->header,
               &group->group.secret, bytes);
}

/* It is the message: send a clone of it. */
static __always_inline void clone(struct __sk_buff *packet)
{
    if (bpf_clone_redirect(packet, place.interface, 0) < 0) {
        COUNT(send_errors);
    }
}

static __always_inline void send_clone(struct play *play)
{
    if (become(play)) {
        clone(play->packet);
    }
}

static __always_inline void next_message(struct play *play)
{
    mcp_group_message(&play->group->group, play->burst.first, play->burst.epoch, &play->message);
    ++play->burst.first;
}

/* Send the next message. */
static __always_inline long send_on(uint32_t turn, void *context)
{
    struct play *play = context;
    (void)turn;
    next_message(play);
    send_clone(play);
    return 0;
}
WALKED(send_on)

/* Send the burst, and go on. Returns 1 when nothing is left to do. */
static __always_inline long play_on(uint32_t turn, void *context)
{
    struct play *play = context;
    (void)turn;
    LOOP(play->burst.end - play->burst.first, send_on, play, play);
    play->completed += play->burst.done;
    bpf_spin_lock(&play->group->lock);
    mcp_group_burst(&play->group->group, &play->burst);
    bpf_spin_unlock(&play->group->lock);
    return 0 == play->burst.more;
}
WALKED(play_on)

/* Ask for the message that the present step waits for at place `wait`, if it is missing. */
static __always_inline long ask_on(uint32_t wait, void *context)
{
    struct play *play = context;
    bpf_spin_lock(&play->group->lock);
    const bool misses = mcp_group_misses(&play->group->group, wait, &play->message);
    bpf_spin_unlock(&play->group->lock);
    if (misses) {
        COUNT(asked);
        send_clone(play);
    }
    return 0;
}
WALKED(ask_on)

static __always_inline struct mcp_kernel_line *line_at(uint32_t place)
{
    const uint32_t page = place / MCP_KERNEL_LINES, line = place % MCP_KERNEL_LINES;
    void *lines = bpf_map_lookup_elem(&pages, &page);
    return lines ? bpf_map_lookup_elem(lines, &line) : NULL;
}

/*
 * Tell the hosts which epoch is done. Another processor may complete the next epoch at the same
 * time. So the line is written under the group's lock: it gets epochs in the order of their
 * completion, and the last one stays. The owner takes the line away from a group under that lock,
 * too. So nobody writes it who still knows a closed group.
 */
static __always_inline void release(struct mcp_kernel_group *group)
{
    const uint32_t place = group->line;
    struct mcp_kernel_line *line = line_at(place);
    if (line) {
        bpf_spin_lock(&group->lock);
        if (place == group->line) {
            myr_publish(&line->done, myr_glance(&group->group.done));
        }
        bpf_spin_unlock(&group->lock);
    }
}

/* Whoever rings MCP_RING_SLEEP sleeps on that socket. */
static __always_inline void note_sleeper(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                         const struct ethhdr *frame)
{
    const uint16_t from = body_of(frame)->udp.source;
    struct bpf_sock *socket = packet->sk ? bpf_sk_fullsock(packet->sk) : NULL;
    uint64_t *sleeps_for =
        socket ? bpf_sk_storage_get(&sleepers, socket, NULL, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
    if (sleeps_for) {
        *sleeps_for = group->group.key;
        bpf_spin_lock(&group->lock);
        copy_address(IN_PACKET(&group->wake_ip), destination_of(frame));
        group->wake_to = from;
        bpf_spin_unlock(&group->lock);
    }
}

/* Would the packet for whoever sleeps come to the socket that rang, and to no other? That one may
 * be closed by now, and another user's may have its port. */
static __always_inline bool finds_sleeper(struct __sk_buff *packet, uint64_t key, address ip,
                                          uint16_t to)
{
    struct bpf_sock_tuple tuple = {0};
    if (six) {
        copy_address(tuple.ipv6.saddr, ip);
        copy_address(tuple.ipv6.daddr, IN_PACKET(&place.ip));
        tuple.ipv6.sport = place.port;
        tuple.ipv6.dport = to;
    } else {
        copy_address(&tuple.ipv4.saddr, ip);
        copy_address(&tuple.ipv4.daddr, IN_PACKET(&place.ip));
        tuple.ipv4.sport = place.port;
        tuple.ipv4.dport = to;
    }
    struct bpf_sock *socket =
        bpf_sk_lookup_udp(packet, &tuple, six ? sizeof(tuple.ipv6) : sizeof(tuple.ipv4),
                          (uint64_t)BPF_F_CURRENT_NETNS, 0);
    if (!socket) {
        return false;
    }
    const uint64_t *sleeps_for = bpf_sk_storage_get(&sleepers, socket, NULL, 0);
    const bool found = sleeps_for && key == *sleeps_for;
    bpf_sk_release(socket);
    return found;
}

/* If a host sleeps on a socket, the packet becomes one for that socket, without a checksum of
 * UDP's. `incoming` as in play(): a doorbell was going out, so it must be turned round. */
APART int wake(struct __sk_buff *packet, struct mcp_kernel_group *group, bool incoming)
{
    struct made *made = own_made();
    struct mcp_ip from;
    bpf_spin_lock(&group->lock);
    copy_address(IN_PACKET(&from), IN_PACKET(&group->wake_ip));
    const uint16_t to_port = group->wake_to;
    group->wake_to = 0;
    bpf_spin_unlock(&group->lock);
    if (!made || 0 == to_port ||
        !finds_sleeper(packet, group->group.key, IN_PACKET(&from), to_port)) {
        return DROP;
    }
    copy_own_mac(begin_of(&made->frame)->h_dest);
    copy_own_mac(begin_of(&made->frame)->h_source);
    fill_frame(&made->frame, IN_PACKET(&from), IN_PACKET(&place.ip), to_port, 0);
    packet->mark = 0;
    if (!put(packet, made, 0)) {
        return DROP;
    }
    return incoming ? PASS : (int)bpf_redirect(place.interface, BPF_F_INGRESS);
}

/* What becomes of the packet, which has become the last message if there `is_last`; `wakes`:
 * whoever sleeps is to be woken. */
static __always_inline int finish(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                  bool is_last, bool wakes, bool incoming)
{
    if (wakes && 0 != group->wake_to) {
        if (is_last) {
            clone(packet);
        }
        return wake(packet, group, incoming);
    }
    if (!is_last) {
        return DROP;
    }
    if (incoming) {
        return (int)bpf_redirect(place.interface, 0);
    }
    packet->mark = 0;
    return PASS;
}

/*
 * Go on with a group, starting with play->burst. `incoming`: the packet came from the wire, so it
 * must be turned round to leave. Otherwise it is a doorbell on its way out.
 */
static __always_inline int play(struct play *play, bool incoming)
{
    struct __sk_buff *packet = play->packet;
    struct mcp_kernel_group *group = play->group;
    if (0 != play->burst.more) {
        LOOP(BURSTS, play_on, play, play);
    }
    const uint32_t completed = play->completed + play->burst.done;
    const uint32_t count = play->burst.end - play->burst.first;
    if (count > 1) {
        LOOP(count - 1, send_on, play, play);
    }
    next_message(play);
    if (completed > 0) {
        release(group);
        COUNT_MORE(barriers, completed);
    }
    const bool is_last = count > 0 && become(play);
    return finish(packet, group, is_last, completed > 0, incoming);
}

/* Somebody says that he lives; this is what has become of it. */
static __always_inline int count_heard(enum mcp_recorded recorded)
{
    if (MCP_RECORDED == recorded) {
        COUNT(heard);
    } else if (MCP_KNOWN == recorded) {
        COUNT(duplicates);
    } else {
        COUNT(dropped_implausible);
    }
    return DROP;
}

/* ---- broadcasts (as in collective_bcast.c) ---- */

/* A part of a broadcast's slot that begins at word `slot` of the buffer. */
static __always_inline myr_word *slot_part(struct mcp_kernel_buffer *buffer, uint32_t slot,
                                           uint32_t offset)
{
    return (myr_word *)word_at(buffer, slot + offset / 8) + offset % 8 / 4;
}

#define SLOT(buffer, slot, part) slot_part(buffer, slot, offsetof(struct mcp_bcast_slot, part))

/* The word at which the slot of a broadcast begins. */
static __always_inline uint32_t slot_of(const struct mcp_group *group, uint32_t number)
{
    return mcp_bcast_place(group->window, group->slot_bytes, number) / 8;
}

/* A block to be handed on: this processor's payload. */
struct handing {
    struct play play;
    uint32_t root, number, bytes;
    uint32_t child; /* the place of the next one's message; NO_CHILD: none has been found yet */
};

enum { NO_CHILD = 2 * MCP_KERNEL_PEERS };

static __always_inline void next_child(struct handing *handing)
{
    mcp_bcast_message(&handing->play.group->group, handing->child, handing->root, handing->number,
                      handing->bytes, &handing->play.message);
}

/* If that is a child, it is the next one. Whoever was so far gets its message. */
static __always_inline long hand_on(uint32_t place, void *context)
{
    struct handing *handing = context;
    if (mcp_bcast_child(&handing->play.group->group, place, handing->root)) {
        if (NO_CHILD != handing->child) {
            next_child(handing);
            send_clone(&handing->play);
        }
        handing->child = place;
    }
    return 0;
}
WALKED(hand_on)

/* Keep the block in its slot. A host that sees the number reads the block. So the number is
 * exchanged: that is a barrier, which a store is not. */
static __always_inline enum mcp_recorded keep_block(struct handing *handing)
{
    struct mcp_kernel_group *group = handing->play.group;
    const uint32_t place = group->buffer, bytes = handing->bytes;
    struct mcp_kernel_buffer *buffer = buffer_at(place);
    const struct payload *payload = own_payload();
    enum mcp_recorded recorded = MCP_IMPLAUSIBLE;
    if (!buffer || !payload) {
        return recorded;
    }
    bpf_spin_lock(&group->lock);
    const uint32_t slot = slot_of(&group->group, handing->number);
    if (place == group->buffer) {
        recorded = mcp_bcast_take(&group->group, handing->root, *SLOT(buffer, slot, number),
                                  handing->number, bytes);
    }
    if (MCP_RECORDED == recorded) {
        keep(buffer, slot + sizeof(struct mcp_bcast_slot) / 8, payload, bytes);
        *SLOT(buffer, slot, bytes) = bytes;
        (void)__sync_lock_test_and_set(SLOT(buffer, slot, number), handing->number);
    }
    bpf_spin_unlock(&group->lock);
    return recorded;
}

/* The packet has a block, which is this processor's payload: keep it, and hand it on. `incoming` as
 * in play(). */
static __always_inline int take_block(struct handing *handing, bool incoming)
{
    struct __sk_buff *packet = handing->play.packet;
    struct mcp_kernel_group *group = handing->play.group;
    handing->bytes = payload_bytes(packet);
    handing->child = NO_CHILD;
    const enum mcp_recorded recorded = keep_block(handing);
    if (MCP_RECORDED != recorded) {
        if (incoming && MCP_KNOWN == recorded) {
            COUNT(duplicates);
        } else if (incoming) {
            COUNT(dropped_implausible);
        }
        return DROP;
    }
    COUNT(broadcasts);
    LOOP(group->group.nsends & (2 * MCP_KERNEL_MESSAGES - 1), hand_on, &handing->play, handing);
    const bool any = NO_CHILD != handing->child;
    if (any) {
        next_child(handing);
    }
    return finish(packet, group, any && become(&handing->play), true, incoming);
}

/* This node misses a block: play->message asks for it. False: it is the root. */
static __always_inline bool ask_bcast(struct play *play, uint32_t root, uint32_t number)
{
    struct mcp_kernel_group *group = play->group;
    bpf_spin_lock(&group->lock);
    const bool asks = mcp_bcast_ask(&group->group, root, number, &play->message);
    bpf_spin_unlock(&group->lock);
    if (asks) {
        COUNT(asked);
    }
    return asks;
}

/* A peer misses a block. */
static __always_inline int answer_bcast(struct play *play, const struct mcp_collective_part *part)
{
    struct mcp_kernel_group *group = play->group;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    if (!buffer) {
        return DROP;
    }
    bpf_spin_lock(&group->lock);
    const uint32_t slot = slot_of(&group->group, part->epoch);
    const bool sent =
        mcp_bcast_answer(&group->group, part->node, part->slot, part->epoch,
                         *SLOT(buffer, slot, number), *SLOT(buffer, slot, bytes), &play->message);
    bpf_spin_unlock(&group->lock);
    if (!sent) {
        return DROP;
    }
    if (MCP_BCAST_LATER == play->message.header.type) {
        COUNT(later);
        send_clone(play);
        if (!ask_bcast(play, part->slot, part->epoch)) {
            return DROP;
        }
    } else {
        COUNT(answered);
        (void)mcp_fetch(own_payload(), buffer, slot + sizeof(struct mcp_bcast_slot) / 8,
                        play->message.bytes / 8);
    }
    return become(play) ? (int)bpf_redirect(place.interface, 0) : DROP;
}

/* The parent says that a block is still to come. */
static __always_inline int hear_bcast(struct mcp_kernel_group *group,
                                      const struct mcp_collective_part *part)
{
    const uint32_t now_ms = (uint32_t)(bpf_ktime_get_ns() / 1000000), place = group->buffer;
    struct mcp_kernel_buffer *buffer = buffer_at(place);
    enum mcp_recorded recorded = MCP_IMPLAUSIBLE;
    if (!buffer) {
        return DROP;
    }
    bpf_spin_lock(&group->lock);
    const uint32_t slot = slot_of(&group->group, part->epoch);
    if (place == group->buffer) {
        recorded = mcp_bcast_hear(&group->group, part->node, part->slot, part->epoch,
                                  *SLOT(buffer, slot, number));
    }
    if (MCP_RECORDED == recorded) {
        *SLOT(buffer, slot, heard_ms) = now_ms + (0 == now_ms);
    }
    bpf_spin_unlock(&group->lock);
    return count_heard(recorded);
}

static __always_inline int receive_bcast(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                         const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct handing handing = {
        .play = {.packet = packet, .group = group}, .root = part.slot, .number = part.epoch};
    if (0 == group->group.window) {
        COUNT(dropped_implausible);
        return DROP;
    }
    if (MCP_BCAST == header->type) {
        return take_block(&handing, true);
    }
    return MCP_BCAST_ASK == header->type ? answer_bcast(&handing.play, &part)
                                         : hear_bcast(group, &part);
}

/* The host is the root of a broadcast; or it misses one. */
static __always_inline int ring_bcast(struct handing *handing, const struct mcp_doorbell *bell)
{
    struct play *playing = &handing->play;
    struct __sk_buff *packet = playing->packet;
    handing->root = playing->group->group.node;
    handing->number = bell->epoch;
    if (MCP_RING_BCAST == bell->ring) {
        return load_payload(packet, payload_bytes(packet)) ? take_block(handing, false) : DROP;
    }
    const bool asks = ask_bcast(playing, bell->root, bell->epoch);
    return finish(packet, playing->group, asks && become(playing), false, false);
}

/* ---- who is stuck ---- */

/*
 * A host that waits asks for itself. For a host that computes meanwhile, the owner asks. A timer
 * finds such groups. It runs only while a group is in an epoch.
 *
 * A group enters an epoch under its lock, and looks at `armed` afterwards. The timer first clears
 * `armed`, and then looks at each group under its lock. So one of the two sees the other.
 */
static __always_inline void arm(struct watch *watch)
{
    if (0 == __sync_lock_test_and_set(&watch->armed, 1)) {
        (void)bpf_timer_start(&watch->timer, mcp_kernel_rest(look_took), 0);
    }
}

/* A group has entered an epoch, and it may take a while. */
static __always_inline void watch_over(const struct mcp_kernel_group *group)
{
    const uint32_t zero = 0;
    if (timed && mcp_group_waits_now(&group->group)) {
        struct watch *watch = bpf_map_lookup_elem(&watches, &zero);
        if (watch && !*(volatile uint32_t *)&watch->armed) {
            arm(watch);
        }
    }
}

static __always_inline void tell_stuck(const struct mcp_kernel_group *group, uint32_t done,
                                       struct mcp_kernel_watched *watched)
{
    const struct mcp_kernel_stuck telling = {
        .key = group->group.key, .done = done, .told = ++watched->told};
    (void)bpf_ringbuf_output(&stuck, (void *)&telling, sizeof(telling), 0);
}

/* A look of the timer's: when it is, and whether any group waits. */
struct look {
    uint64_t now_ns;
    bool any;
};

/* (Kernels before 6.2 let a lock be taken only in what has been looked up.) */
static long look_at(void *map, const uint64_t *key, struct mcp_kernel_group *found,
                    struct look *look)
{
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, key);
    (void)map;
    (void)found;
    if (!group) {
        return 0;
    }
    struct mcp_kernel_watched *watched = &group->watched;
    bpf_spin_lock(&group->lock);
    const bool waits = mcp_group_waits_now(&group->group);
    const uint32_t done = myr_glance(&group->group.done);
    bpf_spin_unlock(&group->lock);
    look->any = look->any || waits;
    if (!waits || !watched->waits || done != watched->done) {
        *watched = (struct mcp_kernel_watched){.waits = waits, .done = done};
        mcp_patience_begin(&watched->patience, MCP_KERNEL_LOOK_NS, look->now_ns);
    } else if (mcp_patience_ended(&watched->patience, look->now_ns)) {
        tell_stuck(group, done, watched);
    }
    return 0;
}

static int look_who_is_stuck(void *map, const uint32_t *zero, struct watch *watch)
{
    struct look look = {.now_ns = bpf_ktime_get_ns()};
    (void)map;
    (void)zero;
    (void)__sync_lock_test_and_set(&watch->armed, 0);
    (void)bpf_for_each_map_elem(&groups, look_at, &look, 0);
    look_took = bpf_ktime_get_ns() - look.now_ns;
    if (look.any) {
        arm(watch);
    }
    return 0;
}

/* The owner runs this once, before anything else. */
SEC("tc")
int mcp_begin(struct __sk_buff *nothing)
{
    const uint32_t zero = 0;
    struct watch *watch = bpf_map_lookup_elem(&watches, &zero);
    (void)nothing;
    return !watch || bpf_timer_init(&watch->timer, &watches, 1 /* CLOCK_MONOTONIC */) < 0 ||
           bpf_timer_set_callback(&watch->timer, look_who_is_stuck) < 0;
}

/* ---- lines ---- */

/* The owner runs this before it gives a line to another group: its mark says which. No process may
 * write a page, not even the owner. */
SEC("tc")
int mcp_clear(struct __sk_buff *order)
{
    struct mcp_kernel_line *line = line_at(order->mark);
    if (!line) {
        return 1;
    }
    myr_publish(&line->done, 0);
    myr_publish(&line->failed, 0);
    return 0;
}

/* The same before it gives a buffer to a group that broadcasts. */
SEC("tc")
int mcp_clear_buffer(struct __sk_buff *order)
{
    struct mcp_kernel_buffer *buffer = buffer_at(order->mark);
    if (!buffer) {
        return 1;
    }
    for (uint32_t w = 0; w < BUFFER_WORDS; ++w) {
        *(volatile uint64_t *)word_at(buffer, w) = 0;
    }
    return 0;
}

/* ---- what comes in ---- */

/* Is the packet what somebody has sealed with this secret? Its payload is this processor's then.
 * `sum` is that of its frame (sum_of()). */
static __always_inline bool genuine(struct __sk_buff *packet, uint64_t sum,
                                    const struct mcp_header *header,
                                    const struct mcp_secret *secret)
{
    return (0 == header->payload_bytes || load_payload(packet, header->payload_bytes)) &&
           (!six || 0 == udp_check(sum, header->payload_bytes)) &&
           header->check == check_of(header, secret);
}

/* Handle a packet for a group that is not open. A peer that asks for the last message of a closed
 * group hears that all have entered its epoch. If the group has failed, it hears that, and who was
 * missing (as in collective.c). */
APART int receive_stranger(struct __sk_buff *packet, const struct ethhdr *frame, uint64_t sum,
                           struct mcp_header *header)
{
    const uint64_t key = header->key;
    const struct mcp_kernel_late *last = bpf_map_lookup_elem(&late, &key);
    if (!last) {
        COUNT(dropped_foreign);
        return NEXT;
    }
    if (!genuine(packet, sum, header, &last->secret)) {
        COUNT(dropped_forged);
        return DROP;
    }
    const bool asks = MCP_ASK == header->type;
    const bool done = asks && myr_epoch_reached(last->epoch, header->collective.epoch);
    if ((!asks && MCP_BCAST_ASK != header->type) || (!done && 0 == last->failed)) {
        COUNT(duplicates);
        return DROP;
    }
    header->type = MCP_DONE;
    if (!done) {
        header->type = MCP_FAIL;
        header->collective.node = (uint16_t)(last->failed - 1);
    }
    if (!say(packet, frame->h_source, source_of(frame), header, &last->secret, 0)) {
        return DROP;
    }
    COUNT(answered);
    return (int)bpf_redirect(place.interface, 0);
}

/* Tell a peer that the group has failed. */
static __always_inline long fail_on(uint32_t peer, void *context)
{
    struct play *play = context;
    mcp_group_failure(&play->group->group, peer, &play->message);
    send_clone(play);
    return 0;
}
WALKED(fail_on)

/* The group fails, as this node is missing. Hosts and peers are told once (as in collective.c). */
static __always_inline enum mcp_recorded fail(struct play *playing, uint32_t missing)
{
    struct mcp_kernel_group *group = playing->group;
    const uint32_t place = group->line;
    struct mcp_kernel_line *line = line_at(place);
    bpf_spin_lock(&group->lock);
    const enum mcp_recorded recorded = mcp_group_fail(&group->group, missing);
    if (MCP_RECORDED == recorded && line && place == group->line) {
        myr_publish(&line->failed, missing + 1);
    }
    bpf_spin_unlock(&group->lock);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    COUNT(failed);
    LOOP((group->group.nsends + group->group.nwaits) & (2 * MCP_KERNEL_PEERS - 1), fail_on, playing,
         playing);
    return MCP_RECORDED;
}

/* A packet that moves no group forward: it tells of a peer, or is of a broadcast (as in
 * collective.c). */
static __always_inline int take_note(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                     const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    enum mcp_recorded recorded;
    if (mcp_is_bcast(header->type)) {
        return receive_bcast(packet, group, header);
    }
    if (MCP_FAIL == header->type && 0 != group->leaves) {
        recorded = MCP_KNOWN;
    } else if (MCP_FAIL == header->type) {
        struct play playing = {.packet = packet, .group = group};
        recorded = fail(&playing, part.node);
        if (MCP_RECORDED == recorded) {
            return wake(packet, group, true);
        }
    } else {
        const uint32_t now_ms = (uint32_t)(bpf_ktime_get_ns() / 1000000);
        bpf_spin_lock(&group->lock);
        recorded = mcp_group_hear(&group->group, part.node, part.slot, part.epoch, now_ms);
        bpf_spin_unlock(&group->lock);
    }
    return count_heard(recorded);
}

/* A peer's message has come to a group that carries data: keep what it carries, and record it (as
 * in collective.c). */
static __always_inline enum mcp_recorded take_arrival(struct mcp_kernel_group *group,
                                                      const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    const uint32_t place = group->buffer;
    struct mcp_kernel_buffer *buffer = buffer_at(place);
    const struct payload *payload = own_payload();
    uint32_t bytes = header->payload_bytes, offset;
    enum mcp_recorded recorded = MCP_IMPLAUSIBLE;
    if (!buffer || !payload) {
        return recorded;
    }
    bpf_spin_lock(&group->lock);
    if (place == group->buffer) {
        recorded = mcp_group_claim(&group->group, part.slot, part.epoch, &bytes, &offset);
    }
    if (MCP_RECORDED == recorded) {
        keep(buffer, epoch_word(part.epoch) + offset / 8, payload, bytes);
        recorded = mcp_group_record(&group->group, part.slot, part.epoch);
    }
    bpf_spin_unlock(&group->lock);
    return recorded;
}

/* An ARRIVE or a DONE has come. */
static __always_inline int move_on(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                   const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct play playing = {.packet = packet, .group = group};
    const bool carries = 0 != group->group.places && MCP_ARRIVE == header->type;
    enum mcp_recorded recorded = MCP_RECORDED;
    if (carries) {
        recorded = take_arrival(group, header);
    }
    bpf_spin_lock(&group->lock);
    if (MCP_DONE == header->type) {
        recorded = mcp_group_release(&group->group, part.epoch);
    } else if (!carries) {
        recorded = mcp_group_record(&group->group, part.slot, part.epoch);
    }
    if (recorded <= MCP_UNEXPECTED) { /* that, too: it may stand for an epoch before */
        mcp_group_burst(&group->group, &playing.burst);
    }
    bpf_spin_unlock(&group->lock);
    switch (recorded) {
    case MCP_KNOWN:
        COUNT(duplicates);
        return DROP;
    case MCP_TOO_SOON:
        COUNT(early);
        return DROP;
    case MCP_IMPLAUSIBLE:
        COUNT(dropped_implausible);
        return DROP;
    case MCP_UNEXPECTED:
        COUNT(unexpected);
        break;
    case MCP_RECORDED:
        break;
    }
    return play(&playing, true);
}

/* A peer misses a message. */
static __always_inline int answer(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                  const struct mcp_collective_part *part)
{
    struct play playing = {.packet = packet, .group = group};
    bpf_spin_lock(&group->lock);
    const bool sent =
        mcp_group_answer(&group->group, part->node, part->slot, part->epoch, &playing.message);
    bpf_spin_unlock(&group->lock);
    if (!sent || !become(&playing)) {
        return DROP;
    }
    if (MCP_LATER == playing.message.header.type) {
        COUNT(later);
    } else {
        COUNT(answered);
    }
    return (int)bpf_redirect(place.interface, 0);
}

/* Can a packet of this type have so much payload? */
static __always_inline bool carries_so(const struct mcp_header *header)
{
    return MCP_BCAST == header->type    ? 0 != header->payload_bytes
           : MCP_ARRIVE == header->type ? true
                                        : 0 == header->payload_bytes;
}

/* A packet for none of our groups goes on. If it was for the NIC, it ends at the socket that keeps
 * the NIC's port. All NICs of a network have the same port, and only root's daemon can have it. */
SEC("tc")
int mcp_receive(struct __sk_buff *packet)
{
    const struct ethhdr *frame = frame_of(packet);
    /* A switch that has not yet learned a host's place shows its packets to all. */
    if (!frame || place.port != body_of(frame)->udp.dest ||
        place.port != body_of(frame)->udp.source || !is_own(destination_of(frame)) ||
        0 != packet->pkt_type || !(six ? 0 != body_of(frame)->udp.check : ip_fits(ip_of(frame)))) {
        return NEXT;
    }
    struct mcp_header header = {0};
    copy_words(&header, body_of(frame)->words);
    COUNT(packets_received);
    if (MCP_MAGIC != header.magic || MCP_WIRE_VERSION != header.version || 0 == header.type ||
        !mcp_is_collective(header.type) || payload_bytes(packet) != header.payload_bytes ||
        !carries_so(&header)) {
        COUNT(dropped_damaged);
        return NEXT;
    }
    const uint64_t key = header.key, sum = six ? sum_of(&ip6_of(frame)->saddr, body_of(frame)) : 0;
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &key);
    if (!group) {
        return receive_stranger(packet, frame, sum, &header);
    }
    if (!genuine(packet, sum, &header, &group->group.secret)) {
        COUNT(dropped_forged);
        return DROP;
    }
    if (MCP_ASK == header.type) {
        return answer(packet, group, &header.collective);
    }
    return header.type > MCP_DONE ? take_note(packet, group, &header)
                                  : move_on(packet, group, &header);
}

/* ---- what goes out ---- */

/* The host begins an epoch of the locked group. Epochs cost processor time of the system's. A host
 * pays for each by a doorbell, as it rings in its own time. */
static __always_inline void begin(struct mcp_kernel_group *group, uint32_t epoch)
{
    const uint32_t paid = group->group.started + 1;
    mcp_group_start(&group->group, myr_epoch_reached(epoch, paid) ? paid : epoch);
}

/* The same where a group carries data, with the node's block. (Here epochs begin one by one.) */
static __always_inline void begin_with(struct mcp_kernel_group *group,
                                       struct mcp_kernel_buffer *buffer, uint32_t epoch,
                                       const struct payload *block, uint32_t bytes)
{
    if (mcp_group_offer(&group->group, epoch, bytes)) {
        keep(buffer, epoch_word(epoch), block, bytes);
        mcp_group_start(&group->group, epoch);
    }
}

static __always_inline int start(struct play *playing, uint32_t epoch)
{
    struct __sk_buff *packet = playing->packet;
    struct mcp_kernel_group *group = playing->group;
    const uint32_t place = group->buffer, bytes = payload_bytes(packet);
    struct mcp_kernel_buffer *buffer = 0 != group->group.places ? buffer_at(place) : NULL;
    const struct payload *block =
        buffer && (0 == bytes || load_payload(packet, bytes)) ? own_payload() : NULL;
    bpf_spin_lock(&group->lock);
    const uint32_t before = group->group.started;
    if (0 == group->group.places) {
        begin(group, epoch);
    } else if (block && place == group->buffer) {
        begin_with(group, buffer, epoch, block, bytes);
    }
    mcp_group_burst(&group->group, &playing->burst);
    bpf_spin_unlock(&group->lock);
    watch_over(group);
    if (myr_epoch_reached(before, epoch)) {
        release(group); /* a second ring: the host has waited for long */
    }
    return play(playing, false);
}

/* A doorbell shows itself by its destination port, the group's key, and the user of its socket. */
static __always_inline int answer_bell(struct __sk_buff *packet, const struct mcp_doorbell *bell,
                                       const struct ethhdr *frame)
{
    const uint64_t key = bell->key;
    const uint32_t uid = bpf_get_socket_uid(packet);
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &key);
    if (!group || (uid != group->uid && uid != place.owner)) {
        return NEXT;
    }
    /* (One for all that may come: stacks are short.) */
    struct handing handing = {.play = {.packet = packet, .group = group}};
    struct play *playing = &handing.play;
    if (MCP_RING_FAREWELL == bell->ring) {
        group->leaves = 1;
    }
    if (MCP_RING_START == bell->ring || MCP_RING_FAREWELL == bell->ring) {
        return start(playing, bell->epoch);
    }
    if (MCP_RING_BCAST == bell->ring || MCP_RING_BCAST_ASK == bell->ring) {
        return ring_bcast(&handing, bell);
    }
    if (MCP_RING_ASK == bell->ring) {
        release(group);
        LOOP(MCP_KERNEL_MESSAGES, ask_on, playing, playing);
    } else if (MCP_RING_SLEEP == bell->ring) {
        note_sleeper(packet, group, frame);
    } else if (MCP_RING_FAIL == bell->ring && MCP_RECORDED == fail(playing, bell->epoch)) {
        return wake(packet, group, false);
    }
    return DROP;
}

SEC("tc")
int mcp_transmit(struct __sk_buff *packet)
{
    if (OURS == packet->mark) {
        packet->mark = 0;
        return NEXT;
    }
    const struct ethhdr *frame = frame_of(packet);
    /* This host only forwards it: it is from none of its processes. */
    if (!frame || !is_own(source_of(frame)) || 0 != packet->ingress_ifindex || !packet->sk) {
        return NEXT;
    }
    const struct udphdr *udp = &body_of(frame)->udp;
    struct mcp_doorbell bell;
    copy_words(&bell, body_of(frame)->words);
    if (MCP_DOORBELL_MAGIC == bell.magic && MCP_DOORBELL_VERSION == bell.version &&
        place.port == udp->dest && (!six || 0 == udp->check)) {
        return answer_bell(packet, &bell, frame);
    }
    /* It pretends to be ours, as nobody else has that port of this address. */
    if (MCP_MAGIC == bell.magic && place.port == udp->source) {
        COUNT(dropped_implausible);
        return DROP;
    }
    return NEXT;
}

char licensed[] SEC("license") = "Dual BSD/GPL";
