/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays an unprivileged user who abuses the kernel NIC, to test that the jobs of other users
 * continue at full speed. tests/component/neighbour.sh and bench/neighbour.sh call it on the hosts
 * of nethosts, as another user than that of the job there.
 *
 *   hoard   opens and closes groups, and keeps all their pages mapped. Prints the number of pages.
 *   once    opens groups with the other host, claims once to be far ahead in them, and sleeps.
 *   storm   opens the same groups, and repeats the claim each millisecond.
 *
 * The last two print "ready" when all groups are open, and run until they are killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "libmyr/kernel/kernel_inside.h"

enum {
    NETWORK = 0x0a4d0000, /* 10.77.0.0, of nethosts */
    PORT = 7077,          /* the port of all hosts' NICs */
    MOST = 4096,          /* maximum number of groups */
    KEYS = 0x776f7273,    /* the key of the first group */
    PAUSE_NS = 1000000
};

static struct {
    struct myr_kernel_nic *nic;
    const struct mcp_kernel_line *line[MOST];
    uint32_t self, peer, groups;
    int bell; /* for doorbells; connected to the peer's NIC */
} user;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "worst_user: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* Returns the request for a group of the two hosts with a single message in each direction, so that
 * its epochs follow each other as fast as possible. */
static struct myr_kernel_question question_for(uint32_t group)
{
    struct myr_kernel_question question = {
        .key = KEYS + group,
        .nodes = 2,
        .node = user.self > user.peer,
        .nsteps = 1,
        .nsends = 1,
        .nwaits = 1,
        .steps = {{1, 1}},
    };
    for (uint32_t p = 0; p < 2; ++p) {
        question.peers[p] = (struct mcp_kernel_peer){.ip = mcp_ip_of_4(htonl(NETWORK + user.peer)),
                                                     .port = htons(PORT),
                                                     .node = user.self < user.peer};
    }
    return question;
}

/* Returns the kernel's number of the page. */
static uint32_t open_group(uint32_t group)
{
    struct myr_kernel_question question = question_for(group);
    struct mcp_kernel_seen seen;
    struct myr_error error;
    char path[64], line[128];
    uint32_t number = 0;
    if (MYR_OK != myr_kernel_nic_ask_open(user.nic, &question, &seen, &error)) {
        fprintf(stderr, "worst_user: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    const struct mcp_kernel_line *page =
        mmap(NULL, sizeof(*page) * MCP_KERNEL_LINES, PROT_READ, MAP_SHARED, seen.page, 0);
    if (MAP_FAILED == page) {
        fail("mapping a page");
    }
    user.line[group] = &page[seen.line];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", seen.page);
    FILE *about = fopen(path, "r");
    while (NULL != about && NULL != fgets(line, sizeof(line), about)) {
        (void)sscanf(line, "map_id: %" SCNu32, &number);
    }
    if (NULL != about) {
        fclose(about);
    }
    close(seen.page);
    return number;
}

static void hoard(void)
{
    uint32_t *numbers = calloc(user.groups, sizeof(*numbers)), different = 0;
    if (NULL == numbers) {
        fail("memory");
    }
    for (uint32_t g = 0; g < user.groups; ++g) {
        const uint32_t number = open_group(g);
        uint32_t known = 0;
        myr_kernel_nic_ask_close(user.nic, KEYS + g);
        while (known < different && numbers[known] != number) {
            ++known;
        }
        if (known == different) {
            numbers[different++] = number;
        }
    }
    free(numbers);
    printf("%" PRIu32 " groups, %" PRIu32 " pages\n", user.groups, different);
}

static void make_bell(void)
{
    const int one = 1;
    const struct sockaddr_in peer = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(NETWORK + user.peer),
                                     .sin_port = htons(PORT)};
    user.bell = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (user.bell < 0 || setsockopt(user.bell, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)) < 0 ||
        connect(user.bell, (const struct sockaddr *)&peer, sizeof(peer)) < 0) {
        fail("a socket for doorbells");
    }
}

static void ring_all(enum mcp_ring ring)
{
    for (uint32_t g = 0; g < user.groups; ++g) {
        const uint32_t epoch = myr_load_acquire((myr_word *)&user.line[g]->done) + INT32_MAX;
        const struct mcp_doorbell bell = mcp_doorbell(ring, epoch, KEYS + g);
        (void)!send(user.bell, &bell, sizeof(bell), MSG_DONTWAIT);
    }
}

static void storm(bool again)
{
    for (uint32_t g = 0; g < user.groups; ++g) {
        (void)open_group(g);
    }
    make_bell();
    printf("ready\n");
    fflush(stdout);
    ring_all(MCP_RING_START);
    for (;;) {
        const struct timespec pause = {again ? 0 : 1, again ? PAUSE_NS : 0};
        nanosleep(&pause, NULL);
        if (again) {
            ring_all(MCP_RING_START);
            ring_all(MCP_RING_ASK);
        }
    }
}

static void usage(void)
{
    fprintf(stderr, "usage: worst_user hoard|once|storm SELF PEER GROUPS\n"
                    "SELF and PEER are the numbers of two hosts of nethosts\n");
    exit(64);
}

int main(int argc, char **argv)
{
    struct myr_error error;
    if (5 != argc) {
        usage();
    }
    user.self = (uint32_t)strtoul(argv[2], NULL, 10);
    user.peer = (uint32_t)strtoul(argv[3], NULL, 10);
    user.groups = (uint32_t)strtoul(argv[4], NULL, 10);
    if (user.self == user.peer || 0 == user.groups || user.groups > MOST) {
        usage();
    }
    if (MYR_OK != myr_kernel_nic_open(false, &user.nic, &error)) {
        fprintf(stderr, "worst_user: %s\n", error.text);
        return EXIT_FAILURE;
    }
    if (0 == strcmp(argv[1], "hoard")) {
        hoard();
    } else if (0 == strcmp(argv[1], "once") || 0 == strcmp(argv[1], "storm")) {
        storm(0 == strcmp(argv[1], "storm"));
    } else {
        usage();
    }
    return 0;
}
