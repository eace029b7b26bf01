/* What nicsim.c hands over to: each of its commands. They return a program's exit status. */
#ifndef NICSIM_COMMANDS_H
#define NICSIM_COMMANDS_H

#include "bench/nicsim/play.h"

struct nicsim_options {
    const char *data;    /* folder with machines and the papers' figures */
    const char *csv;     /* write the table there, too; NULL: no */
    const char *machine; /* its file's name */
    struct nicsim_game game;
    uint32_t most; /* nodes, of a study */
};

/* One game, and all that is counted in it. */
int nicsim_barrier_command(const struct nicsim_options *options);

/* The papers' figures beside the simulator's, and whether their conclusions hold. Fails where the
 * errors are greater than they may be, or a conclusion does not hold that should. */
int nicsim_table_command(const struct nicsim_options *options);

/* Fit the machines' parameters and write their files. */
int nicsim_fit_command(const struct nicsim_options *options);

/* Latency, messages and memory of every algorithm against the number of nodes. */
int nicsim_scale_command(const struct nicsim_options *options);

#endif
