/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a test program from a file, which has one step per line, the same for all ranks.
 *
 * player.c reads the file; other files query the words of a step. machine/program.py writes such
 * files, and ensures that they are legal MPI, which the player does not check.
 *
 *   # a comment; lines that begin with @ are for the script that runs the program
 *   12 coll what=allreduce how=b c=0 type=MPI_INT op=MPI_SUM n=3 times=20
 *
 * The number in front identifies the step. All data, roots and delays of a step depend on this
 * number and not on its line, so that a step does the same when others are removed.
 *
 * Threads: steps are constant after program_read.
 */
#ifndef NICBARR_TESTS_PROGRAM_H
#define NICBARR_TESTS_PROGRAM_H

#include <stdbool.h>

enum { STEP_WORDS = 24, STEP_ITERATIONS = 1024 };

struct step {
    int line; /* of the steps, from 1 */
    unsigned id;
    const char *kind;
    int n_words;
    struct {
        const char *key, *value;
    } words[STEP_WORDS];
};

struct program {
    char *text;
    struct step *steps;
    int n_steps;
    bool threads; /* it has a step `fork` */
};

/* Reads the whole file; exits with a message if it cannot. */
void program_read(struct program *program, const char *path);
void program_free(struct program *program);

/* Returns the value of a word, or `otherwise` if the step does not have it. */
const char *step_word(const struct step *step, const char *key, const char *otherwise);
long step_number(const struct step *step, const char *key, long otherwise);
bool step_is(const struct step *step, const char *key, const char *value);

#endif
