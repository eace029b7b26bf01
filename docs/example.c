/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmyr without MPI: two nodes, a message and a barrier played by their NICs.
 *
 *     docs/example [NETWORK]        (default: lo)
 *
 * Each node is a process here, with a segment and a NIC of its own; with NETWORK "eth0" they could
 * as well be on two machines, if they told each other their names by other means than a pipe. Built
 * and run by the tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmyr/nic_group.h"
#include "libmyr/port.h"
#include "libmyr/secrets.h"
#include "libmyr/segment.h"

enum { BARRIERS = 1000, BYTES = 64 };

static void give_up(const struct myr_error *error)
{
    fprintf(stderr, "example: %s\n", error->text);
    exit(1);
}

/* Whatever else this process has to keep going while it waits. */
static void nothing(void) {}

/* The way of node `node` through a barrier of two: send to the other, wait for the other. */
static bool two_nodes(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    (void)context;
    struct mcp_step *step = malloc(sizeof(*step) + 2 * sizeof(uint32_t));
    if (NULL == step) {
        return false;
    }
    uint32_t *peers = (uint32_t *)(step + 1);
    *step = (struct mcp_step){.sends = 1, .waits = 1};
    peers[0] = peers[1] = 1 - node;
    *schedule = (struct myr_schedule){1, step, 2, peers};
    return true;
}

static void sent(struct myr_port *port, void *context, void *buffer, enum myr_status status)
{
    (void)port;
    (void)buffer;
    *(bool *)context = MYR_OK == status;
}

/* Node 0 greets node 1, which prints it. */
static void greet(struct myr_port *port, const struct myr_port_name *other, uint32_t node)
{
    struct myr_error error;
    struct myr_received received;
    struct myr_remote remote;
    char *buffer = myr_port_alloc(port, BYTES);
    if (NULL == buffer || MYR_OK != myr_port_connect(port, other, &remote, &error)) {
        give_up(&error);
    }
    if (0 == node) {
        bool done = false;
        snprintf(buffer, BYTES, "hello from node 0");
        (void)myr_port_send(port, &remote, buffer, strlen(buffer) + 1, sent, &done);
        while (!done) {
            (void)myr_port_receive(port, &received); /* runs the NIC, and calls sent() */
        }
    } else {
        (void)myr_port_provide(port, buffer, BYTES);
        while (!myr_port_receive(port, &received)) {
        }
        printf("node 1 received: %s\n", (char *)received.buffer);
    }
    myr_port_free(port, buffer);
}

/* Arrive, compute, and only then ask whether all have come: the fuzzy barrier. */
static void synchronise(struct myr_nic_group *group, uint32_t node)
{
    volatile uint64_t computed = 0;
    for (int b = 0; b < BARRIERS; ++b) {
        const uint32_t epoch = myr_nic_group_arrive(group);
        for (int i = 0; i < 100; ++i) {
            computed += (uint64_t)i;
        }
        if (!myr_nic_group_wait(group, epoch, 0)) {
            fprintf(stderr, "example: the barrier has failed\n");
            exit(1);
        }
    }
    printf("node %u did %d barriers\n", node, BARRIERS);
}

static int run(const char *network, uint32_t node, int pipe, const struct mcp_secret *secret)
{
    const struct myr_nic_options nic_options = {.network = network};
    const struct myr_port_options port_options = {.number = MYR_ANY_PORT};
    const struct myr_patience patience = {.spin = -1, .sleep_after = 500, .slice = 1000};
    struct myr_error error = {0};
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_port *port;
    if (MYR_OK != myr_segment_join(NULL, 64 << 20, &segment, &error) ||
        MYR_OK != myr_nic_open(segment, &nic_options, &nic, &error) ||
        MYR_OK != myr_port_open(nic, &port_options, &port, &error)) {
        give_up(&error);
    }

    struct myr_port_name names[2];
    myr_port_get_name(port, &names[node]);
    if (sizeof(names[0]) != write(pipe, &names[node], sizeof(names[0])) ||
        sizeof(names[0]) != recv(pipe, &names[1 - node], sizeof(names[0]), MSG_WAITALL)) {
        return 1;
    }
    greet(port, &names[1 - node], node);

    struct myr_waiter waiter;
    struct myr_nic_group group;
    const struct myr_nic_name *const nics[2] = {&names[0].nic, &names[1].nic};
    struct myr_nic_members members = {.nodes = 2, .node = node, .locals = 1, .names = nics};
    members.key = myr_secret_derive(secret, 0, &members.secret);
    myr_waiter_init(&waiter, segment, nothing, &patience);
    if (MYR_OK != myr_nic_group_join(&group, nic, &waiter, &members, two_nodes, NULL, &error)) {
        give_up(&error);
    }
    synchronise(&group, node);

    /* The other NIC may have lost our last message: serve until it says that it needs nothing more.
     */
    char bye = 'b';
    if (1 != write(pipe, &bye, 1)) {
        return 1;
    }
    while (recv(pipe, &bye, 1, MSG_DONTWAIT) < 0) {
        (void)myr_nic_poll(nic);
    }
    myr_nic_group_leave(&group);
    myr_port_close(port);
    myr_nic_close(nic);
    myr_segment_leave(segment);
    return 0;
}

int main(int argc, char **argv)
{
    const char *network = argc > 1 ? argv[1] : "lo";
    int ends[2];
    struct mcp_secret secret;
    if (!myr_secret_draw(&secret) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) {
        perror("example");
        return 1;
    }
    const pid_t child = fork();
    if (0 == child) {
        close(ends[0]);
        return run(network, 1, ends[1], &secret);
    }
    close(ends[1]);
    const int own = run(network, 0, ends[0], &secret);
    int status = 1;
    waitpid(child, &status, 0);
    return 0 != own || 0 != status;
}
