/*
 * nicsim scale: each algorithm on one machine against the number of nodes, played by the NICs and
 * by the hosts: latency, packets, memory of a NIC. Powers of two, up to so many nodes.
 *
 * Beside n-way dissemination on hosts stands Hoefler's LoP model: a round costs half of what a 1:n
 * n:1 ping-pong takes, which is simulated as well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/parameters.h"

enum { WARM_UP = 1, BARRIERS = 3 };

static const char *const algorithms[] = {
    "pairwise",        "dissemination:1", "dissemination:2", "dissemination:3",
    "dissemination:4", "dissemination:6", "dissemination:8", "tree:2",
    "tree:4",          "tree:8",          "tree:16",         "tree:32",
};

static bool play(const struct nicsim_options *options, const struct nicsim_machine *machine,
                 struct nicbarr_choice choice, uint32_t nodes, bool on_nics, bool ping_pong,
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

/* NAN where the model says nothing. */
static double lop_us(const struct nicsim_options *options, const struct nicsim_machine *machine,
                     struct nicbarr_choice choice, uint32_t nodes, bool on_nics)
{
    struct nicsim_outcome outcome;
    const uint32_t n = choice.parameter;
    if (on_nics || NICBARR_DISSEMINATION != choice.algorithm || n >= nodes ||
        !play(options, machine, choice, n + 1, false, true, &outcome)) {
        return NAN;
    }
    double rounds = 0;
    for (uint64_t heard = 1; heard < nodes; heard *= n + 1) {
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
    if (!play(options, machine, choice, nodes, on_nics, false, &o)) {
        fprintf(stderr, "nicsim: %s, %u nodes: out of memory, or it did not come to an end\n", name,
                nodes);
        return false;
    }
    const double model = lop_us(options, machine, choice, nodes, on_nics);
    const double packets = (double)o.tally.sent / (WARM_UP + BARRIERS);
    printf("%6u  %-16s %-5s %10.2f %12.0f %8zu", nodes, name, on_nics ? "NICs" : "hosts",
           o.barrier_us, packets, o.group_bytes);
    printf(isnan(model) ? "\n" : " %10.2f\n", model);
    if (NULL != csv) {
        fprintf(csv, "%s,%u,%s,%s,%.3f,%.1f,%zu,", machine->name, nodes, name,
                on_nics ? "nics" : "hosts", o.barrier_us, packets, o.group_bytes);
        fprintf(csv, isnan(model) ? "\n" : "%.3f\n", model);
    }
    return true;
}

int nicsim_scale_command(const struct nicsim_options *options)
{
    struct nicsim_file file;
    char folder[300];
    FILE *csv = NULL;
    snprintf(folder, sizeof(folder), "%s/machines", options->data);
    if (!nicsim_read(folder, options->machine, &file)) {
        return EXIT_FAILURE;
    }
    if (NULL != options->csv && NULL == (csv = fopen(options->csv, "w"))) {
        fprintf(stderr, "nicsim: %s cannot be written\n", options->csv);
        return EXIT_FAILURE;
    }
    if (NULL != csv) {
        fprintf(csv, "machine,nodes,algorithm,player,us,packets,group_bytes,lop_us\n");
    }
    printf("%s: %s\n\n%6s  %-16s %-5s %10s %12s %8s %10s\n", file.machine.name, file.about, "nodes",
           "algorithm", "by", "us", "packets", "bytes", "LoP, us");
    bool good = true;
    for (uint32_t nodes = 2; good && nodes <= options->most; nodes *= 2) {
        for (size_t a = 0; good && a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
            good = one(options, &file.machine, algorithms[a], nodes, true, csv) &&
                   one(options, &file.machine, algorithms[a], nodes, false, csv);
        }
    }
    if (NULL != csv && 0 != fclose(csv)) {
        fprintf(stderr, "nicsim: %s could not be written\n", options->csv);
        good = false;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
