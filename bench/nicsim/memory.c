/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim memory: prints how much memory the firmware uses for a NIC with its table of connections,
 * and for the rings of a port. If a NIC has SRAM, this memory is there. nicsim scale prints the
 * memory of groups, which depends on the algorithm. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/nicsim/commands.h"

enum { PORTS = 16 }; /* an example of a node's processes */

static void print_size(FILE *csv, const char *what, uint32_t count, size_t bytes)
{
    printf("%-28s %8u %12zu\n", what, count, bytes);
    if (NULL != csv) {
        fprintf(csv, "%s,%u,%zu\n", what, count, bytes);
    }
}

int nicsim_memory_command(const struct nicsim_options *options)
{
    FILE *csv = NULL;
    if (!nicsim_csv_open(options->csv, &csv)) {
        return EXIT_FAILURE;
    }
    if (NULL != csv) {
        fprintf(csv, "what,number,bytes\n");
    }
    printf("%-28s %8s %12s\n", "what", "number", "bytes");
    print_size(csv, "NIC without connections", 0, mcp_nic_bytes(PORTS, 0));
    for (uint32_t connections = 4; connections <= options->most; connections *= 4) {
        print_size(csv, "NIC with connections", connections, mcp_nic_bytes(PORTS, connections));
    }
    for (uint32_t tokens = 16; tokens <= 1024; tokens *= 4) {
        struct mcp_port shape;
        size_t bytes = 0;
        (void)mcp_port_shape(&shape, tokens, tokens, &bytes);
        print_size(csv, "port with tokens of each sort", tokens, bytes);
    }
    return nicsim_csv_close(csv, options->csv) ? EXIT_SUCCESS : EXIT_FAILURE;
}
