/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim table: compares the papers' values with the simulated ones, and checks whether the papers'
 * conclusions hold in the simulation.
 *
 * It is deterministic and serves as a test. The exit status is 0 if the mean errors are within
 * their limits, and if all conclusions hold that are not listed as exceptions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/fit.h"

/* Limits of the mean errors. */
#define FITTED_AIM 0.05
#define PREDICTED_AIM 0.10

/* ---- conclusions ---- */

enum { LANAI43, LANAI72, NPII };

static const struct nicbarr_choice pairwise = {.algorithm = NICBARR_PAIRWISE};
static const struct nicbarr_choice best_tree = {.algorithm = NICBARR_TREE};

static double latency(const struct nicsim_papers *papers, int machine, struct nicbarr_choice choice,
                      uint32_t nodes, bool on_nics)
{
    return nicsim_latency_us(&papers->machines[machine].machine, choice, nodes, on_nics, NICSIM_GM);
}

static double factor(const struct nicsim_papers *papers, int machine, uint32_t nodes,
                     enum nicsim_level level)
{
    const struct nicsim_machine *m = &papers->machines[machine].machine;
    return nicsim_latency_us(m, pairwise, nodes, false, level) /
           nicsim_latency_us(m, pairwise, nodes, true, level);
}

static bool pairwise_beats_trees(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t nodes = 4; nodes <= 16; nodes *= 2) {
        for (int nics = 0; nics < 2; ++nics) {
            holds = holds && latency(papers, LANAI43, pairwise, nodes, nics) <
                                 latency(papers, LANAI43, best_tree, nodes, nics);
        }
    }
    return holds;
}

static bool trees_of_nics_beat_hosts(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t nodes = 4; nodes <= 16; nodes *= 2) {
        const double us = latency(papers, LANAI43, best_tree, nodes, true);
        holds = holds && us < latency(papers, LANAI43, best_tree, nodes, false) &&
                us < latency(papers, LANAI43, pairwise, nodes, false);
    }
    return holds;
}

static bool tree_of_two_nics_loses(const struct nicsim_papers *papers)
{
    return latency(papers, LANAI43, best_tree, 2, true) >
           latency(papers, LANAI43, best_tree, 2, false);
}

static bool factor_grows_with_nodes(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (int level = NICSIM_GM; level <= NICSIM_MPI; ++level) {
        for (uint32_t nodes = 2; nodes < 16; nodes *= 2) {
            holds = holds && factor(papers, LANAI43, nodes, (enum nicsim_level)level) <
                                 factor(papers, LANAI43, 2 * nodes, (enum nicsim_level)level);
        }
    }
    return holds;
}

static bool factor_grows_with_the_nics_speed(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t nodes = 4; nodes <= 8; nodes *= 2) {
        holds =
            holds &&
            factor(papers, LANAI43, nodes, NICSIM_GM) < factor(papers, LANAI72, nodes, NICSIM_GM) &&
            factor(papers, LANAI43, nodes, NICSIM_MPI) < factor(papers, LANAI72, nodes, NICSIM_MPI);
    }
    return holds;
}

static bool factor_is_greater_with_mpi(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t nodes = 2; nodes <= 16; nodes *= 2) {
        holds = holds && factor(papers, LANAI43, nodes, NICSIM_GM) <
                             factor(papers, LANAI43, nodes, NICSIM_MPI);
    }
    return holds;
}

static bool other_numbers_cost_extra(const struct nicsim_papers *papers)
{
    return latency(papers, LANAI43, pairwise, 7, true) >
               latency(papers, LANAI43, pairwise, 8, true) &&
           latency(papers, LANAI43, pairwise, 7, false) >
               latency(papers, LANAI43, pairwise, 8, false);
}

/* Returns how many microseconds longer a loop of work with that variation takes with host-based
 * than with NIC-based MPI barriers. */
static double advantage(const struct nicsim_papers *papers, double work_us, double variation)
{
    double us[2] = {0, 0};
    for (int nics = 0; nics < 2; ++nics) {
        const struct nicsim_game game = {
            .machine = &papers->machines[LANAI43].machine,
            .choice = pairwise,
            .nodes = 16,
            .on_nics = nics,
            .level = NICSIM_MPI,
            .warm_up = 4,
            .barriers = 400,
            .work_us = &work_us,
            .works = 1,
            .variation = variation,
            .seed = 1,
        };
        struct nicsim_outcome outcome;
        us[nics] = nicsim_play(&game, &outcome) ? outcome.barrier_us : NAN;
    }
    return us[0] - us[1];
}

static bool hosts_feel_variation_less(const struct nicsim_papers *papers)
{
    const double at_once = advantage(papers, 1024, 0), late = advantage(papers, 1024, 0.2);
    return late < at_once && advantage(papers, 4096, 0.2) < late;
}

static bool nics_win_at_every_variation(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t work_us = 64; work_us <= 4096; work_us *= 4) {
        holds = holds && advantage(papers, work_us, 0.2) > 0;
    }
    return holds;
}

/* Checks whether 10 us of work make a loop less than 10 us longer. */
static bool hosts_have_a_flat_spot(const struct nicsim_papers *papers)
{
    const struct nicsim_machine *m = &papers->machines[LANAI43].machine;
    const double work_us = 10;
    struct nicsim_game game = {.machine = m,
                               .choice = pairwise,
                               .nodes = 8,
                               .level = NICSIM_MPI,
                               .warm_up = 4,
                               .barriers = 16,
                               .works = 1,
                               .work_us = &work_us,
                               .seed = 1};
    struct nicsim_outcome outcome;
    return nicsim_play(&game, &outcome) &&
           outcome.barrier_us < nicsim_latency_us(m, pairwise, 8, false, NICSIM_MPI) + work_us / 2;
}

/* Returns how many times faster NIC-based broadcasts are. */
static double bcast_factor(const struct nicsim_papers *papers, uint32_t nodes, uint32_t bytes)
{
    const struct nicsim_machine *m = &papers->machines[NPII].machine;
    return nicsim_bcast_us(m, nodes, bytes, false) / nicsim_bcast_us(m, nodes, bytes, true);
}

static bool short_broadcasts_gain_a_factor_of_two(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t bytes = 4; bytes <= 512; bytes *= 2) {
        holds = holds && bcast_factor(papers, 8, bytes) > 2;
    }
    return holds;
}

static bool broadcasts_gain_more_with_nodes(const struct nicsim_papers *papers)
{
    bool holds = true;
    for (uint32_t bytes = 64; bytes <= 512; bytes *= 8) {
        for (uint32_t nodes = 2; nodes < 8; nodes *= 2) {
            holds = holds &&
                    bcast_factor(papers, nodes, bytes) < bcast_factor(papers, 2 * nodes, bytes);
        }
    }
    return holds;
}

static const struct {
    const char *text;
    bool (*holds)(const struct nicsim_papers *papers);
    const char *not_because; /* why the conclusion is not expected to hold; NULL: it must hold */
} conclusions[] = {
    {"pairwise exchange beats gather-broadcast on NICs and on hosts", pairwise_beats_trees, NULL},
    {"gather-broadcast on 4 and more NICs beats both on hosts", trees_of_nics_beat_hosts, NULL},
    {"gather-broadcast on 2 NICs loses to that on 2 hosts", tree_of_two_nics_loses,
     "the paper gives no value for it; in the simulation a NIC saves two crossings to the host"},
    {"the factor grows with the number of nodes", factor_grows_with_nodes, NULL},
    {"the factor grows with the NIC's speed", factor_grows_with_the_nics_speed, NULL},
    {"the factor is greater with MPI than with GM", factor_is_greater_with_mpi, NULL},
    {"numbers of nodes that are not powers of two cost extra (7 nodes more than 8)",
     other_numbers_cost_extra, NULL},
    {"varying arrival affects barriers on hosts less", hosts_feel_variation_less, NULL},
    {"barriers on NICs win however arrival varies", nics_win_at_every_variation, NULL},
    {"with barriers on hosts the first microseconds of work cost nothing (the flat spot)",
     hosts_have_a_flat_spot,
     "simulated nodes run in lockstep: a node's last message has been sent when its partner's "
     "arrives"},
    {"short broadcasts are more than twice as fast by NICs (8 nodes)",
     short_broadcasts_gain_a_factor_of_two, NULL},
    {"that factor grows with the number of nodes (64 and 512 bytes)",
     broadcasts_gain_more_with_nodes, NULL},
};

/* ---- the table ---- */

static const char *unit(const struct nicsim_figure *f)
{
    return NICSIM_FACTOR == f->quantity ? "" : " us";
}

/* Evaluates equations 1 to 3 of the GM paper. Returns NAN where they do not apply. */
static double formula(const struct nicsim_figure *f)
{
    if (NICBARR_PAIRWISE != f->choice.algorithm) {
        return NAN;
    }
    const double on_nics = nicsim_formula_us(f->machine, f->nodes, true, f->level);
    const double on_hosts = nicsim_formula_us(f->machine, f->nodes, false, f->level);
    switch (f->quantity) {
    case NICSIM_NIC:
        return on_nics;
    case NICSIM_HOST:
        return on_hosts;
    case NICSIM_FACTOR:
        return on_hosts / on_nics;
    default:
        return NAN;
    }
}

static void print_figure(const struct nicsim_figure *f, FILE *csv)
{
    const char *use = f->fitted ? "fitted" : "predicted";
    const double error = 100 * (f->simulated / f->paper - 1), closed = formula(f);
    char closed_text[20] = "";
    if (!isnan(closed)) {
        snprintf(closed_text, sizeof(closed_text), "%.2f", closed);
    }
    printf("%-42s %9.2f %9.2f%-3s %+6.1f %%  %-9s %9s\n", f->name, f->paper, f->simulated, unit(f),
           error, use, closed_text);
    if (NULL != csv) {
        fprintf(csv, "%s,%.4g,%.4f,%.2f,%s,%s\n", f->name, f->paper, f->simulated, error, use,
                closed_text);
    }
}

static bool print_figures(const struct nicsim_papers *papers, FILE *csv)
{
    printf("%-42s %9s %9s    %8s  %-9s %9s\n", "figure", "paper", "simulated", "error", "use",
           "formula");
    if (NULL != csv) {
        fprintf(csv, "figure,paper,simulated,error_percent,use,formula\n");
    }
    for (uint32_t i = 0; i < papers->count; ++i) {
        print_figure(&papers->figures[i], csv);
    }
    const double fitted = nicsim_papers_error(papers, true);
    const double predicted = nicsim_papers_error(papers, false);
    printf("\nmean error: %.2f %% of what was fitted (aim: %.0f %%), %.2f %% of what was predicted "
           "(aim: %.0f %%)\n\n",
           100 * fitted, 100 * FITTED_AIM, 100 * predicted, 100 * PREDICTED_AIM);
    return fitted < FITTED_AIM && predicted < PREDICTED_AIM;
}

static bool print_conclusions(const struct nicsim_papers *papers, FILE *csv)
{
    bool as_expected = true;
    printf("conclusions of the papers:\n");
    if (NULL != csv) {
        fprintf(csv, "conclusion,here,why_not\n");
    }
    for (size_t c = 0; c < sizeof(conclusions) / sizeof(conclusions[0]); ++c) {
        const char *why = conclusions[c].not_because;
        const bool holds = conclusions[c].holds(papers);
        const char *verdict = holds ? "holds" : "NOT";
        printf("  %-5s %s\n", verdict, conclusions[c].text);
        if (!holds && NULL != why) {
            printf("        (%s)\n", why);
        }
        if (NULL != csv) {
            fprintf(csv, "%s,%s,%s\n", conclusions[c].text, verdict,
                    holds || NULL == why ? "" : why);
        }
        as_expected = as_expected && holds != (NULL != why);
    }
    return as_expected;
}

int nicsim_table_command(const struct nicsim_options *options)
{
    static struct nicsim_papers papers;
    FILE *csv = NULL, *conclusions_csv = NULL;
    if (!nicsim_papers_read(options->data, &papers) || !nicsim_papers_simulate(&papers) ||
        !nicsim_csv_open(options->csv, &csv)) {
        return EXIT_FAILURE;
    }
    bool good = print_figures(&papers, csv);
    good = nicsim_csv_close(csv, options->csv) && good;
    if (!nicsim_csv_open(options->conclusions, &conclusions_csv)) {
        return EXIT_FAILURE;
    }
    good = print_conclusions(&papers, conclusions_csv) && good;
    return nicsim_csv_close(conclusions_csv, options->conclusions) && good ? EXIT_SUCCESS
                                                                           : EXIT_FAILURE;
}

int nicsim_fit_command(const struct nicsim_options *options)
{
    static struct nicsim_papers papers;
    bool good = nicsim_papers_read(options->data, &papers) && nicsim_fit(&papers);
    for (int m = 0; good && m < NICSIM_MACHINES; ++m) {
        good = nicsim_update(&papers.machines[m]);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
