/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes an endpoint for tagged messages (libmyr/messages/tagged*.c), to find messages with which a
 * peer makes a process of an MPI job write beyond the buffer of a receive. Messages that arrive
 * through the endpoint's inlet and port have any content, but most of them have plausible headers,
 * and the host does anything that it may. run.sh builds and runs it.
 *
 * The port below the endpoint is a fake, which records what the endpoint sends, and acknowledges it
 * when the input says so. There are three peers: one on this node, one on this node whose memory
 * can be read (it is this process, so that an address exists or not), and one on another node. A
 * fourth number is unknown. Long messages of the second peer may be read in chunks, several of
 * which are outstanding and complete in any order. The input is a sequence of steps (see `enum
 * step`).
 *
 * Invariants:
 *
 * - A request is completed once, and not while one of its chunks is outstanding.
 * - Nothing is written beyond the buffer of a receive.
 * - The endpoint sends no more buffers than exist.
 * - At the end, when everything is closed, no memory is leaked (LeakSanitizer).
 */
#include <unistd.h>

#include "libmyr/messages/tagged.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"
#include "tests/fuzz/fuzz.h"

enum {
    BUFFERS = 8,
    BUFFER = 512, /* in bytes */
    SMALL = 1024, /* like the endpoint's small buffers */
    ARENA = 1 << 15,
    REQUESTS = 24,
    ROOM = 900, /* maximum size of a receive */
    GUARD = 0x5a,
    PEERS = 3,
    CHUNK = 64, /* size of a chunk, in bytes */
    CHUNKS = 6, /* maximum number of outstanding chunks */
    FIRST_ID = 100,
};

enum step {
    SHORT,
    LONG,
    NEARLY_SHORT,
    NEARLY_LONG,
    RECEIVE,
    SEND,
    CANCEL,
    PROBE,
    TAKE,
    PROGRESS,
    SENT,
    TAKE_CHUNK,
    END_CHUNK,
    STEPS
};

/* ---- the fake port ---- */

struct sent {
    myr_sent_fn callback;
    void *context, *memory;
};

static _Alignas(128) uint8_t arena[ARENA];
static size_t arena_used;
static struct myr_inlet own_inlet, other_inlet;
static struct sent sent[4 * BUFFERS];
static uint32_t nsent;
static void *provided[BUFFERS];
static uint32_t nprovided;
static struct myr_received arrived;
static bool has_arrived;

enum myr_status myr_port_open(struct myr_soft_nic *nic, const struct myr_port_options *options,
                              struct myr_port **port, struct myr_error *error)
{
    (void)nic;
    (void)error;
    CHECK(BUFFERS == options->receive_tokens);
    *port = (struct myr_port *)arena;
    return MYR_OK;
}

void myr_port_close(struct myr_port *port)
{
    (void)port;
}

void myr_port_get_name(const struct myr_port *port, struct myr_port_name *name)
{
    (void)port;
    (void)name;
}

void *myr_port_alloc(struct myr_port *port, size_t bytes)
{
    (void)port;
    CHECK(bytes <= ARENA - 128);
    arena_used = 128 + bytes;
    return arena + 128;
}

void myr_port_forget(struct myr_port *port, void *memory)
{
    (void)port, (void)memory;
}

enum myr_status myr_port_connect(struct myr_port *port, const struct myr_port_name *name,
                                 struct myr_remote *remote, struct myr_error *error)
{
    (void)port;
    (void)error;
    *remote = (struct myr_remote){.same_nic = 0 == name->number};
    if (remote->same_nic) {
        remote->outlet = (struct myr_outlet){.inlet = &other_inlet, .key = 1};
    }
    return MYR_OK;
}

enum myr_status myr_port_send(struct myr_port *port, const struct myr_remote *to,
                              const void *buffer, size_t bytes, myr_sent_fn callback, void *context)
{
    (void)port;
    (void)to;
    const uint8_t *begin = buffer;
    CHECK(begin >= arena + 128 && bytes <= (size_t)(arena + arena_used - begin));
    CHECK(nsent < sizeof(sent) / sizeof(sent[0]));
    sent[nsent++] = (struct sent){callback, context, (void *)(uintptr_t)buffer};
    return MYR_OK;
}

enum myr_status myr_port_provide(struct myr_port *port, void *buffer, size_t bytes)
{
    (void)port;
    CHECK(BUFFER == bytes && nprovided < BUFFERS);
    provided[nprovided++] = buffer;
    return MYR_OK;
}

bool myr_port_check(struct myr_port *port, struct myr_received *received)
{
    (void)port;
    *received = arrived;
    const bool any = has_arrived;
    has_arrived = false;
    return any;
}

bool myr_port_unresponsive(struct myr_port *port, uint32_t who, uint32_t least_s,
                           struct myr_unresponsive *unresponsive)
{
    (void)port;
    (void)who;
    (void)least_s;
    (void)unresponsive;
    return false;
}

void myr_port_met_other_job(struct myr_port *port)
{
    (void)port;
}

bool myr_port_undeliverable(struct myr_port *port, const struct myr_remote *to, uint32_t least_s)
{
    (void)port;
    (void)to;
    (void)least_s;
    return false;
}

struct myr_intake myr_port_intake(const struct myr_port *port)
{
    (void)port;
    return myr_intake_of(&own_inlet);
}

struct myr_segment *myr_soft_segment(const struct myr_soft_nic *nic)
{
    (void)nic;
    return NULL;
}

uint8_t *myr_segment_base(const struct myr_segment *segment)
{
    (void)segment;
    return arena;
}

size_t myr_segment_size(const struct myr_segment *segment)
{
    (void)segment;
    return ARENA;
}

uint32_t myr_soft_poll(struct myr_soft_nic *nic)
{
    (void)nic;
    return 0;
}

uint32_t myr_soft_poll_now_and_then(struct myr_soft_nic *nic)
{
    (void)nic;
    return 0;
}

bool myr_soft_broken(struct myr_soft_nic *nic)
{
    (void)nic;
    return false;
}

/* ---- requests ---- */

struct pending {
    struct myr_tagged_request request;
    uint8_t *buffer; /* NULL if the entry is free */
    uint32_t room;
    bool receive;
};

static struct myr_tagged *endpoint;
static struct myr_tagged_peer *peers[PEERS];
static struct pending requests[REQUESTS];

static struct pending *free_one(void)
{
    for (uint32_t i = 0; i < REQUESTS; ++i) {
        if (NULL == requests[i].buffer) {
            return &requests[i];
        }
    }
    return NULL;
}

/* The chunks that are being read. */
static struct myr_tagged_chunk chunks[CHUNKS];
static uint32_t nchunks;

static void complete(struct pending *one)
{
    CHECK(NULL != one->buffer);
    for (uint32_t p = 0; p < nchunks; ++p) {
        CHECK(&one->request != chunks[p].request);
    }
    CHECK(!one->receive || GUARD == one->buffer[one->room]);
    free(one->buffer);
    one->buffer = NULL;
}

static void take_completed(void)
{
    struct myr_tagged_request *request;
    while (NULL != (request = myr_tagged_done(endpoint))) {
        complete((struct pending *)request);
    }
}

static struct pending *begin(struct input *in, bool receive)
{
    struct pending *one = free_one();
    if (NULL != one) {
        one->room = take_byte(in) * 4u % ROOM;
        one->receive = receive;
        one->buffer = malloc(one->room + 1);
        CHECK(NULL != one->buffer);
        memset(one->buffer, GUARD, one->room + 1);
    }
    return one;
}

/* ---- steps ---- */

static struct mcp_envelope some_envelope(struct input *in)
{
    const uint32_t what = take_byte(in);
    return (struct mcp_envelope){what & 1, what >> 1 & 1,
                                 0 == (what & 32) ? what >> 2 & 1 : 0u - 5};
}

static struct mcp_pattern some_pattern(struct input *in)
{
    return (struct mcp_pattern){some_envelope(in), take_below(in, MCP_MATCH_CLASSES)};
}

/* Defined as in libmyr/messages/tagged_inside.h, and repeated here so that a change there is
 * detected. */
struct heads {
    uint8_t kind, credits;
    uint16_t slots;
    struct mcp_envelope envelope;
    uint64_t from;
    uint32_t there, other;
    uint64_t bytes, at;
};
_Static_assert(48 == sizeof(struct heads), "two heads");

static uint32_t write_nearly(struct input *in, uint8_t *to, uint32_t room)
{
    struct heads heads = {
        .kind = (uint8_t)(1 + take_below(in, 8)),
        .credits = (uint8_t)(take_byte(in) % 3),
        .slots = (uint16_t)(take_byte(in) % 3),
        .envelope = some_envelope(in),
        .from = FIRST_ID + take_below(in, PEERS + 1),
    };
    heads.there = take_below(in, 6) | (uint32_t)take_below(in, 3) << 20;
    heads.other = take_below(in, 6);
    heads.bytes = take_byte(in) * 4u;
    const uint32_t place = take_byte(in);
    heads.at = 0 == (place & 1)   ? take_byte(in) * 2u
               : 0 == (place & 2) ? 0u - (uint64_t)take_byte(in)
                                  : (uint64_t)(uintptr_t)arena; /* an address that can be read */
    memcpy(to, &heads, sizeof(heads));
    const uint32_t data = take_byte(in) % (room - (uint32_t)sizeof(heads) + 1);
    memset(to + sizeof(heads), (int)data, data);
    return (uint32_t)sizeof(heads) + data - (0 == take_below(in, 8) ? take_below(in, 48) : 0);
}

static void receive_short(struct input *in, bool nearly)
{
    struct myr_outlet outlet = {.inlet = &own_inlet, .key = 1};
    uint8_t *to = myr_outlet_begin(&outlet);
    if (NULL != to) {
        myr_outlet_end(&outlet, nearly ? write_nearly(in, to, MYR_SHORT_BYTES)
                                       : (uint32_t)take_bytes(in, to, take_below(in, 64)));
    }
}

static void receive_long(struct input *in, bool nearly)
{
    if (!has_arrived && 0 != nprovided) {
        uint8_t *to = provided[--nprovided];
        const uint32_t bytes = nearly ? write_nearly(in, to, BUFFER)
                                      : (uint32_t)take_bytes(in, to, take_below(in, 64));
        arrived = (struct myr_received){.buffer = to, .bytes = bytes};
        has_arrived = true;
    }
}

static void take_chunk(void)
{
    struct myr_tagged_chunk *chunk = &chunks[nchunks];
    if (nchunks < CHUNKS && myr_tagged_chunk_take(endpoint, chunk)) {
        const struct pending *one = (const struct pending *)chunk->request;
        CHECK(NULL != one->buffer && one->receive && chunk->bytes > 0);
        CHECK(chunk->at <= one->room && chunk->bytes <= one->room - chunk->at);
        ++nchunks;
    }
}

static void end_chunk(struct input *in)
{
    if (0 != nchunks) {
        const uint32_t which = take_below(in, nchunks);
        const struct myr_tagged_chunk chunk = chunks[which];
        const bool read = myr_tagged_chunk_read(&chunk);
        chunks[which] = chunks[--nchunks];
        myr_tagged_chunk_end(endpoint, &chunk, read);
    }
}

static void step(struct input *in)
{
    struct pending *one;
    struct mcp_pattern pattern;
    struct mcp_envelope envelope;
    uint64_t bytes;
    switch (take_below(in, STEPS)) {
    case SHORT:
        receive_short(in, false);
        break;
    case LONG:
        receive_long(in, false);
        break;
    case NEARLY_SHORT:
        receive_short(in, true);
        break;
    case NEARLY_LONG:
        receive_long(in, true);
        break;
    case RECEIVE:
        pattern = some_pattern(in);
        one = begin(in, true);
        if (NULL != one &&
            myr_tagged_receive(endpoint, &pattern, one->buffer, one->room, &one->request)) {
            complete(one);
        }
        break;
    case SEND:
        envelope = some_envelope(in);
        one = begin(in, false);
        if (NULL != one &&
            myr_tagged_send(endpoint, peers[take_below(in, PEERS)], &envelope, one->buffer,
                            one->room, 0 == take_below(in, 3), &one->request)) {
            complete(one);
        }
        break;
    case CANCEL:
        one = &requests[take_below(in, REQUESTS)];
        if (NULL != one->buffer && one->receive) {
            (void)myr_tagged_cancel(endpoint, &one->request);
        }
        break;
    case PROBE:
        pattern = some_pattern(in);
        (void)myr_tagged_probe(endpoint, &pattern, &envelope, &bytes);
        break;
    case TAKE:
        pattern = some_pattern(in);
        one = begin(in, true);
        if (NULL != one) {
            struct myr_tagged_message *message =
                myr_tagged_take(endpoint, &pattern, &envelope, &bytes);
            if (NULL == message || myr_tagged_receive_taken(endpoint, message, one->buffer,
                                                            one->room, &one->request)) {
                complete(one);
            }
        }
        break;
    case PROGRESS:
        (void)(0 == take_below(in, 2) ? myr_tagged_progress(endpoint) : myr_tagged_run(endpoint));
        break;
    case TAKE_CHUNK:
        take_chunk();
        break;
    case END_CHUNK:
        end_chunk(in);
        break;
    default: /* SENT */
        if (0 != nsent) {
            const struct sent first = sent[0];
            memmove(sent, sent + 1, --nsent * sizeof(sent[0]));
            first.callback(NULL, first.context, first.memory, MYR_OK);
        }
    }
    take_completed();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    const uint8_t how = take_byte(&in);
    const struct myr_tagged_options options = {
        .id = FIRST_ID,
        .messages = 1 + how % 8,
        .buffers = BUFFERS,
        .buffer_bytes = BUFFER,
        .direct = true,
        .chunk_bytes = 0 == (how & 8) ? 0 : CHUNK,
    };
    memset(&own_inlet, 0, sizeof(own_inlet));
    memset(&other_inlet, 0, sizeof(other_inlet));
    (void)myr_inlet_open(&own_inlet, 1);
    (void)myr_inlet_open(&other_inlet, 1);
    nsent = nprovided = nchunks = 0;
    has_arrived = false;
    CHECK(MYR_OK == myr_tagged_open(NULL, &options, &endpoint, NULL));
    for (uint32_t p = 0; p < PEERS; ++p) {
        struct myr_tagged_name name;
        myr_tagged_get_name(endpoint, &name);
        name.port = (struct myr_port_name){.number = 2 == p};
        name.direct.readable = 1 == p && name.direct.readable;
        CHECK(MYR_OK == myr_tagged_connect(endpoint, FIRST_ID + p, &name, &peers[p], NULL));
    }
    while (0 != in.left) {
        step(&in);
    }
    myr_tagged_close(endpoint);
    for (uint32_t i = 0; i < REQUESTS; ++i) {
        free(requests[i].buffer);
        requests[i].buffer = NULL;
    }
    return 0;
}
