/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program and captures its output. `nicbarr doctor` calls other commands in this way. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

struct run {
    int status;      /* exit status as in a shell; 127: there is no such program */
    char *out, *err; /* its output */
};

/* Runs argv[0], searched in the PATH, without input, until it ends. The caller must release the
 * result with run_free(). */
void run_program(char *const argv[], struct run *run);
void run_free(struct run *run);

/* Returns the first line of a text that is not blank. The caller frees it. */
char *run_first_line(const char *text);

#endif
