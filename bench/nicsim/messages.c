/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim messages: repeats the measurements of messages that NICs match in Zhang's thesis (sections
 * 4.1 and 4.2) on a simulated machine, with the thesis's lists and with nicbarr's hash table. The
 * first measurement is the latency of a message as a function of its size. The second is the
 * latency of a receive while other unexpected messages are queued, as a function of the number of
 * nodes, with MPI_ANY_SOURCE and with a given source. Writes one CSV table for each. */
#include "bench/nicsim/commands.h"
#include "bench/nicsim/paper.h"

enum { BYTES_MOST = 1 << 19, NODES_MOST = 16 };

static const uint32_t widths[] = {8, 16};

static bool over_bytes_table(const struct nicsim_machine *machine, FILE *csv)
{
    fprintf(csv, "bytes,lists_us,table_us\n");
    for (uint32_t bytes = 0; bytes <= BYTES_MOST; bytes = 0 == bytes ? 4 : 2 * bytes) {
        const double lists_us = nicsim_unicast_us(machine, NICSIM_LISTS, bytes);
        const double table_us = nicsim_unicast_us(machine, NICSIM_TABLE, bytes);
        if (lists_us < 0 || table_us < 0) {
            return false;
        }
        fprintf(csv, "%u,%.3f,%.3f\n", bytes, lists_us, table_us);
    }
    return true;
}

static bool over_nodes_table(const struct nicsim_machine *machine, FILE *csv)
{
    const size_t count = sizeof(widths) / sizeof(widths[0]);
    fprintf(csv, "nodes");
    for (size_t w = 0; w < count; ++w) {
        fprintf(csv, ",lists_open_%u_us,lists_named_%u_us,table_open_%u_us,table_named_%u_us",
                widths[w], widths[w], widths[w], widths[w]);
    }
    fprintf(csv, "\n");
    for (uint32_t nodes = 2; nodes <= NODES_MOST; ++nodes) {
        fprintf(csv, "%u", nodes);
        for (size_t column = 0; column < 4 * count; ++column) {
            const double us =
                nicsim_waiting_us(machine, column % 4 < 2 ? NICSIM_LISTS : NICSIM_TABLE, nodes,
                                  widths[column / 4], 0 == column % 2);
            if (us < 0) {
                return false;
            }
            fprintf(csv, ",%.3f", us);
        }
        fprintf(csv, "\n");
    }
    return true;
}

int nicsim_messages_command(const struct nicsim_options *options)
{
    static const struct nicsim_study studies[] = {{"message_bytes", over_bytes_table},
                                                  {"message_nodes", over_nodes_table}};
    return nicsim_write_studies(options, studies, sizeof(studies) / sizeof(studies[0]));
}
