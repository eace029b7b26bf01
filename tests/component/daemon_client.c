/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of myrd that is a bad neighbour of later clients. It opens the daemon's NIC at a socket
 * and prints the NIC's key.
 *
 * With `stop` it then stops itself while it holds the NIC's lock. This must neither break the NIC
 * for other processes, nor make the client treat the NIC as broken after it has been continued.
 *
 * With `fill` it uses up the memory of the NIC, frees all of it, and fails if there was none.
 *
 * tests/component/myrd.sh calls it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/soft/nic_daemon.h"
#include "libmyr/soft/nic_inside.h"

static bool stop_inside(struct myr_soft_nic *nic)
{
    struct mcp_board *board;
    const bool entered = NULL != myr_soft_enter(nic, &board);
    if (entered) {
        raise(SIGSTOP);
    }
    myr_soft_leave(nic);
    return entered && !myr_soft_broken(nic);
}

static bool fill_memory(struct myr_segment *segment)
{
    enum { MOST = 4096, BYTES = 4000 };
    static struct myr_record *records[MOST];
    uint32_t count = 0;
    for (; count < MOST; ++count) {
        const struct myr_key key = {.scope = (uint64_t)getpid(), .id = count};
        records[count] = myr_record_join(segment, &key, 1, BYTES, 0, NULL);
        if (NULL == records[count]) {
            break;
        }
    }
    for (uint32_t r = 0; r < count; ++r) {
        myr_record_leave(segment, records[r]);
    }
    return 0 != count && MOST != count;
}

static bool act(const char *what, const struct myr_soft_daemon *daemon)
{
    return 0 == strcmp("stop", what)   ? stop_inside(daemon->nic)
           : 0 == strcmp("fill", what) ? fill_memory(daemon->segment)
                                       : false;
}

int main(int argc, char **argv)
{
    struct myr_soft_daemon daemon;
    struct myr_nic_name name;
    struct myr_error error = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: daemon_client SOCKET [stop|fill]\n");
        return 2;
    }
    if (MYR_OK != myr_soft_daemon_open(argv[1], false, &daemon, &error)) {
        fprintf(stderr, "daemon_client: %s\n", error.text);
        return EXIT_FAILURE;
    }
    myr_soft_get_name(daemon.nic, &name);
    printf("%" PRIx64 "\n", name.key);
    fflush(stdout);
    const bool good = argc < 3 || act(argv[2], &daemon);
    myr_soft_daemon_close(&daemon);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
