/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The communicators of a program, each in a numbered place; 0 is MPI_COMM_WORLD, of each job its
 * own.
 *
 * Who calls it: player.c. A place may hold several communicators that do not overlap, as
 * MPI_Comm_split makes them, and of some processes none. A process knows its own.
 *
 * Processes have numbers: their ranks in MPI_COMM_WORLD, and for those that a step spawns what it
 * says, from SPAWNED on. These begin with the step after it, knowing nothing but their parents.
 *
 * The board is memory that all processes of the job share with the runner: each thread says there
 * which call it has entered. The runner tells by it where a program hangs. The check of a barrier
 * is that every member has entered it.
 *
 * Threads: those that play at the same time use different places.
 */
#ifndef NICBARR_TESTS_PLACES_H
#define NICBARR_TESTS_PLACES_H

#include "program.h"

#include <mpi.h>
#include <stdint.h>

enum { PLACES = 4096, BOARD_THREADS = 8, MAX_RANKS = 160, SPAWNED = 128 };

struct place {
    MPI_Comm comm; /* MPI_COMM_NULL: I am in none */
    bool inter;
    int rank, size, remote_size;                         /* remote_size is 0 unless inter */
    unsigned char members[MAX_RANKS], remote[MAX_RANKS]; /* their numbers */
};

/* What the player was called with. */
struct origin {
    const char *player, *program;
    const char *board;    /* or NULL */
    char *line, *parents; /* NULL, or which step has spawned it, and the numbers of those who did */
};

/* The place that the word `key` of a step names. */
struct place *place_of(const struct step *step, const char *key);
/* Takes in a new communicator. */
void place_set(struct place *place, MPI_Comm comm);

/* Collective: a step that makes or frees communicators. False: it is no such step. */
bool places_play(const struct step *step);
/* Starts MPI_Comm_idup; the place is there once places_idup_done was called. */
void places_idup(const struct step *step, MPI_Comm *comm, MPI_Request *request);

/* test.rank becomes this process's number. `spawning` is the step that has spawned it, or NULL.
 * `origin` must stay. Without a board barriers are not checked. */
void places_open(const struct origin *origin, const struct step *spawning);
/* Frees all but MPI_COMM_WORLD. The program of so many lines may be played again, unless it spawns
 * processes. */
void places_clear(int lines);
/* After places_clear. */
void places_close(void);

/* Which step and iteration a thread is in. */
int64_t board_position(const struct step *step, int iteration);
void board_enter(int thread, int64_t position);
/* Fails unless all members of the communicator have entered this call. */
void board_check(const struct place *place, int thread, int64_t position, const char *how);

#endif
