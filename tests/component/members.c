/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that libmyr's barriers are correct across hosts in programs without MPI. This program is
 * one process of such a job; library.sh starts all of them on simulated hosts.
 *
 *   members DIRECTORY SIZE RANK NIC ALGORITHM [NODE-DIRECTORY]
 *
 * All simulated hosts share the machine's file system. The members exchange bytes through files in
 * DIRECTORY, and map a ledger there in which each records its arrival. The program prints "ok" if
 * no member has left a barrier early.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "myr/myr.h"

enum { EPOCHS = 500, MOST = 64, PATH_BYTES = 300, POLL_US = 1000 };

struct member {
    const char *dir;
    uint32_t size, rank;
    uint32_t exchanges;
    _Atomic uint32_t *arrived; /* [MOST] counters of all members, in a file */
};

static void fail(const char *why)
{
    fprintf(stderr, "members: %s\n", why);
    exit(1);
}

/* Exchange bytes with all members through one file for each process and exchange, which is
 * renamed to its final name when it is complete. */
static bool exchange(void *context, const void *mine, void *all, size_t bytes)
{
    struct member *member = context;
    char path[PATH_BYTES], whole[PATH_BYTES];
    const uint32_t number = ++member->exchanges;
    snprintf(path, sizeof(path), "%s/%u.new", member->dir, member->rank);
    snprintf(whole, sizeof(whole), "%s/%u.%u", member->dir, number, member->rank);
    FILE *file = fopen(path, "w");
    if (NULL == file || 1 != fwrite(mine, bytes, 1, file) || 0 != fclose(file) ||
        0 != rename(path, whole)) {
        return false;
    }
    for (uint32_t r = 0; r < member->size; ++r) {
        snprintf(whole, sizeof(whole), "%s/%u.%u", member->dir, number, r);
        while (NULL == (file = fopen(whole, "r"))) {
            usleep(POLL_US);
        }
        const bool good = 1 == fread((char *)all + r * bytes, bytes, 1, file);
        fclose(file);
        if (!good) {
            return false;
        }
    }
    return true;
}

static void open_ledger(struct member *member)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/ledger", member->dir);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const size_t bytes = MOST * sizeof(*member->arrived);
    if (file < 0 || 0 != ftruncate(file, (off_t)bytes)) {
        fail("cannot create the ledger");
    }
    member->arrived = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (MAP_FAILED == (void *)member->arrived) {
        fail("cannot map the ledger");
    }
}

static void meet(const struct member *member, struct myr_barrier *barrier)
{
    for (uint32_t e = 1; e <= EPOCHS; ++e) {
        atomic_store(&member->arrived[member->rank], e);
        if (MYR_DONE != myr_barrier_wait(barrier, myr_barrier_arrive(barrier), 0)) {
            fail("the barrier is over");
        }
        for (uint32_t r = 0; r < member->size; ++r) {
            if (atomic_load(&member->arrived[r]) < e) {
                fail("a barrier was left before all had arrived");
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fail("DIRECTORY SIZE RANK NIC ALGORITHM [NODE-DIRECTORY]");
    }
    struct member member = {
        .dir = argv[1],
        .size = (uint32_t)strtoul(argv[2], NULL, 10),
        .rank = (uint32_t)strtoul(argv[3], NULL, 10),
    };
    const struct myr_options options = {.nic = argv[4], .dir = argv[6]};
    const struct myr_members members = {member.size, member.rank, exchange, &member};
    struct myr_host *host;
    struct myr_barrier *barrier;
    char why[MYR_WHY];
    if (member.size > MOST) {
        fail("too many members");
    }
    open_ledger(&member);
    if (!myr_host_open(&options, &host, why) ||
        !myr_barrier_create(host, &members, argv[5], &barrier, why)) {
        fail(why);
    }
    meet(&member, barrier);
    myr_barrier_free(barrier);
    myr_host_close(host);
    puts("ok");
    return 0;
}
