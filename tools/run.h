/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a program, and having what it says; for the doctor's questions to others' commands. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

struct run {
    int status;      /* as a shell would have it; 127: there is no such program */
    char *out, *err; /* what it wrote */
};

/* Run argv[0], found in the PATH, without input, until it ends. Give the result to run_free(). */
void run_program(char *const argv[], struct run *run);
void run_free(struct run *run);

/* The first line of a text that has any letters, to be freed. */
char *run_first_line(const char *text);

#endif
