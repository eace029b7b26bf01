/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes requests of arbitrary users' processes to the owner of the kernel NIC
 * (myrd/kernel_server.c, kernel_plan.c, kernel_meeting.c, kernel_hosts.c, kernel_groups.c), and
 * packets of other hosts, to find input with which a user can crash the daemon or access another
 * user's groups. The NIC is a fake (kernel_fake.h). run.sh builds and runs the fuzzer.
 *
 * Invariants:
 *
 * - Each valid request eventually gets one response. An invalid one gets one as well, and the
 *   connection is closed.
 * - A response contains a page if and only if it is MYR_OK, with a buffer if the group carries data
 *   or broadcasts, and only for processes of the group's user.
 * - A report contains only the groups of its reader.
 * - When all clients have disconnected and all close messages have been exchanged, no group is open
 *   and no descriptor is left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmyr/kernel/kernel_words.h"
#include "libmyr/unix_talk.h"
#include "myrd/kernel_groups.h"
#include "myrd/kernel_hosts.h"
#include "tests/fuzz/daemon.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/kernel_fake.h"

enum {
    CLIENTS = 6,
    HOSTS = 3, /* besides this host */
    KEYS = 5,  /* keys of groups are 1 to KEYS - 1; 0 is invalid */
    STEPS_MOST = 150,
    OUTSTANDING = 16, /* maximum number of a client's requests without a response */
    WAITS_MOST = 300, /* maximum number of waits, of a quarter of a second each: each request may
                         wait for a host */
};

struct client {
    int connection; /* -1 if there is none */
    uid_t uid;
    uint32_t asked, answered;
    uint32_t ask[OUTSTANDING]; /* kinds of requests without a response; 0: invalid */
    bool buffer[OUTSTANDING];  /* the group of the request has a buffer */
    bool broken;               /* the server closes the connection, or has closed it */
};

static struct {
    struct input in;
    uint32_t steps, waited, disconnected;
    struct client client[CLIENTS];
    struct myr_kernel_question question; /* the previous request, which the next one modifies */
} w;

/* The NICs of all hosts have the same port. */
static uint16_t nic_port;
static int host[HOSTS];

static struct mcp_ip ip_of(uint32_t number)
{
    return mcp_ip_of_4(htonl(0x7f000002 + number));
}

/* ---- other hosts ---- */

static void send_as_host(uint32_t number, uint8_t kind, uint64_t random)
{
    const struct sockaddr_in daemon = {.sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                       .sin_port = htons(nic_port)};
    const struct myrd_hosts_words words = {
        .magic = MYRD_HOSTS_MAGIC, .version = MYRD_HOSTS_VERSION, .kind = kind, .number = random};
    (void)!sendto(host[number], &words, sizeof(words), MSG_DONTWAIT,
                  (const struct sockaddr *)&daemon, sizeof(daemon));
}

/* Respond to queries on behalf of the hosts. A response has the length of its query. */
static void answer_as_hosts(void)
{
    for (uint32_t h = 0; h < HOSTS; ++h) {
        struct myrd_hosts_words words;
        ssize_t bytes;
        while ((bytes = recv(host[h], &words, sizeof(words), MSG_DONTWAIT | MSG_TRUNC)) >= 0) {
            CHECK(sizeof(words) == bytes && MYRD_HOSTS_MAGIC == words.magic);
            if (MYRD_HOSTS_QUESTION == words.kind) {
                send_as_host(h, MYRD_HOSTS_ANSWER, words.number);
            }
        }
    }
}

/* ---- responses ---- */

/* All kinds of responses begin with the same word. */
union words {
    uint32_t magic;
    struct myr_kernel_answer answer;
    struct myr_kernel_missing missing;
    struct myr_kernel_report report;
};

static void check_answer(const struct client *client, const struct myr_kernel_answer *answer,
                         uint32_t ask, bool page)
{
    CHECK(NULL != memchr(answer->why, '\0', sizeof(answer->why)));
    CHECK((MYR_OK == answer->status) == ('\0' == answer->why[0]));
    CHECK(page == (MYR_KERNEL_OPEN == ask && MYR_OK == answer->status));
    CHECK(0 != ask || MYR_OK != answer->status);
    (void)client;
}

static void check_received(struct client *client, const union words *words, size_t bytes, bool page)
{
    CHECK(bytes >= sizeof(words->magic) && MYR_KERNEL_MAGIC == words->magic);
    /* the server refused the client before its first request */
    if (client->answered == client->asked) {
        CHECK(sizeof(words->answer) == bytes && MYR_OK != words->answer.status && !page);
        client->broken = true;
        return;
    }
    const uint32_t ask = client->ask[client->answered++ % OUTSTANDING];
    if (MYR_KERNEL_STATUS == ask) {
        CHECK(bytes >= myr_kernel_report_bytes(0) && words->report.groups <= MCP_KERNEL_GROUPS);
        CHECK(myr_kernel_report_bytes(words->report.groups) == bytes && !page);
        for (uint32_t g = 0; 0 != client->uid && g < words->report.groups; ++g) {
            CHECK(client->uid == words->report.group[g].uid);
        }
    } else if (MYR_KERNEL_MISSING == ask) {
        CHECK(sizeof(words->missing) == bytes && !page);
        CHECK(words->missing.count <= MCP_KERNEL_MESSAGES);
    } else {
        CHECK(sizeof(words->answer) == bytes);
        check_answer(client, &words->answer, ask, page);
    }
}

/* Receive a response. Descriptors that were not expected are not accepted. */
static ssize_t receive(const struct client *client, union words *words, bool *page)
{
    const uint32_t count = client->buffer[client->answered % OUTSTANDING] ? 2 : 1;
    int maps[2];
    const ssize_t bytes = myr_talk_receive(client->connection, words, sizeof(*words), maps, count);
    *page = maps[0] >= 0;
    for (uint32_t m = 0; m < count; ++m) {
        if (maps[m] >= 0) {
            close(maps[m]);
        }
    }
    return bytes;
}

static void receive_all(struct client *client)
{
    static union words words;
    bool page;
    ssize_t bytes = -1;
    while (client->connection >= 0 && (bytes = receive(client, &words, &page)) > 0) {
        check_received(client, &words, (size_t)bytes, page);
    }
    if (client->connection >= 0 && (0 == bytes || (EAGAIN != errno && EINTR != errno))) {
        CHECK(client->broken);
        close(client->connection);
        client->connection = -1;
    }
}

/* ---- clients ---- */

static void connect_client(struct client *client, uid_t uid)
{
    if (client->connection >= 0) {
        close(client->connection);
    }
    *client = (struct client){.connection = daemon_connect(uid, getpid()), .uid = uid};
}

static void expect(struct client *client, uint32_t ask, bool buffer)
{
    client->broken = client->broken || 0 == ask;
    if (MYR_KERNEL_CLOSE != ask) {
        client->buffer[client->asked % OUTSTANDING] = buffer;
        client->ask[client->asked++ % OUTSTANDING] = ask;
    }
}

static void send_request(struct client *client, const void *words, size_t bytes, uint32_t ask,
                         bool buffer)
{
    if (client->connection >= 0 && !client->broken &&
        client->asked - client->answered < OUTSTANDING &&
        (ssize_t)bytes == send(client->connection, words, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)) {
        expect(client, ask, buffer);
    }
}

/* Plan a valid part of a barrier: `count` steps, each with a message to another node and one
 * from it. If `carries` is set, each has a block of data; if `broadcasts` is set, the group
 * broadcasts. */
static void plan(struct myr_kernel_question *question, uint32_t count, bool carries,
                 bool broadcasts)
{
    question->nodes = 1 + 2 * count;
    question->nsteps = question->nsends = question->nwaits = count;
    for (uint32_t s = 0; s < count; ++s) {
        question->steps[s] = (struct mcp_step){1, 1};
    }
    for (uint32_t p = 0; p < 2 * count; ++p) {
        question->peers[p] = (struct mcp_kernel_peer){
            .ip = ip_of(p % count), .port = htons(nic_port), .node = (uint16_t)(1 + p)};
        question->peers[p].blocks = carries;
        question->peers[p].at = carries || broadcasts;
    }
    question->buffer_blocks = carries ? 2 : 0;
    question->unit_most = carries ? 64 : 0;
    question->slot_bytes = broadcasts ? mcp_bcast_slot_bytes(64 << 2 * count) : 0;
    question->window = broadcasts ? mcp_bcast_window(question->slot_bytes) : 0;
}

static void ask(struct client *client)
{
    struct myr_kernel_question *question = &w.question;
    const uint8_t kind = take_byte(&w.in);
    question->magic = MYR_KERNEL_MAGIC;
    question->ask = 1 + kind % MYR_KERNEL_MISSING;
    question->key = kind / 8 % KEYS;
    if (0 == (kind & 0x80)) {
        memset(&question->nodes, 0,
               sizeof(*question) - offsetof(struct myr_kernel_question, nodes));
        plan(question, 1 + kind % 3, KEYS - 1 == question->key, KEYS - 2 == question->key);
    } else { /* change one byte or word of it */
        const size_t offset =
            ((size_t)take_byte(&w.in) << 8 | take_byte(&w.in)) % sizeof(*question);
        const uint32_t by = take_step(&w.in);
        const size_t room = sizeof(*question) - offset;
        memcpy((uint8_t *)question + offset, &by, room < sizeof(by) ? room : sizeof(by));
    }
    const bool good = MYR_KERNEL_MAGIC == question->magic && 0 != question->ask &&
                      question->ask <= MYR_KERNEL_MISSING;
    send_request(client, question, sizeof(*question), good ? question->ask : 0,
                 0 != question->buffer_blocks || 0 != question->window);
}

static void send_invalid(struct client *client)
{
    uint8_t words[2 * sizeof(struct myr_kernel_question)] = {0};
    const size_t bytes = (size_t)take_byte(&w.in) * sizeof(words) / 255;
    (void)take_bytes(&w.in, words, 40);
    if (0 != bytes && sizeof(struct myr_kernel_question) != bytes) {
        send_request(client, words, bytes, 0, false);
    }
}

/* Send a request with descriptors, which the server does not expect. */
static void send_with_descriptors(struct client *client)
{
    const int unexpected[MYR_TALK_DESCRIPTORS] = {0, 0};
    struct myr_kernel_question question = {.magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_HELLO};
    if (client->connection >= 0 && !client->broken &&
        client->asked - client->answered < OUTSTANDING &&
        myr_talk_send(client->connection, &question, sizeof(question), unexpected, 2,
                      MSG_DONTWAIT)) {
        expect(client, MYR_KERNEL_HELLO, false);
    }
}

/* ---- steps ---- */

enum step {
    CONNECT,
    ASK,
    INVALID,
    DESCRIPTORS,
    DISCONNECT,
    TIME,
    ABSENT,
    GROUP,
    REPORT,
    WAIT,
    STEPS
};

static void take_step_of(struct input *in)
{
    struct fake_group group;
    const uint32_t kind = take_below(in, STEPS);
    const uint8_t argument = take_byte(in);
    struct client *client = &w.client[argument % CLIENTS];
    const uint64_t key = 1 + argument % (KEYS - 1);
    switch ((enum step)kind) {
    case CONNECT:
        connect_client(client, argument / CLIENTS % 3);
        break;
    case ASK:
        ask(client);
        break;
    case INVALID:
        send_invalid(client);
        break;
    case DESCRIPTORS:
        send_with_descriptors(client);
        break;
    case DISCONNECT:
        if (client->connection >= 0) {
            close(client->connection);
            client->connection = -1;
        }
        break;
    case TIME:
        daemon_pass_ms(UINT64_C(1) << argument % 13);
        break;
    case ABSENT:
        fake_set_absent(ip_of(0), 0 != argument % 2);
        break;
    case GROUP:
        if (fake_find_group(key, &group)) {
            fake_set(key, 0 != (argument & 0x40), argument >> 4 & 3);
        }
        break;
    case REPORT:
        fake_report_stuck(key, argument >> 4 & 3, argument >> 6);
        break;
    case WAIT: /* meanwhile another host sends a query, or a response without a query */
        send_as_host(argument % HOSTS, argument / HOSTS % 4, argument);
        break;
    case STEPS:
        break;
    }
}

static bool all_is_answered(void)
{
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        const struct client *client = &w.client[c];
        if (client->connection >= 0 && client->answered != client->asked) {
            return false;
        }
    }
    return true;
}

/* Execute the next step of the input. Called when the daemon would wait. */
static bool step(void *context)
{
    (void)context;
    answer_as_hosts();
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        receive_all(&w.client[c]);
    }
    if (w.in.left > 0 && w.steps < STEPS_MOST) {
        ++w.steps;
        take_step_of(&w.in);
        return true;
    }
    if (w.waited < WAITS_MOST && (w.waited < 4 || !all_is_answered())) {
        ++w.waited; /* a request waits for an absent host */
        daemon_pass_ms(256);
        return true;
    }
    CHECK(all_is_answered() || w.disconnected > 0);
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        if (w.client[c].connection >= 0) {
            close(w.client[c].connection);
            w.client[c].connection = -1;
        }
    }
    daemon_pass_ms(MYRD_CLOSING_MS);
    return w.disconnected++ < 4; /* until the daemon has closed all groups */
}

/* ---- the daemon ---- */

static int bind_at(struct mcp_ip ip, uint16_t port)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_addr.s_addr = mcp_ip_to_4(&ip), .sin_port = htons(port)};
    const int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(udp >= 0);
    if (bind(udp, (const struct sockaddr *)&own, sizeof(own)) < 0) {
        close(udp);
        return -1;
    }
    return udp;
}

static bool bind_hosts(void)
{
    for (uint32_t h = 0; h < HOSTS; ++h) {
        host[h] = bind_at(ip_of(h), nic_port);
        if (host[h] < 0) {
            while (h > 0) {
                close(host[--h]);
            }
            return false;
        }
    }
    return true;
}

/* Bind a port that is free at all hosts, a new one each time. */
static void begin_hosts(void)
{
    for (uint32_t h = 0; h < HOSTS && 0 != nic_port; ++h) {
        close(host[h]);
    }
    do {
        nic_port = 0 == nic_port ? 20000 : nic_port + 1;
        CHECK(nic_port < 30000);
    } while (!bind_hosts());
}

/* Open the daemon; another process may have the port at this host's address. */
static void *open_daemon(void)
{
    struct myr_error error = {.text = ""};
    void *serving;
    for (int tries = 0; tries < 100; ++tries) {
        const struct myrd_options options = {daemon_path(), {.network = "lo", .port = nic_port}, 0};
        if (MYR_OK == myrd_kernel_owner.open(&options, &serving, &error)) {
            return serving;
        }
        begin_hosts();
    }
    fprintf(stderr, "%s\n", error.text);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&w, 0, sizeof(w));
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        w.client[c].connection = -1;
    }
    w.in = (struct input){data, size};
    fake_reset();
    if (0 == nic_port) {
        begin_hosts();
    }
    const uint32_t before = daemon_descriptors();
    if (0 != (take_byte(&w.in) & 1)) {
        fake_enable_reports();
    }
    void *serving = open_daemon();
    daemon_serve(&myrd_kernel_owner, serving, step, NULL);
    CHECK(0 == fake_open_count());
    myrd_kernel_owner.close(serving);
    fake_reset();
    CHECK(before == daemon_descriptors());
    return 0;
}
