/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program and keeps its output. The doctor calls commands by it. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

struct run {
    int status;      /* as in a shell; 127: there is no such program */
    char *out, *err; /* its output */
};

/* Run argv[0], searched in the PATH, without input, until it ends. Pass the result to
 * run_free(). */
void run_program(char *const argv[], struct run *run);
void run_free(struct run *run);

/* The first line of a text that is not blank, to be freed. */
char *run_first_line(const char *text);

#endif
