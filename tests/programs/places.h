/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The communicators of a program, each in a numbered place; place 0 is the MPI_COMM_WORLD of each
 * job. player.c uses it.
 *
 * A place may hold several communicators that do not overlap, as MPI_Comm_split creates them, and
 * none for some processes. Each process has one of them.
 *
 * Processes are numbered: by their ranks in MPI_COMM_WORLD, and from SPAWNED on for processes that
 * a step spawns. Spawned processes start with the next step, and know only their parents.
 *
 * The board is memory that all processes of the job share with the script that runs them: each
 * thread records there which call it has entered, so that the script can report where a program
 * hangs. It also serves to check a barrier, which every member must have entered.
 *
 * Threads: those that run at the same time use different places.
 */
#ifndef NICBARR_TESTS_PLACES_H
#define NICBARR_TESTS_PLACES_H

#include "program.h"

#include <mpi.h>
#include <stdint.h>

enum { PLACES = 4096, BOARD_THREADS = 8, MAX_RANKS = 160, SPAWNED = 128 };

struct place {
    MPI_Comm comm; /* MPI_COMM_NULL if this process is in none */
    bool inter;
    int rank, size, remote_size;                         /* remote_size is 0 unless inter */
    unsigned char members[MAX_RANKS], remote[MAX_RANKS]; /* the processes' numbers */
};

/* The player's arguments. */
struct origin {
    const char *player, *program;
    const char *board;    /* or NULL */
    char *line, *parents; /* NULL, or the spawning step, and the parents' numbers */
};

/* Returns the place that the word `key` of a step names. */
struct place *place_of(const struct step *step, const char *key);

void place_set(struct place *place, MPI_Comm comm);

/* Executes a step that creates or frees communicators. Collective. Returns false for other
 * steps. */
bool places_play(const struct step *step);
/* Starts MPI_Comm_idup. player.c sets the place when the request is complete. */
void places_idup(const struct step *step, MPI_Comm *comm, MPI_Request *request);

/* Opens the places, and sets test.rank to this process's number. `spawning` is the step that has
 * spawned it, or NULL. `origin` must stay valid. Without a board barriers are not checked. */
void places_open(const struct origin *origin, const struct step *spawning);
/* Frees all communicators but MPI_COMM_WORLD. After that a program of `lines` lines can be
 * executed again, unless it spawns processes. */
void places_clear(int lines);
/* Closes the places. To be called after places_clear. */
void places_close(void);

/* Returns the position of a thread: its step and iteration. */
int64_t board_position(const struct step *step, int iteration);
void board_enter(int thread, int64_t position);
/* Returns whether the thread of a process has entered this call, or a later one. */
bool board_entered(int process, int thread, int64_t position);
/* Fails unless all members of the communicator have entered this call. */
void board_check(const struct place *place, int thread, int64_t position, const char *how);

#endif
