/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim evaluate: repeats the evaluation of Buntinas, Panda and Sadayappan ("Performance benefits
 * of NIC-based barrier on Myrinet/GM", section 4) on a simulated machine. It compares pairwise
 * exchange by the NICs with pairwise exchange by the hosts, both with the overhead of MPI, and
 * writes one CSV table per experiment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/csv.h"
#include "bench/nicsim/paper.h"

enum {
    NODES_MOST = 16,
    GRAIN_NODES = 8,
    WARM_UP = 4,
    BARRIERS = 16,     /* all of which take the same time */
    VARYING_RUNS = 400 /* barriers where arrival varies randomly */
};

static const struct nicbarr_choice pairwise = {.algorithm = NICBARR_PAIRWISE};

struct player {
    const char *name;
    bool on_nics;
};
static const struct player players[] = {{"nic", true}, {"host", false}};
enum { PLAYERS = 2 };

struct experiment {
    const struct nicsim_options *options;
    const struct nicsim_machine *machine;
    FILE *csv;
};

/* Returns the mean time in microseconds of a barrier with the computation before it, in a loop that
 * computes for works[0], works[1], ... with a barrier after each. Returns a negative number if the
 * simulation fails. */
static double loop_us(const struct experiment *x, uint32_t nodes, bool on_nics, const double *works,
                      uint32_t nworks, double variation, uint32_t barriers)
{
    const struct nicsim_game game = {
        .machine = x->machine,
        .choice = pairwise,
        .nodes = nodes,
        .on_nics = on_nics,
        .level = NICSIM_MPI,
        .warm_up = nworks > WARM_UP ? nworks : WARM_UP,
        .barriers = barriers,
        .work_us = works,
        .works = nworks,
        .variation = variation,
        .seed = x->options->game.seed,
    };
    struct nicsim_outcome outcome;
    return nicsim_play(&game, &outcome) && outcome.finished == nodes ? outcome.barrier_us : -1;
}

/* Figure 5: latency by number of nodes. */
static bool latency(const struct experiment *x)
{
    fprintf(x->csv, "nodes,nic_us,host_us,factor\n");
    for (uint32_t nodes = 2; nodes <= NODES_MOST; ++nodes) {
        double us[PLAYERS];
        for (int p = 0; p < PLAYERS; ++p) {
            us[p] = nicsim_latency_us(x->machine, pairwise, nodes, players[p].on_nics, NICSIM_MPI);
            if (us[p] < 0) {
                return false;
            }
        }
        fprintf(x->csv, "%u,%.3f,%.3f,%.4f\n", nodes, us[0], us[1], us[1] / us[0]);
    }
    return true;
}

/* Figure 6: the time of a loop by the computation in it. */
static bool granularity(const struct experiment *x)
{
    fprintf(x->csv, "# %d nodes\nwork_us,nic_us,host_us\n", (int)GRAIN_NODES);
    for (uint32_t grain = 0; grain <= 130; grain += 5) {
        const double work_us = 0 == grain ? 1.5 : grain;
        double us[PLAYERS];
        for (int p = 0; p < PLAYERS; ++p) {
            us[p] = loop_us(x, GRAIN_NODES, players[p].on_nics, &work_us, 1, 0, BARRIERS);
            if (us[p] < 0) {
                return false;
            }
        }
        fprintf(x->csv, "%g,%.3f,%.3f\n", work_us, us[0], us[1]);
    }
    return true;
}

/* Figure 7: the shortest loop that reaches an efficiency. */
static bool efficiency(const struct experiment *x)
{
    static const uint32_t percents[] = {25, 50, 75, 90};
    const size_t count = sizeof(percents) / sizeof(percents[0]);
    fprintf(x->csv, "nodes");
    for (size_t e = 0; e < count; ++e) {
        fprintf(x->csv, ",nic_%u_us,host_%u_us", percents[e], percents[e]);
    }
    fprintf(x->csv, "\n");
    for (uint32_t nodes = 2; nodes <= NODES_MOST; nodes *= 2) {
        fprintf(x->csv, "%u", nodes);
        for (size_t e = 0; e < count; ++e) {
            for (int p = 0; p < PLAYERS; ++p) {
                const double us = nicsim_loop_us(x->machine, pairwise, nodes, players[p].on_nics,
                                                 percents[e] / 100.0);
                if (us < 0) {
                    return false;
                }
                fprintf(x->csv, ",%.2f", us);
            }
        }
        fprintf(x->csv, "\n");
    }
    return true;
}

/* Figures 8 and 9: computation that varies between processes. */
static bool arrival(const struct experiment *x)
{
    fprintf(x->csv, "# %d nodes; computing varies by so much about its mean\n", (int)NODES_MOST);
    fprintf(x->csv, "work_us,variation_percent,nic_us,host_us,difference_us\n");
    for (uint32_t mean = 64; mean <= 4096; mean *= 2) {
        const double work_us = mean;
        for (uint32_t percent = 0; percent <= 20; percent += 5) {
            double us[PLAYERS];
            for (int p = 0; p < PLAYERS; ++p) {
                us[p] = loop_us(x, NODES_MOST, players[p].on_nics, &work_us, 1, percent / 100.0,
                                VARYING_RUNS);
                if (us[p] < 0) {
                    return false;
                }
            }
            fprintf(x->csv, "%g,%u,%.3f,%.3f,%.3f\n", work_us, percent, us[0], us[1],
                    us[1] - us[0]);
        }
    }
    return true;
}

/* Parses up to `most` numbers separated by blanks. Returns how many there are. */
static uint32_t numbers(const char *text, double *number, uint32_t most)
{
    uint32_t count = 0;
    char *end;
    for (double next = strtod(text, &end); end != text && count < most; next = strtod(text, &end)) {
        number[count++] = next;
        text = end;
    }
    return count;
}

/* Simulates one synthetic application by number of nodes. */
static bool application(const struct experiment *x, const char *name, const char *steps)
{
    enum { STEPS_MOST = 40 };
    double works[STEPS_MOST], compute_us = 0;
    const uint32_t count = numbers(steps, works, STEPS_MOST);
    for (uint32_t s = 0; s < count; ++s) {
        compute_us += works[s];
    }
    for (uint32_t nodes = 2; 0 != count && nodes <= NODES_MOST; nodes *= 2) {
        double us[PLAYERS];
        for (int p = 0; p < PLAYERS; ++p) {
            us[p] = loop_us(x, nodes, players[p].on_nics, works, count, 0.10,
                            VARYING_RUNS / count * count) *
                    count;
            if (us[p] < 0) {
                return false;
            }
        }
        fprintf(x->csv, "%s,%u,%g,%.2f,%.2f,%.4f,%.4f,%.4f\n", name, nodes, compute_us, us[0],
                us[1], us[1] / us[0], compute_us / us[0], compute_us / us[1]);
    }
    if (0 == count) {
        fprintf(stderr, "nicsim: the application %s has no steps\n", name);
    }
    return 0 != count;
}

/* Figure 10: synthetic applications. */
static bool applications(const struct experiment *x)
{
    struct csv csv;
    char path[300];
    snprintf(path, sizeof(path), "%s/paper/synthetic_apps.csv", x->options->data);
    bool good = csv_read(path, &csv);
    fprintf(x->csv, "# each node's computing varies by 10 %%\napplication,nodes,compute_us,nic_us,"
                    "host_us,factor,nic_efficiency,host_efficiency\n");
    for (uint32_t row = 0; good && row < csv.rows; ++row) {
        good = application(x, csv_text(&csv, row, "app"), csv_text(&csv, row, "steps_us"));
    }
    return good;
}

static const struct {
    const char *name; /* name of the experiment's table */
    bool (*run)(const struct experiment *x);
} experiments[] = {
    {"latency", latency}, {"granularity", granularity},   {"efficiency", efficiency},
    {"arrival", arrival}, {"applications", applications},
};

int nicsim_evaluate_command(const struct nicsim_options *options)
{
    struct nicsim_file file;
    char path[300];
    bool good = true;
    if (!nicsim_read_machine(options->data, options->machine, &file)) {
        return EXIT_FAILURE;
    }
    printf("%s: %s\n\n", file.machine.name, file.about);
    for (size_t e = 0; good && e < sizeof(experiments) / sizeof(experiments[0]); ++e) {
        struct experiment x = {options, &file.machine, NULL};
        snprintf(path, sizeof(path), "%s/%s.csv", options->csv_dir, experiments[e].name);
        if (!nicsim_csv_open(path, &x.csv)) {
            return EXIT_FAILURE;
        }
        good = experiments[e].run(&x);
        if (!good) {
            fprintf(stderr, "nicsim: %s: out of memory, or the simulation did not finish\n",
                    experiments[e].name);
        }
        good = nicsim_csv_close(x.csv, path) && good;
        printf("%s\n", path);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
