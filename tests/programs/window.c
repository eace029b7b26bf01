/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication on a window; see window.h. */
#include "window.h"
#include "../mpi/common.h"
#include "collective.h"
#include "window_parts.h"

#include <stdlib.h>
#include <string.h>

enum { UNUSED = 0xc3 }; /* the bytes of a window that belong to no element */

struct window {
    const struct step *step;
    const struct place *place;
    MPI_Win win;
    char made;
    unsigned char *memory; /* NULL if it has no bytes */
    MPI_Aint *bases;       /* of all ranks, added to displacements */
    size_t bytes;
    char sync;         /* of the current epoch */
    struct epoch plan; /* the current epoch */
    struct access *accesses;
    int n_accesses;
};

static void *allocate(size_t n, size_t bytes)
{
    void *memory = calloc(n + 1, bytes);
    if (!memory)
        test_fail("window", "out of memory");
    return memory;
}

/* ---- creation ---- */

static void create(struct window *w)
{
    MPI_Comm comm = w->place->comm;
    MPI_Aint bytes = (MPI_Aint)w->bytes, *own = &w->bases[w->place->rank];
    if (w->made == 'a') {
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &w->memory, &w->win);
        return;
    }
    w->memory = allocate(w->bytes, 1);
    if (w->made == 'c') {
        MPI_Win_create(w->memory, bytes, 1, MPI_INFO_NULL, comm, &w->win);
        return;
    }
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->win);
    if (bytes > 0)
        MPI_Win_attach(w->win, w->memory, bytes);
    MPI_Get_address(w->memory, own);
    MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, w->bases, 1, MPI_AINT, comm);
}

struct window *window_open(const struct step *step)
{
    struct window *w = allocate(1, sizeof(*w));
    w->step = step;
    w->place = place_of(step, "c");
    w->made = *step_word(step, "made", "a");
    w->bases = allocate((size_t)w->place->size, sizeof(MPI_Aint));
    epoch_open(&w->plan, step, w->place, 0, 'F');
    w->bytes = (size_t)parts_of(&w->plan, w->place->rank) * w->plan.room;
    create(w);
    return w;
}

void window_close(struct window *w)
{
    if (w->made == 'd' && w->bytes > 0)
        MPI_Win_detach(w->win, w->memory);
    MPI_Win_free(&w->win);
    if (w->made != 'a')
        free(w->memory);
    free(w->bases);
    free(w);
}

/* ---- this process's window ---- */

/* Calculates the contents before or after an epoch. */
static void contents(const struct window *w, bool after, unsigned char *to)
{
    memset(to, UNUSED, w->bytes);
    for (int i = 0; i < parts_of(&w->plan, w->place->rank); i++) {
        struct part part = part_of(&w->plan, w->place->rank, i);
        part_contents(&w->plan, &part, after, to + part.at);
    }
}

/* The lock is needed for local accesses as well. */
static void fill_own(struct window *w)
{
    if (w->bytes > 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->place->rank, 0, w->win);
        contents(w, false, w->memory);
        MPI_Win_unlock(w->place->rank, w->win);
    }
    MPI_Barrier(w->place->comm);
}

static void check_own(const struct window *w)
{
    size_t i = 0;
    if (w->bytes == 0)
        return;
    unsigned char *expected = allocate(w->bytes, 1);
    contents(w, true, expected);
    MPI_Win_lock(MPI_LOCK_SHARED, w->place->rank, 0, w->win);
    while (i < w->bytes && w->memory[i] == expected[i])
        i++;
    struct part part = part_of(&w->plan, w->place->rank, (int)(i / w->plan.room));
    TEST_CHECK(i == w->bytes, "window", "line %d, sync %c: byte %zu of %zu is %02x, not %02x: %s",
               w->step->line, w->sync, i - part.at, part.n, w->memory[i], expected[i],
               part_name(&part));
    MPI_Win_unlock(w->place->rank, w->win);
    free(expected);
}

/* ---- an epoch ---- */

static bool is_passive(char sync)
{
    return strchr("SEA", sync) != NULL;
}

static void open_accesses(struct window *w)
{
    int most = 0;
    for (int target = 0; target < w->place->size; target++)
        most += parts_of(&w->plan, target);
    w->accesses = allocate((size_t)most, sizeof(struct access));
    w->n_accesses = 0;
    for (int target = 0; target < w->place->size; target++)
        for (int i = 0; i < parts_of(&w->plan, target); i++) {
            struct part part = part_of(&w->plan, target, i);
            if (takes_part(&w->plan, &part, w->place->rank))
                access_open(&w->accesses[w->n_accesses++], &w->plan, &part);
        }
}

static void start_accesses(struct window *w)
{
    int locked = -1;
    for (int i = 0; i < w->n_accesses; i++) {
        struct access *access = &w->accesses[i];
        int target = access->part.target;
        if (strchr("SE", w->sync) && locked != target) {
            if (locked >= 0)
                MPI_Win_unlock(locked, w->win);
            MPI_Win_lock(w->sync == 'S' ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, w->win);
            locked = target;
        }
        access_start(access, &w->plan, w->win, w->bases[target], is_passive(w->sync));
        if (w->sync == 'A' && access->part.lot % 4 == 0)
            MPI_Win_flush(target, w->win);
        if (w->sync == 'A' && access->part.lot % 4 == 1)
            MPI_Win_flush_local(target, w->win);
    }
    if (locked >= 0)
        MPI_Win_unlock(locked, w->win);
}

/* Returns the group of processes that this one accesses, or that access it. */
static MPI_Group group_of(const struct window *w, bool targets)
{
    int ranks[MAX_RANKS], n = 0, own = w->place->rank;
    for (int rank = 0; rank < w->place->size; rank++)
        if (may_access(&w->plan, targets ? own : rank, targets ? rank : own))
            ranks[n++] = rank;
    MPI_Group all, result;
    MPI_Comm_group(w->place->comm, &all);
    MPI_Group_incl(all, n, ranks, &result);
    MPI_Group_free(&all);
    return result;
}

static void begin_groups(const struct window *w)
{
    MPI_Group origins = group_of(w, false), targets = group_of(w, true);
    MPI_Win_post(origins, 0, w->win);
    MPI_Win_start(targets, 0, w->win);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

static void end_groups(const struct window *w)
{
    int flag = 0;
    MPI_Win_complete(w->win);
    if (w->plan.lot % 2)
        MPI_Win_wait(w->win);
    else
        while (!flag)
            MPI_Win_test(w->win, &flag);
}

void window_epoch(struct window *w, int epoch)
{
    const char *letters = step_word(w->step, "sync", "F");
    w->sync = letters[(size_t)epoch % strlen(letters)];
    epoch_open(&w->plan, w->step, w->place, epoch, w->sync);
    open_accesses(w);
    fill_own(w);
    if (w->sync == 'F')
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    else if (w->sync == 'G')
        begin_groups(w);
    else if (w->sync == 'A')
        MPI_Win_lock_all(0, w->win);
    start_accesses(w);
    if (w->sync == 'F')
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    else if (w->sync == 'G')
        end_groups(w);
    else if (w->sync == 'A')
        MPI_Win_unlock_all(w->win);
    if (is_passive(w->sync))
        MPI_Barrier(w->place->comm);
    for (int i = 0; i < w->n_accesses; i++)
        access_close(&w->accesses[i], &w->plan);
    free(w->accesses);
    check_own(w);
}
