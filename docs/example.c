/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmyr without MPI: processes whose NICs execute barriers.
 *
 *     cc example.c $(pkg-config --cflags --libs myr) -o example
 *     ./example [NIC [SETTINGS]]        (default: soft network=lo)
 *
 * Here each process is a separate node with its own NIC, and the processes talk over sockets to the
 * first one. With the setting "network=eth0" they could as well be on several machines, if these
 * connections went there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <myr/myr.h>

enum { PROCESSES = 3, EPOCHS = 1000 };

/* The program's own connections: the first process has one to each other, and these have one to it.
 */
struct wires {
    uint32_t rank;
    int to[PROCESSES];
};

static bool hand(int to, const void *bytes, size_t count)
{
    return (ssize_t)count == send(to, bytes, count, MSG_NOSIGNAL);
}

static bool take(int from, void *bytes, size_t count)
{
    return (ssize_t)count == recv(from, bytes, count, MSG_WAITALL);
}

/* Everybody's bytes go to the first process, and all of them back. */
static bool allgather(void *context, const void *mine, void *all, size_t bytes)
{
    const struct wires *wires = context;
    bool good = true;
    if (0 != wires->rank) {
        return hand(wires->to[0], mine, bytes) && take(wires->to[0], all, PROCESSES * bytes);
    }
    memcpy(all, mine, bytes);
    for (int r = 1; good && r < PROCESSES; ++r) {
        good = take(wires->to[r], (char *)all + (size_t)r * bytes, bytes);
    }
    for (int r = 1; good && r < PROCESSES; ++r) {
        good = hand(wires->to[r], all, PROCESSES * bytes);
    }
    return good;
}

/* Arrive, compute, and only then wait for the others: the fuzzy barrier. */
static bool synchronise(struct myr_barrier *barrier)
{
    volatile uint64_t computed = 0;
    enum myr_outcome outcome = MYR_DONE;
    for (int e = 0; MYR_DONE == outcome && e < EPOCHS; ++e) {
        const uint32_t epoch = myr_barrier_arrive(barrier);
        for (uint64_t i = 0; i < 100; ++i) {
            computed += i;
        }
        outcome = myr_barrier_wait(barrier, epoch, 0);
    }
    return MYR_DONE == outcome;
}

static int run(const struct myr_options *options, struct wires *wires)
{
    const struct myr_members members = {
        .size = PROCESSES,
        .rank = wires->rank,
        .allgather = allgather,
        .context = wires,
    };
    struct myr_host *host;
    struct myr_barrier *barrier;
    char why[MYR_WHY];
    if (!myr_host_open(options, &host, why)) {
        fprintf(stderr, "example: %s\n", why);
        return 1;
    }
    if (!myr_barrier_create(host, &members, "dissemination:1", &barrier, why)) {
        fprintf(stderr, "example: %s\n", why);
        myr_host_close(host);
        return 1;
    }
    const bool good = synchronise(barrier);
    if (good) {
        printf("process %u did %d barriers\n", wires->rank, EPOCHS);
    } else {
        fprintf(stderr, "example: the barrier is over\n");
    }
    myr_barrier_free(barrier);
    myr_host_close(host);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct myr_options options = {
        .nic = argc > 1 ? argv[1] : "soft",
        .settings = argc > 2   ? argv[2]
                    : argc > 1 ? NULL
                               : "network=lo",
    };
    struct wires first = {.rank = 0};
    for (uint32_t r = 1; r < PROCESSES; ++r) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) {
            perror("example");
            return 1;
        }
        if (0 == fork()) {
            struct wires others = {.rank = r, .to = {ends[1]}};
            for (uint32_t before = 1; before < r; ++before) {
                close(first.to[before]);
            }
            close(ends[0]);
            return run(&options, &others);
        }
        close(ends[1]);
        first.to[r] = ends[0];
    }
    int failed = run(&options, &first), status;
    for (int r = 1; r < PROCESSES; ++r) {
        close(first.to[r]); /* who still waits for this process hears that it is gone */
    }
    while (wait(&status) > 0) {
        failed = failed || 0 != status;
    }
    return failed;
}
