/* SPDX-License-Identifier: BSD-3-Clause */
/* See strangers.h. */
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "firmware/wire.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/strangers.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

void send_to(int socket, const struct myr_nic_name *name, const void *packet, size_t bytes)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_addr = {mcp_ip_to_4(&name->address[0].ip)},
        .sin_port = name->address[0].port,
    };
    assert_int_equal(sendto(socket, packet, bytes, 0, (const struct sockaddr *)&to, sizeof(to)),
                     bytes);
}

/* Unknown senders have no group's secret. */
static const struct mcp_secret wrong_secret = {{1, 2}};

void send_forged_ask(int stranger, const struct myr_nic_name *name)
{
    struct mcp_header header = {.type = MCP_ASK, .key = 1};
    mcp_seal(&header, &wrong_secret, NULL, 0);
    send_to(stranger, name, &header, mcp_header_bytes(header.type));
}

/* Poll until the NIC has counted so many packets. */
static void take(struct myr_soft_nic *nic, uint64_t packets, struct mcp_counters *counters)
{
    do {
        (void)myr_soft_poll(nic);
        myr_soft_count(nic, counters);
    } while (counters->packets_received < packets);
}

TEST(strange_packets)
{
    enum { PACKETS = 300 };
    struct member member;
    struct myr_nic_name name;
    struct mcp_counters counters;
    uint64_t random = crew_seed();
    uint8_t packet[1400];
    open_alone(&member, 1 << 20);
    myr_soft_get_name(member.nic, &name);
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    for (uint32_t p = 1; p <= PACKETS; ++p) { /* one by one, so that none is lost */
        const size_t bytes = crew_below(&random, sizeof(packet));
        for (size_t b = 0; b < bytes; ++b) {
            packet[b] = (uint8_t)crew_random(&random);
        }
        send_to(stranger, &name, packet, bytes);
        take(member.nic, p, &counters);
    }
    assert_int_equal(counters.dropped_damaged, PACKETS);

    /* Send packets in the NIC's format with unknown keys. */
    for (uint32_t p = 1; p <= PACKETS; ++p) {
        struct mcp_header header = {.type = 0 == p % 2 ? MCP_ASK : MCP_DONE,
                                    .key = crew_random(&random)};
        header.collective.epoch = (uint32_t)crew_random(&random);
        mcp_seal(&header, &wrong_secret, NULL, 0);
        send_to(stranger, &name, &header, mcp_header_bytes(header.type));
        take(member.nic, PACKETS + p, &counters);
    }
    assert_int_equal(counters.dropped_damaged, PACKETS);
    assert_int_equal(counters.dropped_foreign, PACKETS);
    assert_int_equal(counters.packets_sent, 0);
    close(stranger);
    close_nic(&member);
}

/* A process sends random bytes to all NICs while barriers are executed. */
static void flooder(uint32_t rank, void *context)
{
    struct world *world = context;
    uint64_t random = world->seed ^ rank;
    uint8_t packet[200];
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    while (0 == atomic_load(&world->go)) {
        if (atomic_load(&world->come[0]) < size_of(world)) { /* the NICs have no names yet */
            usleep(200);
            continue;
        }
        for (uint32_t n = 0; n < world->nodes; ++n) {
            const struct sockaddr_in to = {
                .sin_family = AF_INET,
                .sin_addr = {mcp_ip_to_4(&world->name[n].address[0].ip)},
                .sin_port = world->name[n].address[0].port,
            };
            for (size_t b = 0; b < sizeof(packet); ++b) {
                packet[b] = (uint8_t)crew_random(&random);
            }
            (void)sendto(stranger, packet, crew_below(&random, sizeof(packet)), 0,
                         (const struct sockaddr *)&to, sizeof(to));
        }
        sched_yield();
    }
    close(stranger);
}

TEST(barriers_under_fire)
{
    struct world *world = make_world(2, 2, 1000);
    const pid_t stranger = crew_fork(flooder, 0, world);
    const bool well = crew_run(size_of(world), do_barriers, world);
    atomic_store(&world->go, 1);
    assert_true(crew_join(stranger));
    assert_true(well);
    end_world(world);
}
