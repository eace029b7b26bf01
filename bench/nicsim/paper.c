/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison of the papers with the simulator; see paper.h. */
#include "bench/nicsim/paper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/nicsim/csv.h"

enum { WARM_UP = 4, BARRIERS = 16, SEED = 1 };

/* ---- simulation ---- */

static bool play_paper_game(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                            uint32_t nodes, bool on_nics, enum nicsim_level level, double work_us,
                            double *loop_us)
{
    const struct nicsim_game game = {
        .machine = machine,
        .choice = choice,
        .nodes = nodes,
        .on_nics = on_nics,
        .level = level,
        .warm_up = WARM_UP,
        .barriers = BARRIERS,
        .work_us = &work_us,
        .works = work_us > 0,
        .seed = SEED,
    };
    struct nicsim_outcome outcome;
    const bool good = nicsim_play(&game, &outcome) && outcome.finished == nodes;
    *loop_us = outcome.barrier_us;
    return good;
}

double nicsim_latency_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                         uint32_t nodes, bool on_nics, enum nicsim_level level)
{
    const bool any = NICBARR_TREE == choice.algorithm && 0 == choice.parameter;
    double best_us = INFINITY;
    for (uint32_t d = 1; d < nodes; ++d) {
        double us;
        choice.parameter = any ? d : choice.parameter;
        if (!play_paper_game(machine, choice, nodes, on_nics, level, 0, &us)) {
            return -1;
        }
        best_us = us < best_us ? us : best_us;
        if (!any) {
            break;
        }
    }
    return best_us;
}

/* Iterates over the amount of work. The iteration converges within a few steps, because the
 * duration of the barrier hardly depends on the work before it. */
double nicsim_loop_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                      uint32_t nodes, bool on_nics, double efficiency)
{
    double work_us = 100, loop_us = 0;
    for (int i = 0; i < 20; ++i) {
        if (!play_paper_game(machine, choice, nodes, on_nics, NICSIM_MPI, work_us, &loop_us)) {
            return -1;
        }
        const double barrier_us = loop_us - work_us;
        const double next_us = barrier_us * efficiency / (1 - efficiency);
        if (fabs(next_us - work_us) < 1e-3 * work_us) {
            break;
        }
        work_us = next_us;
    }
    return loop_us;
}

static bool play_bcast(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                       uint32_t answer_bytes, bool on_nics, struct nicsim_bcast_outcome *outcome)
{
    const struct nicsim_bcast_game game = {
        .machine = machine,
        .nodes = nodes,
        .bytes = bytes,
        .on_nics = on_nics,
        .fan_out = 1,
        .level = NICSIM_MPI,
        .answered = true,
        .answer_bytes = answer_bytes,
        .warm_up = WARM_UP,
        .broadcasts = BARRIERS,
        .seed = SEED,
    };
    return nicsim_play_bcast(&game, outcome) && outcome->finished == nodes;
}

/* Returns the latency of an empty message between two hosts. */
static double answer_us(const struct nicsim_machine *machine)
{
    struct nicsim_bcast_outcome outcome;
    return play_bcast(machine, 2, 0, 0, false, &outcome) ? outcome.round_us / 2 : -1;
}

double nicsim_bcast_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                       bool on_nics)
{
    struct nicsim_bcast_outcome outcome;
    const double us = answer_us(machine);
    return us > 0 && play_bcast(machine, nodes, bytes, 0, on_nics, &outcome) ? outcome.round_us - us
                                                                             : -1;
}

double nicsim_bcast_root_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                            bool on_nics)
{
    struct nicsim_bcast_outcome outcome;
    return play_bcast(machine, nodes, bytes, 0, on_nics, &outcome) ? outcome.root_us : -1;
}

static bool play_messages(struct nicsim_messages_game game, struct nicsim_messages_outcome *outcome)
{
    game.warm_up = WARM_UP;
    game.rounds = BARRIERS;
    game.seed = SEED;
    return nicsim_play_messages(&game, outcome) && outcome->finished == game.nodes;
}

double nicsim_unicast_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t bytes)
{
    enum { WIDTH = 16 }; /* without effect, because there is one message at a time */
    struct nicsim_messages_outcome outcome;
    return play_messages((struct nicsim_messages_game){.machine = machine,
                                                       .script = NICSIM_PING_PONG,
                                                       .structure = structure,
                                                       .nodes = 2,
                                                       .bytes = bytes,
                                                       .width = WIDTH},
                         &outcome)
               ? outcome.round_us / 2
               : -1;
}

double nicsim_waiting_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t nodes, uint32_t width, bool open)
{
    struct nicsim_messages_outcome outcome;
    return play_messages((struct nicsim_messages_game){.machine = machine,
                                                       .script = NICSIM_WAITING,
                                                       .structure = structure,
                                                       .nodes = nodes,
                                                       .width = width,
                                                       .open = open},
                         &outcome)
               ? outcome.receive_us
               : -1;
}

double nicsim_formula_us(const struct nicsim_machine *machine, uint32_t nodes, bool on_nics,
                         enum nicsim_level level)
{
    const struct sim_parameters *p = &machine->nic;
    const bool mpi = NICSIM_MPI == level;
    const double cycle_us = 1 / p->nic_mhz, steps = ceil(log2(nodes));
    const double bytes = mpi && !on_nics ? machine->mpi_envelope_bytes : 0;
    const double payload_us =
        bytes > 0 ? p->cycles_dma * cycle_us + p->dma_us + bytes / p->dma_bytes_per_us : 0;
    const double packet = (on_nics ? MCP_COLLECTIVE_BYTES : MCP_MESSAGE_BYTES) + bytes;
    const double turn = p->cycles_turn * cycle_us, loop = p->cycles_loop * cycle_us;
    const double call = p->host_call_us;
    const double send = call + (mpi ? machine->mpi_send_us : 0) + p->doorbell_us,
                 sdma = loop + turn;
    const double network = turn + payload_us + p->switch_us + 2 * p->cable_us +
                           (packet + p->link_header_bytes) / p->link_bytes_per_us;
    const double recv = loop + turn + (on_nics ? p->cycles_engine * cycle_us : 0);
    const double rdma =
        turn + payload_us + p->dma_us + sizeof(struct mcp_event) / p->dma_bytes_per_us;
    const double hrecv = call + (mpi ? machine->mpi_receive_us : 0);
    return on_nics ? send + sdma + steps * (network + recv) + rdma + hrecv
                   : steps * (send + sdma + network + recv + rdma + hrecv);
}

static double simulate(const struct nicsim_figure *f)
{
    const struct nicsim_machine *m = f->machine;
    const bool create = NICSIM_CREATE_NIC == f->quantity || NICSIM_CREATE_HOST == f->quantity;
    const double create_us = create ? m->create_us + m->create_node_us * f->nodes : 0;
    switch (f->quantity) {
    case NICSIM_NIC:
    case NICSIM_CREATE_NIC:
        return create_us + nicsim_latency_us(m, f->choice, f->nodes, true, f->level);
    case NICSIM_HOST:
    case NICSIM_CREATE_HOST:
        return create_us + nicsim_latency_us(m, f->choice, f->nodes, false, f->level);
    case NICSIM_FACTOR:
        return nicsim_latency_us(m, f->choice, f->nodes, false, f->level) /
               nicsim_latency_us(m, f->choice, f->nodes, true, f->level);
    case NICSIM_OVERHEAD:
        return nicsim_latency_us(m, f->choice, f->nodes, true, NICSIM_MPI) -
               nicsim_latency_us(m, f->choice, f->nodes, true, NICSIM_GM);
    case NICSIM_LOOP_NIC:
        return nicsim_loop_us(m, f->choice, f->nodes, true, f->efficiency);
    case NICSIM_LOOP_HOST:
        return nicsim_loop_us(m, f->choice, f->nodes, false, f->efficiency);
    case NICSIM_UNICAST:
        return nicsim_unicast_us(m, NICSIM_LISTS, f->bytes);
    case NICSIM_OPEN:
        return nicsim_waiting_us(m, NICSIM_LISTS, f->nodes, f->width, true);
    case NICSIM_NAMED:
        return nicsim_waiting_us(m, NICSIM_LISTS, f->nodes, f->width, false);
    case NICSIM_BCAST_NIC:
        return nicsim_bcast_us(m, f->nodes, f->bytes, true);
    case NICSIM_BCAST_HOST:
        return nicsim_bcast_us(m, f->nodes, f->bytes, false);
    case NICSIM_ROOT_NIC:
        return nicsim_bcast_root_us(m, f->nodes, f->bytes, true);
    case NICSIM_ROOT_HOST:
        return nicsim_bcast_root_us(m, f->nodes, f->bytes, false);
    }
    return -1;
}

bool nicsim_figure_simulate(struct nicsim_figure *figure)
{
    figure->simulated = simulate(figure);
    if (figure->simulated <= 0) {
        fprintf(stderr, "nicsim: %s: out of memory\n", figure->name);
    }
    return figure->simulated > 0;
}

bool nicsim_papers_simulate(struct nicsim_papers *papers)
{
    for (uint32_t i = 0; i < papers->count; ++i) {
        if (!nicsim_figure_simulate(&papers->figures[i])) {
            return false;
        }
    }
    return true;
}

double nicsim_papers_error(const struct nicsim_papers *papers, bool fitted)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < papers->count; ++i) {
        const struct nicsim_figure *f = &papers->figures[i];
        if (f->fitted == fitted) {
            sum += fabs(f->simulated / f->paper - 1);
            ++count;
        }
    }
    return 0 == count ? 0 : sum / count;
}

/* ---- the papers' figures ---- */

/* Returns the machine of a row, by the paper's name of its NIC, or -1 if it is not simulated. */
static int machine_of(const char *nic)
{
    static const char *const nics[NICSIM_MACHINES] = {"LANai4.3", "LANai7.2", "LANai4.x"};
    int m = NICSIM_MACHINES - 1;
    while (m >= 0 && 0 != strcmp(nic, nics[m])) {
        --m;
    }
    return m;
}

static struct nicbarr_choice choice_of(const char *algorithm)
{
    struct nicbarr_choice choice = {.algorithm = NICBARR_PAIRWISE};
    if (0 == strncmp(algorithm, "GB", 2)) {
        choice.algorithm = NICBARR_TREE;
        choice.parameter = 0 == strcmp(algorithm, "GB-binary") ? 2 : 0;
    }
    return choice;
}

/* Adds the value in a column of a row, unless the field is empty. If there is no column `nodes`,
 * figure.nodes must be set. */
static void add_figure(struct nicsim_papers *papers, const struct csv *csv, uint32_t row,
                       const char *column, const char *name, struct nicsim_figure figure)
{
    double nodes = figure.nodes;
    if (!csv_number(csv, row, column, &figure.paper) ||
        (0 == figure.nodes && !csv_number(csv, row, "nodes", &nodes)) || figure.number < 0 ||
        papers->count == NICSIM_FIGURES_MOST) {
        return;
    }
    figure.machine = &papers->machines[figure.number].machine;
    figure.nodes = (uint32_t)nodes;
    snprintf(figure.name, sizeof(figure.name), "%s:%u:%s", name, figure.nodes, column);
    papers->figures[papers->count++] = figure;
}

static void add_latencies(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        const char *nic = csv_text(csv, row, "nic"), *level = csv_text(csv, row, "level");
        const char *algorithm = csv_text(csv, row, "algorithm");
        struct nicsim_figure figure = {
            .number = machine_of(nic),
            .level = 0 == strcmp(level, "mpi") ? NICSIM_MPI : NICSIM_GM,
            .choice = choice_of(algorithm),
        };
        char name[80];
        snprintf(name, sizeof(name), "barrier:%.12s:%.4s:%.12s", nic, level, algorithm);
        figure.quantity = NICSIM_NIC;
        add_figure(papers, csv, row, "nic_us", name, figure);
        figure.quantity = NICSIM_HOST;
        add_figure(papers, csv, row, "host_us", name, figure);
        if ('\0' == csv_text(csv, row, "host_us")[0]) { /* otherwise the factor follows from both */
            figure.quantity = NICSIM_FACTOR;
            add_figure(papers, csv, row, "factor", name, figure);
        }
    }
}

static void add_overheads(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        char name[80];
        const char *nic = csv_text(csv, row, "nic");
        snprintf(name, sizeof(name), "overhead:%.12s", nic);
        add_figure(papers, csv, row, "overhead_us", name,
                   (struct nicsim_figure){.number = machine_of(nic),
                                          .quantity = NICSIM_OVERHEAD,
                                          .choice = choice_of("PE")});
    }
}

static void add_loops(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        char name[80];
        const char *nic = csv_text(csv, row, "nic"), *part = csv_text(csv, row, "efficiency");
        struct nicsim_figure figure = {.number = machine_of(nic), .choice = choice_of("PE")};
        snprintf(name, sizeof(name), "granularity:%.12s:%.4s", nic, part);
        if (csv_number(csv, row, "efficiency", &figure.efficiency)) {
            figure.quantity = NICSIM_LOOP_NIC;
            add_figure(papers, csv, row, "nic_us", name, figure);
            figure.quantity = NICSIM_LOOP_HOST;
            add_figure(papers, csv, row, "host_us", name, figure);
        }
    }
}

static void add_creations(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        struct nicsim_figure figure = {.number = machine_of("LANai4.x"),
                                       .level = NICSIM_MPI,
                                       .choice = choice_of("GB-binary")};
        figure.quantity = NICSIM_CREATE_NIC;
        add_figure(papers, csv, row, "nic_us", "create:LANai4.x", figure);
        figure.quantity = NICSIM_CREATE_HOST;
        add_figure(papers, csv, row, "host_us", "create:LANai4.x", figure);
    }
}

/* Adds a row about messages or broadcasts of MPI-NP II+. */
static void add_bytes(struct nicsim_papers *papers, const struct csv *csv, uint32_t row,
                      const char *column, const char *name, uint32_t nodes,
                      enum nicsim_quantity quantity)
{
    char full[80];
    double bytes;
    if (csv_number(csv, row, "bytes", &bytes)) {
        snprintf(full, sizeof(full), "%s:LANai4.x:%.0f", name, bytes);
        add_figure(papers, csv, row, column, full,
                   (struct nicsim_figure){.number = machine_of("LANai4.x"),
                                          .quantity = quantity,
                                          .level = NICSIM_MPI,
                                          .nodes = nodes,
                                          .bytes = (uint32_t)bytes});
    }
}

/* Adds a row about a broadcast if the thesis calls its message small (section 4.1). Longer
 * broadcasts use another protocol, which is not simulated. */
static void add_small(struct nicsim_papers *papers, const struct csv *csv, uint32_t row,
                      const char *column, const char *name, uint32_t nodes,
                      enum nicsim_quantity quantity)
{
    enum { SMALL = 512 };
    double bytes;
    if (csv_number(csv, row, "bytes", &bytes) && bytes <= SMALL) {
        add_bytes(papers, csv, row, column, name, nodes, quantity);
    }
}

static void add_unicasts(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        add_bytes(papers, csv, row, "latency_us", "unicast", 2, NICSIM_UNICAST);
    }
}

static void add_waiting(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        char name[80];
        double width;
        if (csv_number(csv, row, "width", &width)) {
            struct nicsim_figure figure = {
                .number = machine_of("LANai4.x"), .level = NICSIM_MPI, .width = (uint32_t)width};
            snprintf(name, sizeof(name), "waiting:LANai4.x:%u", figure.width);
            figure.quantity = NICSIM_OPEN;
            add_figure(papers, csv, row, "open_us", name, figure);
            figure.quantity = NICSIM_NAMED;
            add_figure(papers, csv, row, "named_us", name, figure);
        }
    }
}

static void add_bcasts(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        add_small(papers, csv, row, "nic_us", "bcast", 8, NICSIM_BCAST_NIC);
        add_small(papers, csv, row, "host_us", "bcast", 8, NICSIM_BCAST_HOST);
    }
}

/* Adds the durations of the root's call. The thesis's case 1 is omitted: there the root waits for
 * acknowledgements, which nicbarr's protocol does not have. */
static void add_roots(struct nicsim_papers *papers, const struct csv *csv)
{
    for (uint32_t row = 0; row < csv->rows; ++row) {
        add_small(papers, csv, row, "nic_case2_us", "root", 7, NICSIM_ROOT_NIC);
        add_small(papers, csv, row, "host_us", "root", 7, NICSIM_ROOT_HOST);
    }
}

/* Reads the names of the values to which parameters are fitted, one per line. */
static bool read_fitted(const char *data, struct nicsim_papers *papers)
{
    char path[300], line[200];
    bool good = true;
    snprintf(path, sizeof(path), "%s/paper/fitted.txt", data);
    FILE *file = fopen(path, "r");
    if (NULL == file) {
        fprintf(stderr, "nicsim: %s cannot be read\n", path);
        return false;
    }
    while (good && NULL != fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        uint32_t i = 0;
        while (i < papers->count && 0 != strcmp(line, papers->figures[i].name)) {
            ++i;
        }
        if (i < papers->count) {
            papers->figures[i].fitted = true;
        } else if ('\0' != line[0] && '#' != line[0]) {
            fprintf(stderr, "nicsim: %s: there is no published value \"%s\"\n", path, line);
            good = false;
        }
    }
    fclose(file);
    return good;
}

bool nicsim_papers_read(const char *data, struct nicsim_papers *papers)
{
    static const char *const names[NICSIM_MACHINES] = {"lanai43", "lanai72", "npii"};
    static const struct {
        const char *file;
        void (*add)(struct nicsim_papers *papers, const struct csv *csv);
    } tables[] = {{"barrier_latency", add_latencies}, {"mpi_overhead", add_overheads},
                  {"granularity", add_loops},         {"comm_create", add_creations},
                  {"unicast", add_unicasts},          {"waiting", add_waiting},
                  {"bcast_latency", add_bcasts},      {"bcast_root_overhead", add_roots}};
    char path[300];
    memset(papers, 0, sizeof(*papers));
    for (int m = 0; m < NICSIM_MACHINES; ++m) {
        if (!nicsim_read_machine(data, names[m], &papers->machines[m])) {
            return false;
        }
    }
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); ++t) {
        struct csv csv;
        snprintf(path, sizeof(path), "%s/paper/%s.csv", data, tables[t].file);
        if (!csv_read(path, &csv)) {
            return false;
        }
        tables[t].add(papers, &csv);
    }
    return read_fitted(data, papers);
}
