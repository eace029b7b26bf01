/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests programs that send messages through ports. A failure means that messages are lost, buffers
 * are reused while they are still being sent, or memory of the NIC leaks.
 *
 * Invariants:
 *
 * - Each sent message has one callback, when its buffer is free again.
 * - Each token is returned exactly once.
 * - A port's registered memory is freed when the port is closed, whichever process closes it.
 * - Errors are reported with a message.
 *
 * The NICs are fakes (nics_fake.h).
 */
#include <unistd.h>
#include <sched.h>

#include "firmware/connection.h"
#include "libmyr/messages/port.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic_inside.h"
#include "tests/unit/crew.h"
#include "tests/unit/nics_fake.h"
#include "tests/unit/test.h"

#define SECOND_NS UINT64_C(1000000000)

static struct myr_port *open_port(struct myr_soft_nic *nic, uint32_t tokens)
{
    const struct myr_port_options options = {MYR_ANY_PORT, tokens, tokens, .inlet = true};
    struct myr_error error = {0};
    struct myr_port *port = NULL;
    if (MYR_OK != myr_port_open(nic, &options, &port, &error)) {
        fail_msg("%s", error.text);
    }
    return port;
}

static struct myr_remote connect_one_way(struct myr_port *port, const struct myr_port *to)
{
    struct myr_port_name name;
    struct myr_remote remote;
    myr_port_get_name(to, &name);
    assert_int_equal(myr_port_connect(port, &name, &remote, NULL), MYR_OK);
    return remote;
}

/* Connect in both directions, because a NIC accepts only packets of NICs that it knows. */
static struct myr_remote connect_ports(struct myr_port *port, struct myr_port *to)
{
    (void)connect_one_way(to, port);
    return connect_one_way(port, to);
}

/* ---- callbacks ---- */

struct completed {
    uint32_t count;
    void *buffer;
    enum myr_status status;
};

static void record_completion(struct myr_port *port, void *context, void *buffer,
                              enum myr_status status)
{
    struct completed *completed = context;
    (void)port;
    ++completed->count;
    completed->buffer = buffer;
    completed->status = status;
}

static bool receive_soon(struct myr_port *port, struct myr_received *received)
{
    for (int polls = 0; polls < 10000; ++polls) {
        if (myr_port_receive(port, received)) {
            return true;
        }
    }
    return false;
}

static void await_completions(struct myr_port *port, const struct completed *completed,
                              uint32_t count)
{
    struct myr_received received;
    for (int polls = 0; polls < 10000 && completed->count < count; ++polls) {
        assert_false(myr_port_receive(port, &received));
    }
    assert_int_equal(completed->count, count);
}

/* ---- two ports ---- */

/* A port on the first NIC, which is connected to another port. */
struct pair {
    struct nics_fake *w;
    struct myr_port *a, *b;
    struct myr_remote remote; /* b */
    uint8_t *out, *in;        /* a buffer of a, and one of b */
    struct completed completed;
};

static struct pair pair_on(struct nics_fake *w, int to, uint32_t tokens, uint32_t its_tokens,
                           size_t bytes)
{
    struct pair p = {.w = w, .a = open_port(&w->nics[0], tokens)};
    p.b = open_port(&w->nics[to], its_tokens);
    p.remote = connect_ports(p.a, p.b);
    p.out = myr_port_alloc(p.a, bytes);
    p.in = myr_port_alloc(p.b, bytes);
    return p;
}

static struct pair pair_begin(int to, uint32_t tokens, uint32_t its_tokens, size_t bytes)
{
    return pair_on(nics_begin(crew_seed()), to, tokens, its_tokens, bytes);
}

static void pair_end(struct pair *p)
{
    myr_port_close(p->a);
    myr_port_close(p->b);
    nics_end(p->w);
}

static enum myr_status send_bytes(struct pair *p, const void *data, size_t bytes)
{
    return myr_port_send(p->a, &p->remote, data, bytes, record_completion, &p->completed);
}

/* ---- tests ---- */

TEST(send_and_receive)
{
    static const size_t sizes[] = {0, 1, 8, 5000, 100000};
    for (int to = 0; to < NICS; ++to) { /* on the same NIC, and on the other one */
        struct pair p = pair_begin(to, 4, 4, 100000);
        struct myr_port_name name;
        assert_int_equal(p.remote.same_nic, 0 == to);
        myr_port_get_name(p.a, &name);
        for (uint32_t i = 0; i < 5; ++i) {
            struct myr_received received;
            memset(p.in, 0, 100000);
            for (size_t byte = 0; byte < sizes[i]; ++byte) {
                p.out[byte] = (uint8_t)(byte * 7 + i);
            }
            assert_int_equal(myr_port_provide(p.b, p.in, 100000), MYR_OK);
            assert_int_equal(myr_port_receive_tokens(p.b), 3);
            assert_int_equal(send_bytes(&p, p.out, sizes[i]), MYR_OK);
            assert_int_equal(myr_port_send_tokens(p.a), 3);
            assert_true(receive_soon(p.b, &received));
            assert_ptr_equal(received.buffer, p.in);
            assert_int_equal(received.bytes, sizes[i]);
            assert_int_equal(received.from_port, name.number);
            assert_true(received.from_nic == name.nic.key);
            assert_memory_equal(p.in, p.out, sizes[i]);
            assert_int_equal(myr_port_receive_tokens(p.b), 4);
            await_completions(p.a, &p.completed, i + 1);
            assert_ptr_equal(p.completed.buffer, p.out);
            assert_int_equal(p.completed.status, MYR_OK);
            assert_int_equal(myr_port_send_tokens(p.a), 4);
        }
        pair_end(&p);
    }
}

/* Ports of the same NIC need no polling, and myr_port_check() does not lock the NIC. */
TEST(check_without_polling)
{
    struct pair p = pair_begin(0, 4, 4, 8);
    const struct myr_soft_nic *nic = &p.w->nics[0];
    for (uint32_t i = 0; i < 1000; ++i) { /* the rings wrap around many times */
        struct myr_received received;
        assert_false(myr_port_check(p.b, &received));
        assert_int_equal(myr_port_provide(p.b, p.in, 8), MYR_OK);
        memcpy(p.out, &i, sizeof(i));
        const uint32_t entries = nic->entries;
        assert_int_equal(send_bytes(&p, p.out, 8), MYR_OK);
        assert_true(myr_port_check(p.b, &received));
        assert_memory_equal(p.in, &i, sizeof(i));
        assert_false(myr_port_check(p.a, &received));
        assert_int_equal(p.completed.count, i + 1);
        assert_int_equal(nic->entries, entries + 1);
    }
    assert_int_equal(nic->polls, 0);
    pair_end(&p);
}

TEST(tokens)
{
    struct pair p = pair_begin(1, 5, 3, 3 * 64);
    for (uint32_t i = 0; i < 5; ++i) {
        assert_int_equal(send_bytes(&p, p.out, 64), MYR_OK);
    }
    assert_int_equal(send_bytes(&p, p.out, 64), MYR_ERR_FULL);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_int_equal(myr_port_provide(p.b, p.in + 64 * i, 64), MYR_OK);
    }
    assert_int_equal(myr_port_provide(p.b, p.in, 64), MYR_ERR_FULL);
    for (uint32_t i = 0; i < 5; ++i) { /* buffers are used in the order of provision */
        struct myr_received received;
        assert_true(receive_soon(p.b, &received));
        assert_ptr_equal(received.buffer, p.in + 64 * (i % 3));
        assert_int_equal(myr_port_provide(p.b, received.buffer, 64), MYR_OK);
    }
    await_completions(p.a, &p.completed, 5);
    assert_int_equal(myr_port_send_tokens(p.a), 5);
    pair_end(&p);
}

TEST(errors)
{
    struct pair p = pair_begin(1, 4, 4, 200);
    uint8_t elsewhere[8];
    const size_t size = myr_segment_size(p.w->nics[0].segment);
    assert_int_equal(send_bytes(&p, elsewhere, 8), MYR_ERR_UNREGISTERED);
    assert_int_equal(send_bytes(&p, p.out, size), MYR_ERR_UNREGISTERED);
    assert_int_equal(send_bytes(&p, NULL, 0), MYR_ERR_UNREGISTERED);
    assert_int_equal(myr_port_provide(p.b, elsewhere, 8), MYR_ERR_UNREGISTERED);
    assert_int_equal(myr_port_provide(p.b, p.in, SIZE_MAX), MYR_ERR_UNREGISTERED);
    assert_int_equal(myr_port_send_tokens(p.a) + myr_port_receive_tokens(p.b), 8);
    assert_int_equal(myr_port_provide(p.b, p.in, 100), MYR_OK);
    assert_int_equal(send_bytes(&p, p.out, 101), MYR_OK);
    await_completions(p.a, &p.completed, 1);
    assert_int_equal(p.completed.status, MYR_ERR_TOO_LONG);
    struct myr_port_name name;
    struct myr_remote other;
    struct myr_error error;
    myr_port_get_name(p.b, &name);
    name.nic.key += 100;
    name.nic.count = 0;
    assert_int_equal(myr_port_connect(p.a, &name, &other, &error), MYR_ERR_NOT_THERE);
    name.nic.count = 1;
    for (uint32_t i = 1; i < WIRE_CONNECTIONS; ++i) {
        ++name.nic.key;
        assert_int_equal(myr_port_connect(p.a, &name, &other, &error), MYR_OK);
    }
    ++name.nic.key;
    assert_int_equal(myr_port_connect(p.a, &name, &other, &error), MYR_ERR_FULL);
    assert_non_null(strstr(error.text, "16"));
    pair_end(&p);
}

/* An unreachable node is reported, and its messages are not lost. */
TEST(unresponsive_node)
{
    struct pair p = pair_begin(1, 4, 4, 100);
    struct myr_unresponsive unresponsive;
    p.w->wire.nics[1].unplugged = true;
    assert_int_equal(myr_port_provide(p.b, p.in, 100), MYR_OK);
    assert_int_equal(send_bytes(&p, p.out, 100), MYR_OK);
    wire_pass(&p.w->wire, 29 * SECOND_NS);
    assert_false(myr_port_unresponsive(p.a, 1, 30, &unresponsive));
    wire_pass(&p.w->wire, 2 * SECOND_NS);
    assert_true(myr_port_unresponsive(p.a, 1, 30, &unresponsive));
    assert_int_equal(unresponsive.connection, p.remote.connection);
    assert_in_range(unresponsive.silence_s, 30, 31);
    assert_string_equal(unresponsive.address, "link 2");
    assert_false(myr_port_unresponsive(p.a, 1, 30, &unresponsive));
    assert_false(myr_port_unresponsive(p.b, 1, 1, &unresponsive));
    assert_int_equal(p.completed.count, 0);
    p.w->wire.nics[1].unplugged = false;
    await_completions(p.a, &p.completed, 1);
    assert_int_equal(p.completed.status, MYR_OK);
    assert_false(myr_port_unresponsive(p.a, 2, 1, &unresponsive));
    pair_end(&p);
}

/* Send up to two messages to a port, and check a second later whether they are undeliverable. */
static void expect_undeliverable(struct pair *p, const struct myr_remote *remote,
                                 bool undeliverable)
{
    for (uint32_t i = 0; i < 2 && myr_port_send_tokens(p->a) > 0; ++i) {
        assert_int_equal(myr_port_send(p->a, remote, p->out, 100, NULL, NULL), MYR_OK);
    }
    wire_pass(&p->w->wire, SECOND_NS);
    assert_int_equal(myr_port_undeliverable(p->a, remote, 600), undeliverable);
}

/* Messages can be delivered as long as the receiving port is open and its node responds, whether or
 * not the port has buffers. */
TEST(undeliverable_messages)
{
    for (int to = 0; to < NICS; ++to) { /* on the same NIC, and on the other one */
        struct pair p = pair_begin(to, 8, 4, 100);
        struct myr_port *closed = open_port(&p.w->nics[to], 4);
        const struct myr_remote closes = connect_ports(p.a, closed);
        expect_undeliverable(&p, &p.remote, false);
        expect_undeliverable(&p, &closes, false);
        myr_port_close(closed);
        expect_undeliverable(&p, &closes, true);
        expect_undeliverable(&p, &p.remote, false);
        p.w->wire.nics[1].unplugged = true;
        wire_pass(&p.w->wire, 31 * SECOND_NS);
        assert_int_equal(myr_port_undeliverable(p.a, &p.remote, 30), 0 != to);
        assert_false(myr_port_undeliverable(p.a, &p.remote, 600));
        pair_end(&p);
    }
}

struct short_lived {
    struct myr_soft_nic *nic;
    struct myr_port_name name;
    myr_word is_open, go; /* the port is open; its process may end */
};

static void open_and_die(uint32_t rank, void *context)
{
    struct short_lived *lived = context;
    (void)rank;
    myr_port_get_name(open_port(lived->nic, 1), &lived->name);
    myr_store_release(&lived->is_open, 1);
    while (0 == myr_load_acquire(&lived->go)) {
        sched_yield();
    }
}

/* Messages to a port of a killed process are undeliverable, although no process has closed the
 * port. */
TEST(messages_to_a_dead_process)
{
    for (int to = 0; to < NICS; ++to) { /* on the same NIC, and on the other one */
        struct pair p = pair_begin(to, 2, 4, 100);
        struct short_lived *lived = crew_memory(sizeof(*lived));
        struct myr_remote remote;
        lived->nic = &p.w->nics[to];
        const pid_t pid = crew_fork(open_and_die, 0, lived);
        while (0 == myr_load_acquire(&lived->is_open)) {
            sched_yield();
        }
        assert_int_equal(myr_port_connect(p.a, &lived->name, &remote, NULL), MYR_OK);
        expect_undeliverable(&p, &remote, false);
        myr_store_release(&lived->go, 1);
        assert_true(crew_join(pid));
        expect_undeliverable(&p, &remote, true);
        assert_int_equal(myr_ports_reap(&p.w->nics[to], (uint32_t)pid), 1);
        crew_memory_free(lived, sizeof(*lived));
        pair_end(&p);
    }
}

/* Packets between NICs with keys are signed. A NIC accepts packets of another one only after it has
 * connected to it. */
TEST(signed_packets)
{
    struct nics_fake *w = nics_begin(crew_seed());
    struct myr_port *a = open_port(&w->nics[0], 1), *b = open_port(&w->nics[1], 1);
    const struct myr_remote remote = connect_one_way(a, b);
    const struct mcp_messages *messages = &w->nics[1].below->mcp->messages;
    assert_int_equal(remote.is_signed, messages->known_only);
    if (remote.is_signed) {
        struct completed completed = {0};
        struct myr_received received;
        void *out = myr_port_alloc(a, 64), *in = myr_port_alloc(b, 64);
        assert_int_equal(myr_port_provide(b, in, 64), MYR_OK);
        assert_int_equal(myr_port_send(a, &remote, out, 64, record_completion, &completed), MYR_OK);
        while (0 == myr_load_acquire(&messages->knocked)) {
            assert_false(myr_port_receive(b, &received));
        }
        assert_true(connect_one_way(b, a).is_signed);
        assert_int_equal(myr_load_acquire(&messages->knocked), 0);
        assert_true(receive_soon(b, &received));
        await_completions(a, &completed, 1);
        assert_int_equal(completed.status, MYR_OK);

        /* Packets to a NIC without a key are not signed, and an invalid key is rejected. */
        struct myr_port_name name;
        struct myr_remote other;
        struct myr_error error;
        myr_port_get_name(b, &name);
        name.nic.key ^= 1;
        memset(&name.public, 0, sizeof(name.public));
        name.public.byte[0] = 1;
        assert_int_equal(myr_port_connect(a, &name, &other, &error), MYR_ERR_NOT_THERE);
        assert_non_null(strstr(error.text, "key"));
        name.public.byte[0] = 0;
        assert_int_equal(myr_port_connect(a, &name, &other, &error), MYR_OK);
        assert_false(other.is_signed);
    } else { /* a build without libsodium cannot use a NIC that signs packets */
        const struct myr_port_options options = {.number = MYR_ANY_PORT};
        struct myr_port *none;
        struct myr_error error;
        w->nics[0].below->mcp->messages.known_only = true;
        assert_int_equal(myr_port_open(&w->nics[0], &options, &none, &error), MYR_ERR_NOT_THERE);
        assert_non_null(strstr(error.text, "libsodium"));
    }
    myr_port_close(a);
    myr_port_close(b);
    nics_end(w);
}

struct newcomer {
    struct myr_port *port;
    struct myr_port_name name;
};

static void connect_newcomer(void *context)
{
    const struct newcomer *newcomer = context;
    struct myr_remote remote;
    assert_int_equal(myr_port_connect(newcomer->port, &newcomer->name, &remote, NULL), MYR_OK);
}

/* A process connects to a NIC that has left. At the same time another process of the node connects
 * to a new NIC, for which the entry of the former one is reused. Both connections are signed. */
TEST(an_entry_is_reused_while_a_process_connects)
{
    struct nics_fake *w = nics_begin(crew_seed());
    struct myr_soft_nic *nic = &w->nics[0];
    struct myr_port *a = open_port(nic, 1), *b = open_port(&w->nics[1], 1);
    struct mcp_nic *mcp = nic->below->mcp;
    struct newcomer newcomer = {.port = a};
    struct myr_port_name name;
    struct myr_remote remote;
    myr_port_get_name(b, &name);
    const uint64_t first = name.nic.key + 100;
    for (uint64_t key = first; key < first + WIRE_CONNECTIONS; ++key) {
        name.nic.key = key;
        assert_int_equal(myr_port_connect(a, &name, &remote, NULL), MYR_OK);
    }
    for (uint64_t key = first; key < first + 2; ++key) {
        mcp_connection_end(mcp, &nic->below->board, mcp_connection_find(mcp, key));
    }
    newcomer.name = name;
    newcomer.name.nic.key = first + WIRE_CONNECTIONS;
    nic->meanwhile = connect_newcomer;
    nic->context = &newcomer;
    name.nic.key = first;
    assert_int_equal(myr_port_connect(a, &name, &remote, NULL), MYR_OK);
    for (uint64_t key = first; key <= first + WIRE_CONNECTIONS; key += WIRE_CONNECTIONS) {
        const struct mcp_connection *c = mcp_connection_find(mcp, key);
        assert_non_null(c);
        assert_int_equal(0 != (c->secret.word[0] | c->secret.word[1]), remote.is_signed);
    }
    myr_port_close(a);
    myr_port_close(b);
    nics_end(w);
}

/* A NIC created without libsodium has no key, and nothing is signed. */
TEST(no_keys)
{
    struct nics_fake *w = nics_begin(crew_seed());
    w->nics[0].below->mcp->messages.known_only = false;
    struct pair p = pair_on(w, 1, 1, 1, 64);
    struct myr_port_name name;
    struct myr_received received;
    myr_port_get_name(p.a, &name);
    assert_false(myr_has_key(&name.public));
    assert_false(p.remote.is_signed);
    assert_int_equal(myr_port_provide(p.b, p.in, 64), MYR_OK);
    assert_int_equal(send_bytes(&p, p.out, 64), MYR_OK);
    assert_true(receive_soon(p.b, &received));
    await_completions(p.a, &p.completed, 1);
    pair_end(&p);
}

TEST(numbers)
{
    struct nics_fake *w = nics_begin(crew_seed());
    struct myr_port *ports[WIRE_PORTS], *one;
    struct myr_port_name name, before;
    struct myr_error error;
    for (uint32_t i = 0; i < WIRE_PORTS; ++i) {
        ports[i] = open_port(&w->nics[0], 1);
        myr_port_get_name(ports[i], &name);
        assert_int_equal(name.number, i);
    }
    struct myr_port_options options = {.number = MYR_ANY_PORT};
    assert_int_equal(myr_port_open(&w->nics[0], &options, &one, &error), MYR_ERR_FULL);
    assert_non_null(strstr(error.text, "all 16"));
    options.number = 5;
    assert_int_equal(myr_port_open(&w->nics[0], &options, &one, &error), MYR_ERR_FULL);
    assert_non_null(strstr(error.text, "port 5"));
    myr_port_get_name(ports[5], &before);
    myr_port_close(ports[5]);
    assert_int_equal(myr_port_open(&w->nics[0], &options, &ports[5], &error), MYR_OK);
    myr_port_get_name(ports[5], &name);
    assert_int_equal(name.number, 5);
    assert_int_not_equal(name.key, before.key);
    assert_int_equal(myr_port_send_tokens(ports[5]), 64);
    assert_int_equal(myr_port_receive_tokens(ports[5]), 64);
    options.number = WIRE_PORTS;
    assert_int_equal(myr_port_open(&w->nics[0], &options, &one, &error), MYR_ERR_FULL);
    options = (struct myr_port_options){0, UINT32_MAX, 1, .inlet = false};
    assert_int_equal(myr_port_open(&w->nics[0], &options, &one, &error), MYR_ERR_FULL);
    for (uint32_t i = 0; i < WIRE_PORTS; ++i) {
        myr_port_close(ports[i]);
    }
    nics_end(w);
}

/* Allocate all memory through two ports, and die. */
static void allocate_all(uint32_t rank, void *context)
{
    struct myr_soft_nic *nic = context;
    struct myr_port *port = open_port(nic, 100), *other = open_port(nic, 10);
    (void)rank;
    for (size_t bytes = 1 << 20; bytes > 1000; bytes /= 2) {
        while (NULL != myr_port_alloc(bytes % 3 ? port : other, bytes - 128)) {
        }
    }
}

/* Memory is reused, however often ports are opened, use it, and are closed or reaped. */
TEST(memory)
{
    struct nics_fake *w = nics_begin(crew_seed());
    struct myr_soft_nic *nic = &w->nics[0];
    uint64_t random = crew_seed();
    for (uint32_t round = 0; round < 10; ++round) {
        struct myr_port *port = open_port(nic, 100);
        uint8_t *taken[40] = {NULL};
        for (uint32_t i = 0; i < 200; ++i) {
            const uint32_t one = crew_below(&random, 40);
            myr_port_free(port, taken[one]);
            taken[one] = myr_port_alloc(port, 200000);
            assert_non_null(taken[one]);
            assert_int_equal((uintptr_t)taken[one] % 128, 0);
            memset(taken[one], (int)one, 200000);
        }
        for (uint32_t one = 0; one < 40; ++one) { /* allocations do not overlap */
            for (uint32_t i = 0; NULL != taken[one] && i < 200000; i += 997) {
                assert_int_equal(taken[one][i], one);
            }
        }
        const pid_t pid = crew_fork(allocate_all, 0, nic);
        assert_true(crew_join(pid));
        assert_null(myr_port_alloc(port, 200000));
        assert_int_equal(myr_ports_reap(nic, (uint32_t)pid), 2);
        assert_int_equal(myr_ports_reap(nic, (uint32_t)pid), 0);
        assert_non_null(myr_port_alloc(port, 200000));
        assert_int_equal(mcp_port_at(nic->below->mcp, 0)->owner, getpid());
        myr_port_close(port);
    }
    nics_end(w);
}

/* ---- inlets ---- */

/* Only ports of the same NIC with the right key can write into an inlet, while it is open. */
TEST(inlets)
{
    struct nics_fake *w = nics_begin(crew_seed());
    const struct myr_port_options without = {MYR_ANY_PORT, 1, 1, .inlet = false};
    struct myr_port *port = open_port(&w->nics[0], 1), *other = open_port(&w->nics[0], 1);
    struct myr_port *far = open_port(&w->nics[1], 1), *plain;
    assert_int_equal(myr_port_open(&w->nics[0], &without, &plain, NULL), MYR_OK);
    assert_null(connect_ports(port, far).outlet.inlet);
    assert_null(connect_ports(port, plain).outlet.inlet);
    assert_null(myr_port_intake(plain).inlet);

    struct myr_port_name name;
    struct myr_remote remote, stranger;
    myr_port_get_name(other, &name);
    ++name.key;
    assert_int_equal(myr_port_connect(port, &name, &stranger, NULL), MYR_OK);
    assert_null(stranger.outlet.inlet);

    remote = connect_ports(plain, other); /* a port without an inlet may use the inlets of others */
    struct myr_intake intake = myr_port_intake(other);
    uint32_t bytes;
    assert_null(myr_intake_check(&intake, &bytes));
    memcpy(myr_outlet_begin(&remote.outlet), "short", 6);
    myr_outlet_end(&remote.outlet, 6);
    const void *message = myr_intake_check(&intake, &bytes);
    assert_int_equal(bytes, 6);
    assert_string_equal(message, "short");
    myr_port_close(other);
    assert_null(myr_outlet_begin(&remote.outlet));

    struct short_lived *lived = crew_memory(sizeof(*lived)); /* the inlet of a dead process */
    lived->nic = &w->nics[0];
    myr_store_release(&lived->go, 1);
    const pid_t pid = crew_fork(open_and_die, 0, lived);
    assert_true(crew_join(pid));
    assert_int_equal(myr_port_connect(port, &lived->name, &remote, NULL), MYR_OK);
    assert_non_null(myr_outlet_begin(&remote.outlet));
    assert_int_equal(myr_ports_reap(&w->nics[0], (uint32_t)pid), 1);
    assert_null(myr_outlet_begin(&remote.outlet));
    crew_memory_free(lived, sizeof(*lived));

    myr_port_close(far);
    myr_port_close(plain);
    myr_port_close(port);
    nics_end(w);
}

/* If a port is closed while a sender writes a message, the memory of that message is reused neither
 * for other allocations nor as the next port's inlet. */
TEST(an_inlet_is_closed_under_a_sender)
{
    struct nics_fake *w = nics_begin(crew_seed());
    struct myr_port *port = open_port(&w->nics[0], 1), *other = open_port(&w->nics[0], 1);
    struct myr_remote remote = connect_ports(port, other);
    const struct myr_inlet *inlet = remote.outlet.inlet;
    uint8_t *message = myr_outlet_begin(&remote.outlet), *taken;
    assert_non_null(message);
    myr_port_close(other);
    while (NULL != (taken = myr_port_alloc(port, sizeof(*inlet)))) {
        assert_false(message >= taken && message < taken + sizeof(*inlet));
        if (taken > message + (1 << 20)) {
            break;
        }
    }
    other = open_port(&w->nics[0], 1);
    assert_ptr_not_equal(connect_ports(port, other).outlet.inlet, inlet);
    memset(message, 1, MYR_SHORT_BYTES);
    myr_outlet_end(&remote.outlet, MYR_SHORT_BYTES);
    struct myr_intake intake = myr_port_intake(other);
    uint32_t bytes;
    assert_null(myr_intake_check(&intake, &bytes));

    /* Without such a sender, the next port of that number uses the same inlet. */
    inlet = connect_ports(port, other).outlet.inlet;
    myr_port_close(other);
    other = open_port(&w->nics[0], 1);
    assert_ptr_equal(connect_ports(port, other).outlet.inlet, inlet);
    myr_port_close(other);
    myr_port_close(port);
    nics_end(w);
}

/* ---- several processes on one NIC ---- */

enum { MEMBERS = 3, MESSAGES = 3000, TOKENS = 3, LENGTH = 4000 };

struct setup {
    struct myr_soft_nic *nic;
    uint64_t seed;
    struct table {
        struct myr_port_name name[MEMBERS];
        myr_word joined, done;
    } * table; /* shared */
};

struct member {
    struct myr_port *port;
    struct myr_remote to;
    uint32_t *out;
    uint32_t number, from; /* the sender of its messages */
    uint32_t sent, completed, received;
};

static void exchange_names(struct setup *setup, struct member *member)
{
    struct table *table = setup->table;
    myr_port_get_name(member->port, &table->name[member->number]);
    myr_fetch_add(&table->joined);
    while (MEMBERS != myr_load_acquire(&table->joined)) {
        sched_yield();
    }
    CREW_CHECK(MYR_OK == myr_port_connect(member->port,
                                          &table->name[(member->number + 1) % MEMBERS], &member->to,
                                          NULL),
               "cannot connect to the next member");
    member->from = (member->number + MEMBERS - 1) % MEMBERS;
}

static void send_next(struct myr_port *port, void *context, void *buffer, enum myr_status status);

/* The first and the last word identify the message. */
static void send_one(struct member *member)
{
    uint32_t *words = member->out + member->sent % TOKENS * (LENGTH / 4);
    words[0] = words[LENGTH / 4 - 1] = member->number << 24 | member->sent++;
    CREW_CHECK(MYR_OK == myr_port_send(member->port, &member->to, words, LENGTH, send_next, member),
               "message %u", member->sent - 1);
}

/* Send the next message from the buffer of the completed one. */
static void send_next(struct myr_port *port, void *context, void *buffer, enum myr_status status)
{
    struct member *member = context;
    CREW_CHECK(MYR_OK == status, "message %u: %d", member->completed, (int)status);
    CREW_CHECK(member->out + member->completed % TOKENS * (LENGTH / 4) == buffer,
               "the callback gets another buffer");
    CREW_CHECK(0 != myr_port_send_tokens(port), "the token was not returned");
    ++member->completed;
    if (member->sent < MESSAGES) {
        send_one(member);
    }
}

static void receive_one(struct member *member)
{
    struct myr_received received;
    if (!myr_port_check(member->port, &received)) {
        sched_yield();
        return;
    }
    const uint32_t *words = received.buffer, wanted = member->from << 24 | member->received;
    CREW_CHECK(LENGTH == received.bytes && wanted == words[0] && wanted == words[LENGTH / 4 - 1],
               "message %u is corrupted", member->received);
    ++member->received;
    CREW_CHECK(MYR_OK == myr_port_provide(member->port, received.buffer, LENGTH), "no token");
}

/* Send messages around a ring of members. The callback of each completed message sends the next
 * one, so that members send as fast as they get tokens, of which there are too few. */
static void take_part(uint32_t rank, void *context)
{
    struct setup *setup = context;
    const struct myr_port_options options = {MYR_ANY_PORT, TOKENS, TOKENS - 1, .inlet = false};
    struct member member = {.number = rank};
    uint64_t random = setup->seed + rank;
    CREW_CHECK(MYR_OK == myr_port_open(setup->nic, &options, &member.port, NULL), "no port");
    member.out = myr_port_alloc(member.port, TOKENS * LENGTH);
    for (int i = 0; i < TOKENS - 1; ++i) {
        void *in = myr_port_alloc(member.port, LENGTH);
        CREW_CHECK(MYR_OK == myr_port_provide(member.port, in, LENGTH), "no token");
    }
    exchange_names(setup, &member);
    for (int i = 0; i < TOKENS; ++i) {
        send_one(&member);
    }
    while (member.completed < MESSAGES || member.received < MESSAGES) {
        receive_one(&member);
        crew_dawdle(&random);
    }
    myr_fetch_add(&setup->table->done);
    while (MEMBERS != myr_load_acquire(&setup->table->done)) {
        sched_yield(); /* the previous member may still send to this port */
    }
    myr_port_close(member.port);
}

TEST(several_processes)
{
    struct nics_fake *w = nics_begin(crew_seed());
    struct setup setup = {.nic = &w->nics[0], .seed = crew_seed()};
    setup.table = crew_memory(sizeof(*setup.table));
    assert_true(crew_run(MEMBERS, take_part, &setup));
    const struct mcp_counters *counters = &w->nics[0].below->mcp->counters;
    assert_int_equal(counters->messages_local, MEMBERS * MESSAGES);
    assert_int_equal(counters->bad_tokens, 0);
    crew_memory_free(setup.table, sizeof(*setup.table));
    nics_end(w);
}
