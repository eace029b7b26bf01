/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated machine's parameters: a JSON file for each machine, each number with where it comes
 * from.
 *
 *     {"name": "LANai 7.2", "like": "lanai43", "about": "...",
 *      "parameters": {"nic_mhz": {"value": 66, "source": "..."},
 *                     "cycles_send": {"value": 210.5, "source": "fitted", "fitted": true}}}
 *
 * What a file does not say is as in the machine that it is like. What play.h and
 * firmware/sim/machine.h say of a parameter holds; each has the same name here.
 */
#ifndef NICSIM_PARAMETERS_H
#define NICSIM_PARAMETERS_H

#include "bench/nicsim/play.h"

enum { NICSIM_PARAMETERS_MOST = 40 };

/* The parameters there are, in order; NULL after the last. */
const char *nicsim_parameter_name(uint32_t number);
double *nicsim_parameter(struct nicsim_machine *machine, uint32_t number);

/* What a file says of one of them. */
struct nicsim_source {
    char text[160];
    bool fitted;
};

struct nicsim_file {
    struct nicsim_machine machine;
    char path[256];
    char about[400];
    struct nicsim_source sources[NICSIM_PARAMETERS_MOST]; /* of each parameter */
    bool said[NICSIM_PARAMETERS_MOST];                    /* by this file itself */
};

/* Read DIRECTORY/NAME.json. False after a line on standard error that says what is wrong. */
bool nicsim_read(const char *directory, const char *name, struct nicsim_file *file);

/* The same for a machine of the folder with nicsim's data; where there is none of that name, the
 * line names those that there are. */
bool nicsim_read_machine(const char *data, const char *name, struct nicsim_file *file);

/* Put the present values of a file's fitted parameters into it. */
bool nicsim_update(const struct nicsim_file *file);

#endif
