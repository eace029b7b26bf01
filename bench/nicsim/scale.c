/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim scale: simulates each algorithm on one machine by number of nodes (powers of two),
 * NIC-based and host-based. It prints latency, packets, and the memory of a NIC.
 *
 * The table also contains predictions of models. For host-based n-way dissemination this is
 * Hoefler's LoP model, in which a round costs half of a 1:n n:1 ping-pong, which is simulated as
 * well. For pairwise exchange these are the closed formulas of the GM paper. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/paper.h"

enum { WARM_UP = 1, BARRIERS = 3 };

static const char *const algorithms[] = {
    "pairwise",        "dissemination:1", "dissemination:2", "dissemination:3", "dissemination:4",
    "dissemination:5", "dissemination:6", "dissemination:7", "dissemination:8", "tree:2",
    "tree:3",          "tree:4",          "tree:5",          "tree:6",          "tree:8",
    "tree:12",         "tree:16",         "tree:24",         "tree:32",
};

static bool play_algorithm(const struct nicsim_options *options,
                           const struct nicsim_machine *machine, struct nicbarr_choice choice,
                           uint32_t nodes, bool on_nics, bool ping_pong,
                           struct nicsim_outcome *outcome)
{
    const struct nicsim_game game = {
        .machine = machine,
        .choice = choice,
        .ping_pong = ping_pong,
        .nodes = nodes,
        .on_nics = on_nics,
        .level = options->game.level,
        .warm_up = WARM_UP,
        .barriers = BARRIERS,
        .seed = options->game.seed,
    };
    return nicsim_play(&game, outcome) && outcome->finished == nodes;
}

/* Returns the latency by the LoP model, or NAN where the model does not apply. */
static double lop_us(const struct nicsim_options *options, const struct nicsim_machine *machine,
                     struct nicbarr_choice choice, uint32_t nodes, bool on_nics)
{
    struct nicsim_outcome outcome;
    const uint32_t n = choice.parameter;
    if (on_nics || NICBARR_DISSEMINATION != choice.algorithm || n >= nodes ||
        !play_algorithm(options, machine, choice, n + 1, false, true, &outcome)) {
        return NAN;
    }
    double rounds = 0;
    for (uint64_t reached = 1; reached < nodes; reached *= n + 1) {
        ++rounds;
    }
    return rounds * outcome.barrier_us / 2;
}

static bool one(const struct nicsim_options *options, const struct nicsim_machine *machine,
                const char *name, uint32_t nodes, bool on_nics, FILE *csv)
{
    struct nicsim_outcome o;
    struct nicbarr_choice choice;
    (void)nicbarr_choice_parse(name, &choice);
    if (!play_algorithm(options, machine, choice, nodes, on_nics, false, &o)) {
        fprintf(stderr, "nicsim: %s, %u nodes: out of memory, or the simulation did not finish\n",
                name, nodes);
        return false;
    }
    const double models[] = {
        lop_us(options, machine, choice, nodes, on_nics),
        NICBARR_PAIRWISE == choice.algorithm
            ? nicsim_formula_us(machine, nodes, on_nics, options->game.level)
            : NAN,
    };
    char model[2][20] = {"", ""};
    for (int m = 0; m < 2; ++m) {
        if (!isnan(models[m])) {
            snprintf(model[m], sizeof(model[m]), "%.3f", models[m]);
        }
    }
    const double packets = (double)o.tally.sent / (WARM_UP + BARRIERS);
    printf("%6u  %-16s %-5s %10.2f %12.0f %8zu %12s %12s\n", nodes, name,
           on_nics ? "NICs" : "hosts", o.barrier_us, packets, o.group_bytes, model[0], model[1]);
    if (NULL != csv) {
        fprintf(csv, "%s,%u,%s,%s,%.3f,%.1f,%zu,%s,%s,%u,%zu\n", options->machine, nodes, name,
                on_nics ? "nics" : "hosts", o.barrier_us, packets, o.group_bytes, model[0],
                model[1], o.connections, o.port_bytes);
    }
    return true;
}

int nicsim_scale_command(const struct nicsim_options *options)
{
    struct nicsim_file file;
    FILE *csv = NULL;
    if (!nicsim_read_machine(options->data, options->machine, &file) ||
        !nicsim_csv_open(options->csv, &csv)) {
        return EXIT_FAILURE;
    }
    if (NULL != csv) {
        fprintf(csv, "machine,nodes,algorithm,player,us,packets,group_bytes,lop_us,formula_us,"
                     "connections,port_bytes\n");
    }
    printf("%s: %s\n\n%6s  %-16s %-5s %10s %12s %8s %12s %12s\n", file.machine.name, file.about,
           "nodes", "algorithm", "by", "us", "packets", "bytes", "LoP, us", "formula, us");
    bool good = true;
    for (uint32_t nodes = 2; good && nodes <= options->most; nodes *= 2) {
        for (size_t a = 0; good && a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
            good = one(options, &file.machine, algorithms[a], nodes, true, csv) &&
                   one(options, &file.machine, algorithms[a], nodes, false, csv);
        }
    }
    good = nicsim_csv_close(csv, options->csv) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
