/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that `nicbarr status` inspects in tests. It sets up a state, prints "ready", and stays
 * until its standard input ends.
 *
 *     status_subject KIND
 *
 * KIND is the state:
 *
 *   alone     a segment without a NIC
 *   nic       a segment with a NIC that has performed 3 barriers in one group, and is in the first
 *             barrier of another group, whose other node never replies
 *   thread    the same, but the NIC is run by a thread
 *   nowhere   a NIC that could not be opened
 *   foreign   shared memory of another version of nicbarr
 *   short     only the header of a segment
 *   garbage   a valid header, followed by random bytes
 *   stranger  a file with the name of nicbarr's segments that is not a segment
 *   circle    a segment with a cyclic table of records
 *   changing  a NIC whose groups are opened and closed all the time
 *   late      as nic, but the other node has reported that its host is late
 *   failed    as nic, but the other node has been given up
 *   here      a group of three processes of this node, of which this process has arrived, another
 *             one has not arrived, and the third has not joined
 *   waits     a segment with more long waits than can be published, of which one has ended
 *   ports     two ports, of which the first sends a message for which the second has no buffer
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/soft/soft_group.h"
#include "libmyr/messages/port.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/sram.h"
#include "libmyr/node/waits.h"
#include "libmyr/soft/nic_inside.h"
#include "libmyr/soft/nic_thread.h"

static struct myr_segment *segment;
static struct myr_soft_nic *nic;
static struct myr_waiter waiter;

static void check(enum myr_status status, const struct myr_error *error)
{
    if (MYR_OK != status) {
        fprintf(stderr, "status_subject: %s\n", error->text);
        exit(EXIT_FAILURE);
    }
}

static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct nicbarr_choice choice = {NICBARR_DISSEMINATION, 1, 0};
    return nicbarr_schedule_create(choice, *(const uint32_t *)context, node, schedule);
}

static void no_progress(void) {}

/* Joins a group of this node alone, or of two nodes, of which the other never replies. This process
 * joins as one of the `locals` processes of this node. */
static void join_as(struct myr_nic_group *group, uint64_t key, uint32_t nodes, uint32_t locals,
                    uint32_t local)
{
    struct myr_error error = {0};
    struct myr_nic_name names[2];
    myr_soft_get_name(nic, &names[0]);
    names[1] = names[0];
    names[1].address[0].port = htons(9);
    const struct myr_nic_name *const by_node[] = {&names[0], &names[1]};
    const struct myr_nic_members members = {
        .key = key, .nodes = nodes, .locals = locals, .local = local, .names = by_node};
    check(myr_soft_group_join(group, nic, &waiter, &members, schedule_of, &nodes, &error), &error);
}

static void join_group(struct myr_nic_group *group, uint64_t key, uint32_t nodes)
{
    join_as(group, key, nodes, 1, 0);
}

static void make_segment(void)
{
    static const struct myr_wait_policy policy = {0, 0, 1000};
    struct myr_error error = {0};
    check(myr_segment_join(NULL, 1 << 20, &segment, &error), &error);
    myr_waiter_init(&waiter, segment, no_progress, &policy);
}

static void make_bare_nic(void)
{
    const struct myr_soft_options options = {.network = "lo"};
    struct myr_error error = {0};
    make_segment();
    check(myr_soft_open(segment, &options, &nic, &error), &error);
}

/* A group that waits for node 1. */
static struct myr_nic_group half;

static void make_nic(void)
{
    static struct myr_nic_group done;
    make_bare_nic();
    join_group(&done, 17, 1);
    for (int i = 0; i < 3; ++i) {
        (void)myr_nic_group_arrive(&done);
    }
    join_group(&half, 18, 2);
    (void)myr_nic_group_arrive(&half);
}

static void make_late(void)
{
    struct timespec now;
    make_nic();
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    (void)mcp_group_hear(half.own, 1, 0, 1, (uint32_t)ms);
}

static void make_here(void)
{
    static struct myr_nic_group arrived, absent;
    make_bare_nic();
    join_as(&arrived, 19, 1, 3, 0);
    join_as(&absent, 19, 1, 3, 1);
    (void)myr_nic_group_arrive(&arrived);
}

static void make_ports(void)
{
    struct myr_error error = {0};
    const struct myr_port_options options = {.number = MYR_ANY_PORT};
    struct myr_port *from, *to;
    struct myr_port_name name;
    struct myr_remote remote;
    make_bare_nic();
    check(myr_port_open(nic, &options, &from, &error), &error);
    check(myr_port_open(nic, &options, &to, &error), &error);
    myr_port_get_name(to, &name);
    check(myr_port_connect(from, &name, &remote, &error), &error);
    check(myr_port_send(from, &remote, myr_port_alloc(from, 8), 8, NULL, NULL), &error);
}

static void make_waits(void)
{
    static const struct myr_shown_wait wait = {.group = {1, 2, 3},
                                               .size = 7,
                                               .call = "MPI_Bcast",
                                               .caller = "program+0x1f (\x1b[31msolve)",
                                               .name = "rows",
                                               .ranks = "0-3,8"};
    struct myr_shown_wait *shown[MYR_WAITS];
    make_segment();
    for (int w = 0; w < MYR_WAITS; ++w) {
        shown[w] = myr_wait_show(segment, &wait);
    }
    if (NULL != myr_wait_show(segment, &wait)) {
        fprintf(stderr, "status_subject: one wait too many\n");
        exit(EXIT_FAILURE);
    }
    myr_wait_hide(shown[1]);
}

/* Creates memory with the name of nicbarr's segments and these bytes at its beginning. */
static void make_memory(const void *bytes, size_t count)
{
    const int fd = memfd_create("nicbarr", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count) {
        perror("status_subject: memfd");
        exit(EXIT_FAILURE);
    }
}

static struct myr_sram *header(uint64_t magic, uint32_t layout)
{
    struct myr_sram *sram = calloc(1, sizeof(*sram));
    sram->magic = magic;
    sram->layout = layout;
    return sram;
}

static void make_garbage(void)
{
    struct myr_sram *sram = header(MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT);
    uint8_t *rest = (uint8_t *)sram + offsetof(struct myr_sram, limit);
    for (size_t done = 0; done < sizeof(*sram) - offsetof(struct myr_sram, limit); ++done) {
        rest[done] = (uint8_t)rand();
    }
    make_memory(sram, sizeof(*sram));
}

static void make_circle(void)
{
    struct myr_sram *sram = header(MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT);
    for (uint32_t b = 0; b < MYR_BUCKETS; ++b) {
        sram->bucket[b] = offsetof(struct myr_sram, bucket); /* a record within the table itself */
    }
    make_memory(sram, sizeof(*sram));
}

/* Opens and closes groups until standard input ends. */
static void change(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (uint64_t key = 100; 0 == poll(&input, 1, 0); key += 4) {
        struct myr_nic_group groups[4];
        for (uint64_t g = 0; g < 4; ++g) {
            join_group(&groups[g], key + g, 1);
            (void)myr_nic_group_arrive(&groups[g]);
        }
        for (uint64_t g = 0; g < 4; ++g) {
            myr_nic_group_leave(&groups[g]);
        }
    }
}

int main(int argc, char **argv)
{
    const char *kind = 2 == argc ? argv[1] : "";
    struct myr_error error = {0};
    struct myr_soft_thread *thread = NULL;
    if (0 == strcmp(kind, "alone")) {
        make_segment();
    } else if (0 == strcmp(kind, "nic") || 0 == strcmp(kind, "changing")) {
        make_nic();
    } else if (0 == strcmp(kind, "late")) {
        make_late();
    } else if (0 == strcmp(kind, "failed")) {
        make_nic();
        myr_nic_group_fail(&half, 1);
    } else if (0 == strcmp(kind, "here")) {
        make_here();
    } else if (0 == strcmp(kind, "waits")) {
        make_waits();
    } else if (0 == strcmp(kind, "ports")) {
        make_ports();
    } else if (0 == strcmp(kind, "thread")) {
        make_nic();
        check(myr_soft_thread_start(nic, MYR_SOFT_THREAD, &thread, &error), &error);
    } else if (0 == strcmp(kind, "nowhere")) {
        const struct myr_soft_options options = {.network = "nosuch0"};
        make_segment();
        (void)myr_soft_open(segment, &options, &nic, &error);
    } else if (0 == strcmp(kind, "foreign")) {
        make_memory(header(MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT + 1), sizeof(struct myr_sram));
    } else if (0 == strcmp(kind, "short")) {
        make_memory(header(MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT), 16);
    } else if (0 == strcmp(kind, "stranger")) {
        make_memory("something else entirely", 24);
    } else if (0 == strcmp(kind, "garbage")) {
        make_garbage();
    } else if (0 == strcmp(kind, "circle")) {
        make_circle();
    } else {
        fprintf(stderr, "status_subject: what is '%s'?\n", kind);
        return 64;
    }
    puts("ready");
    fflush(stdout);
    if (0 == strcmp(kind, "changing")) {
        change();
    }
    while (EOF != getchar()) {
    }
    return EXIT_SUCCESS;
}
