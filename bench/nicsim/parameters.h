/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of simulated machines. Each machine has a JSON file, with the source of each
 * number:
 *
 *     {"name": "LANai 7.2", "like": "lanai43", "about": "...",
 *      "parameters": {"nic_mhz": {"value": 66, "source": "..."},
 *                     "cycles_send": {"value": 210.5, "source": "fitted", "fitted": true}}}
 *
 * A file inherits all other values from the machine in `like`. play.h and firmware/sim/machine.h
 * describe the parameters, which have the same names here.
 */
#ifndef NICSIM_PARAMETERS_H
#define NICSIM_PARAMETERS_H

#include "bench/nicsim/play.h"

enum { NICSIM_PARAMETERS_MOST = 40 };

/* Returns the name of a parameter by its number, or NULL after the last parameter. */
const char *nicsim_parameter_name(uint32_t number);
double *nicsim_parameter(struct nicsim_machine *machine, uint32_t number);

/* The source of a parameter's value. */
struct nicsim_source {
    char text[160];
    bool fitted;
};

struct nicsim_file {
    struct nicsim_machine machine;
    char path[256];
    char about[400];
    struct nicsim_source sources[NICSIM_PARAMETERS_MOST]; /* of each parameter */
    bool given[NICSIM_PARAMETERS_MOST];                   /* set by this file itself, not
                                                             inherited */
};

/* Reads DIRECTORY/NAME.json. On failure prints a message on standard error and returns false. */
bool nicsim_read(const char *directory, const char *name, struct nicsim_file *file);

/* Reads a machine's file in the directory with nicsim's data. If there is no machine of that name,
 * the message lists those that exist. */
bool nicsim_read_machine(const char *data, const char *name, struct nicsim_file *file);

/* Writes the current values of fitted parameters into the machine's file. */
bool nicsim_update(const struct nicsim_file *file);

#endif
