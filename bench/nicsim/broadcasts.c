/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim broadcasts: repeats the measurements of MPI_Bcast in Zhang's thesis (section 4.4) on a
 * simulated machine, with NIC-based and host-based broadcasts: the latency and the duration of the
 * root's call by bytes, and the latency by nodes. Writes one CSV table for each measurement. */
#include "bench/nicsim/commands.h"
#include "bench/nicsim/paper.h"

/* The thesis's numbers of nodes: for latencies, for the root's call, and the maximum in the figure
 * by nodes. */
enum { NODES = 8, ROOT_NODES = 7, NODES_MOST = 16 };

static const uint32_t over_nodes[] = {64, 512}; /* bytes */

static bool over_bytes_table(const struct nicsim_machine *machine, FILE *csv)
{
    fprintf(csv, "# %d nodes; of the root's call %d\n", (int)NODES, (int)ROOT_NODES);
    fprintf(csv, "bytes,nic_us,host_us,factor,nic_root_us,host_root_us\n");
    for (uint32_t bytes = 4; bytes <= NICSIM_BLOCK_MOST; bytes *= 2) {
        const double nic_us = nicsim_bcast_us(machine, NODES, bytes, true);
        const double host_us = nicsim_bcast_us(machine, NODES, bytes, false);
        const double nic_root_us = nicsim_bcast_root_us(machine, ROOT_NODES, bytes, true);
        const double host_root_us = nicsim_bcast_root_us(machine, ROOT_NODES, bytes, false);
        if (nic_us < 0 || host_us < 0 || nic_root_us < 0 || host_root_us < 0) {
            return false;
        }
        fprintf(csv, "%u,%.3f,%.3f,%.4f,%.3f,%.3f\n", bytes, nic_us, host_us, host_us / nic_us,
                nic_root_us, host_root_us);
    }
    return true;
}

static bool over_nodes_table(const struct nicsim_machine *machine, FILE *csv)
{
    const size_t count = sizeof(over_nodes) / sizeof(over_nodes[0]);
    fprintf(csv, "nodes");
    for (size_t b = 0; b < count; ++b) {
        fprintf(csv, ",nic_%u_us,host_%u_us", over_nodes[b], over_nodes[b]);
    }
    fprintf(csv, "\n");
    for (uint32_t nodes = 2; nodes <= NODES_MOST; ++nodes) {
        fprintf(csv, "%u", nodes);
        for (size_t b = 0; b < count; ++b) {
            const double nic_us = nicsim_bcast_us(machine, nodes, over_nodes[b], true);
            const double host_us = nicsim_bcast_us(machine, nodes, over_nodes[b], false);
            if (nic_us < 0 || host_us < 0) {
                return false;
            }
            fprintf(csv, ",%.3f,%.3f", nic_us, host_us);
        }
        fprintf(csv, "\n");
    }
    return true;
}

int nicsim_broadcasts_command(const struct nicsim_options *options)
{
    static const struct nicsim_study studies[] = {{"bcast_bytes", over_bytes_table},
                                                  {"bcast_nodes", over_nodes_table}};
    return nicsim_write_studies(options, studies, sizeof(studies) / sizeof(studies[0]));
}
