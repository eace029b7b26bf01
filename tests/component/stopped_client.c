/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of myrd that is stopped while it holds the NIC's lock, to test that this neither breaks
 * the NIC for other processes nor makes the client treat the NIC as broken.
 *
 * It opens the daemon's NIC at a socket and prints the NIC's key. With `stop` it then stops itself
 * while it holds the lock; after it has been continued, the NIC must be usable.
 * tests/component/myrd.sh calls it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    struct myr_soft_daemon daemon;
    struct myr_nic_name name;
    struct myr_error error = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: stopped_client SOCKET [stop]\n");
        return 2;
    }
    if (MYR_OK != myr_soft_daemon_open(argv[1], false, &daemon, &error)) {
        fprintf(stderr, "stopped_client: %s\n", error.text);
        return EXIT_FAILURE;
    }
    myr_soft_get_name(daemon.nic, &name);
    printf("%" PRIx64 "\n", name.key);
    fflush(stdout);
    const bool good = argc < 3 || 0 != strcmp("stop", argv[2]) || stop_inside(daemon.nic);
    myr_soft_daemon_close(&daemon);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
