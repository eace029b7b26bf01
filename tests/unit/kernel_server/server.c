/* SPDX-License-Identifier: BSD-3-Clause */
/* See server.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "firmware/kernel/bell.h"
#include "firmware/kernel/kernel.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/test.h"

const char *const addresses[OTHERS] = {"127.0.0.2", "127.0.0.9", "127.0.0.3"};

struct served world;

int bind_at(const char *address, uint16_t port)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_addr.s_addr = ip4_of(address), .sin_port = htons(port)};
    const int udp = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(udp, (const struct sockaddr *)&own, sizeof(own)) < 0) {
        close(udp);
        return -1;
    }
    return udp;
}

void send_words(int from, const struct sockaddr_in *to, const struct myrd_hosts_words *words)
{
    CREW_CHECK(sizeof(*words) ==
                   sendto(from, words, sizeof(*words), 0, (const struct sockaddr *)to, sizeof(*to)),
               "%s", strerror(errno));
}

/* Returns a socket that receives doorbells. Repeated doorbells are sent to a multicast address,
 * others to a peer. */
static int receive_doorbells(uint16_t port)
{
    const struct mcp_ip own = mcp_ip_of_4(ip4_of("127.0.0.1"));
    const struct mcp_address at = mcp_bell_address(&own, htons(port));
    /* by the interface's address, because qemu passes its number in the wrong byte order */
    const struct ip_mreq at_loopback = {.imr_multiaddr = at.at.ip4.sin_addr,
                                        .imr_interface.s_addr = htonl(INADDR_LOOPBACK)};
    const int udp = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(udp, &at.at.any, mcp_address_bytes(&at)), 0);
    assert_int_equal(
        setsockopt(udp, IPPROTO_IP, IP_ADD_MEMBERSHIP, &at_loopback, sizeof(at_loopback)), 0);
    return udp;
}

/* Respond with wrong words, or from a wrong address. */
static void answer_wrongly(const struct sockaddr_in *to, struct myrd_hosts_words words)
{
    const int other_port = bind_at(addresses[LIAR], 0);
    send_words(other_port, to, &words);
    close(other_port);
    send_words(world.other[HOST], to, &words); /* HOST was not queried with this number */
    ++words.number;
    send_words(world.other[LIAR], to, &words);
    words.number = 0;
    send_words(world.other[LIAR], to, &words);
    --words.number;
    ++words.version;
    send_words(world.other[LIAR], to, &words);
}

static void forward_doorbell(const void *doorbell, ssize_t bytes)
{
    CREW_CHECK(bytes == send(world.bells[1], doorbell, (size_t)bytes, 0), "%s", strerror(errno));
}

static void *run_others(void *nothing)
{
    (void)nothing;
    struct pollfd watched[OTHERS + 2];
    for (int o = 0; o < OTHERS; ++o) {
        watched[o] = (struct pollfd){.fd = world.other[o], .events = POLLIN};
    }
    watched[OTHERS] = (struct pollfd){.fd = world.end_others[0], .events = POLLIN};
    watched[OTHERS + 1] = (struct pollfd){.fd = world.doorbells, .events = POLLIN};
    while (poll(watched, OTHERS + 2, -1) > 0 && 0 == watched[OTHERS].revents) {
        uint8_t packet[2 * MCP_PAYLOAD_MOST];
        const ssize_t rung = recv(world.doorbells, packet, sizeof(packet), MSG_DONTWAIT);
        if (rung >= 0) {
            forward_doorbell(packet, rung);
        }
        for (int o = 0; o < OTHERS; ++o) {
            struct myrd_hosts_words words;
            struct sockaddr_in from;
            socklen_t bytes = sizeof(from);
            const ssize_t received = 0 == watched[o].revents
                                         ? -1
                                         : recvfrom(world.other[o], packet, sizeof(packet), 0,
                                                    (struct sockaddr *)&from, &bytes);
            if (received >= (ssize_t)sizeof(struct mcp_doorbell)) {
                forward_doorbell(packet, received);
            }
            if (sizeof(words) != received) {
                continue;
            }
            memcpy(&words, packet, sizeof(words));
            words.kind = MYRD_HOSTS_ANSWER;
            if (LIAR == o) {
                answer_wrongly(&from, words);
            } else {
                send_words(world.other[o], &from, &words);
            }
        }
    }
    return NULL;
}

/* Open the sockets of all other hosts at one port that is free at all addresses. */
static uint16_t begin_others(void)
{
    for (uint16_t port = 20000; port < 30000; ++port) {
        const int own = bind_at("127.0.0.1", port);
        int o = 0;
        while (own >= 0 && o < OTHERS && (world.other[o] = bind_at(addresses[o], port)) >= 0) {
            ++o;
        }
        if (own >= 0) {
            close(own);
        }
        if (OTHERS == o) {
            assert_int_equal(pipe(world.end_others), 0);
            world.doorbells = receive_doorbells(port);
            assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, world.bells), 0);
            assert_int_equal(pthread_create(&world.others, NULL, run_others, NULL), 0);
            return port;
        }
        while (o > 0) {
            close(world.other[--o]);
        }
    }
    return 0;
}

static void end_others(void)
{
    close(world.end_others[1]);
    pthread_join(world.others, NULL);
    close(world.end_others[0]);
    close(world.bells[0]);
    close(world.bells[1]);
    close(world.doorbells);
    for (int o = 0; o < OTHERS; ++o) {
        close(world.other[o]);
    }
}

static void *serve(void *nothing)
{
    struct myr_error error;
    (void)nothing;
    return MYR_OK == myrd_kernel_owner.run(world.server, world.end[0], &error) ? NULL : &world;
}

bool fake_watch_next;

int begin_server(void **state)
{
    (void)state;
    struct myr_error error;
    fake_reset();
    if (fake_watch_next) {
        fake_enable_reports();
        fake_watch_next = false;
    }
    crew_dir_make(world.dir, sizeof(world.dir));
    snprintf(world.path, sizeof(world.path), "%s/sock", world.dir);
    setenv("NICBARR_KERNEL_SOCKET", world.path, 1);
    nic_port = begin_others();
    world.options = (struct myrd_options){.nic = {.network = "lo", .port = nic_port}};
    if (MYR_OK != myrd_kernel_owner.open(&world.options, &world.server, &error)) {
        print_error("%s\n", error.text);
        return -1;
    }
    return pipe(world.end) < 0 || 0 != pthread_create(&world.thread, NULL, serve, NULL);
}

int end_server(void **state)
{
    (void)state;
    void *error;
    close(world.end[1]);
    pthread_join(world.thread, &error);
    assert_null(error);
    close(world.end[0]);
    myrd_kernel_owner.close(world.server);
    end_others();
    assert_int_equal(access(world.path, F_OK), -1);
    assert_int_equal(fake_open_count(), 0);
    crew_dir_remove(world.dir);
    return 0;
}

struct myr_kernel_nic *connect_client(void)
{
    struct myr_kernel_nic *nic;
    struct myr_error error = {.text = ""};
    if (MYR_OK != myr_kernel_nic_open(false, &nic, &error)) {
        fail_msg("%s", error.text);
    }
    return nic;
}

void open_group(struct myr_kernel_nic *nic, uint64_t key, int *page)
{
    struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    struct mcp_kernel_seen seen;
    struct myr_error error = {.text = ""};
    if (MYR_OK != myr_kernel_nic_ask_open(nic, &question, &seen, &error)) {
        fail_msg("%s", error.text);
    }
    if (NULL == page) {
        close(seen.page);
    } else {
        *page = seen.page;
    }
}

int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int raw = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_true(strlen(world.path) < sizeof(address.sun_path));
    memcpy(address.sun_path, world.path, strlen(world.path));
    assert_int_equal(connect(raw, (struct sockaddr *)&address, sizeof(address)), 0);
    return raw;
}

enum myr_status ask_and_peek(int raw)
{
    const struct myr_kernel_question question = {.magic = MYR_KERNEL_MAGIC,
                                                 .ask = MYR_KERNEL_HELLO};
    struct myr_kernel_answer answer;
    (void)send(raw, &question, sizeof(question), MSG_NOSIGNAL); /* it may be closed already */
    const ssize_t bytes = recv(raw, &answer, sizeof(answer), MSG_PEEK);
    assert_true(0 == bytes || sizeof(answer) == bytes);
    return 0 == bytes ? MYR_ERR_SYSTEM : (enum myr_status)answer.status;
}

void ask_until_disconnected(int raw)
{
    struct pollfd watched = {.fd = raw, .events = POLLRDHUP};
    (void)ask_and_peek(raw);
    assert_int_equal(poll(&watched, 1, -1), 1);
}
