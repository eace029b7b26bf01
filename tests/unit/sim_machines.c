/* SPDX-License-Identifier: BSD-3-Clause */
/* See sim_machines.h. */
#include "tests/unit/sim_machines.h"

#include <math.h>

#include "tests/unit/crew.h"

const struct nicsim_machine sim_primes = {
    .name = "primes",
    .nic = {.nic_mhz = 1000,
            .cycles_loop = 17,
            .cycles_turn = 5,
            .cycles_engine = 7,
            .cycles_start = 3,
            .cycles_dma = 19,
            .doorbell_us = 0.013,
            .dma_us = 0.023,
            .dma_bytes_per_us = 1000,
            .link_bytes_per_us = 1000,
            .link_header_bytes = 0,
            .switch_us = 0.029,
            .cable_us = 0.031,
            .switch_ports = 16,
            .host_call_us = 0.011,
            .host_return_us = 0.047,
            .slow_factor = 1,
            .mtu = 4096},
    .mpi_envelope_bytes = 32,
    .mpi_send_us = 0.037,
    .mpi_receive_us = 0.037,
    .mpi_look_us = 0.002,
    .mpi_step_cycles = 43,
    .mpi_barrier_us = 0.041,
    .cycles_check = 59,
    .cycles_hash = 61,
    .eager_most = 512,
    .pin_us = 0.053,
};

uint64_t sim_ps(double us)
{
    return (uint64_t)llround(us * 1e6);
}

double sim_between(uint64_t *random, double least, double most)
{
    return least + (most - least) * crew_below(random, 1 << 20) / (1 << 20);
}

struct nicsim_machine sim_random_machine(uint64_t *random)
{
    return (struct nicsim_machine){
        .name = "random",
        .nic = {.nic_mhz = sim_between(random, 20, 500),
                .cycles_loop = sim_between(random, 0, 300),
                .cycles_look = crew_below(random, 10),
                .cycles_turn = sim_between(random, 10, 150),
                .cycles_engine = sim_between(random, 0, 150),
                .cycles_start = sim_between(random, 0, 50),
                .cycles_dma = sim_between(random, 0, 150),
                .copy_most = crew_below(random, 2) * crew_below(random, 1300),
                .copy_bytes_per_us = sim_between(random, 10, 1000),
                .doorbell_us = sim_between(random, 0, 1),
                .dma_us = sim_between(random, 0, 2),
                .dma_bytes_per_us = sim_between(random, 100, 10000),
                .link_bytes_per_us = sim_between(random, 100, 10000),
                .link_header_bytes = crew_below(random, 50),
                .switch_us = sim_between(random, 0, 1),
                .cable_us = sim_between(random, 0.01, 0.1),
                .switch_ports = 4 + 2 * crew_below(random, 10),
                .host_call_us = sim_between(random, 0.1, 6),
                .host_return_us = sim_between(random, 0, 1),
                .slow_from = crew_below(random, 5),
                .slow_factor = sim_between(random, 1, 3),
                .mtu = 4096},
        .mpi_envelope_bytes = crew_below(random, 65),
        .mpi_send_us = sim_between(random, 0, 3),
        .mpi_receive_us = sim_between(random, 0, 3),
        .mpi_look_us = sim_between(random, 0, 1),
        .mpi_step_cycles = crew_below(random, 50),
        .mpi_barrier_us = sim_between(random, 0, 2),
        .cycles_check = sim_between(random, 0, 50),
        .cycles_hash = sim_between(random, 0, 400),
        .eager_most = 256 + crew_below(random, 5000),
        .pin_us = sim_between(random, 0, 30),
    };
}
