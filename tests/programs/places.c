/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of a program; see places.h. */
#include "places.h"
#include "../mpi/common.h"
#include "../mpi/data_types.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct place places[PLACES];
static MPI_Group world;
static int collecting = MPI_KEYVAL_INVALID;
static _Atomic int64_t *board;

struct place *place_of(const struct step *step, const char *key)
{
    long number = step_number(step, key, 0);
    if (number < 0 || number >= PLACES)
        test_fail("program", "step %u: there is no place %ld", step->id, number);
    return &places[number];
}

static int ranks_in_world(MPI_Group group, int *ranks)
{
    int size, own[MAX_RANKS];
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++)
        own[i] = i;
    MPI_Group_translate_ranks(group, size, own, world, ranks);
    MPI_Group_free(&group);
    return size;
}

void place_set(struct place *place, MPI_Comm comm)
{
    *place = (struct place){.comm = comm};
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Group group;
    int inter;
    MPI_Comm_test_inter(comm, &inter);
    place->inter = inter;
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_group(comm, &group);
    place->size = ranks_in_world(group, place->members);
    if (!place->inter)
        return;
    MPI_Comm_remote_group(comm, &group);
    place->remote_size = ranks_in_world(group, place->remote);
}

/* ---- making them ---- */

/* MPI allows a copy callback to communicate on the old communicator. It counts the calls that it
 * was copied by, so that each has other data. */
static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *copied)
{
    (void)key;
    (void)extra;
    int64_t calls = (int64_t)(intptr_t)in + 1, sum = -1;
    int size, rank, inter;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    if (!inter) {
        for (int k = 0; k < 3; k++) {
            int64_t mine = calls * (rank + 1) + k;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
            int64_t right = calls * size * (size + 1) / 2 + (int64_t)k * size;
            TEST_CHECK(sum == right, "attribute", "MPI_Allreduce in a copy callback: %ld, not %ld",
                       (long)sum, (long)right);
        }
    }
    *(void **)out = (void *)(intptr_t)calls;
    *copied = 1;
    return MPI_SUCCESS;
}

static void duplicate_with_info(MPI_Comm comm, const struct step *step, MPI_Comm *result)
{
    static const char *const keys[] = {"mpi_assert_allow_overtaking", "mpi_assert_no_any_tag",
                                       "mpi_assert_exact_length", "a_key_that_nobody_knows"};
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, keys[step_number(step, "key", 0) & 3], "true");
    MPI_Comm_dup_with_info(comm, info, result);
    MPI_Info_free(&info);
}

static int color_of(const struct place *from, const struct step *step)
{
    long colors = step_number(step, "colors", 2);
    return step_is(step, "how", "blocks") ? (int)(from->rank * colors / from->size)
                                          : (int)(from->rank % colors);
}

static int key_of(const struct place *from, const struct step *step)
{
    if (step_is(step, "order", "reversed"))
        return -from->rank;
    if (step_is(step, "order", "random"))
        return (int)(data_hash(step->id, (uint64_t)from->rank, 11) % 1000);
    return 0;
}

static void create_group(const struct place *from, const struct step *step, MPI_Comm *result)
{
    MPI_Group all, some;
    int chosen[MAX_RANKS], n = 0, every = (int)step_number(step, "every", 2),
                           out = (int)step_number(step, "out", 0);
    bool member = false;
    for (int i = from->size - 1; i >= 0; i--) /* in another order than the parent's */
        if (from->size == 1 || i % every != out) {
            chosen[n++] = i;
            member |= i == from->rank;
        }
    if (!member)
        return;
    MPI_Comm_group(from->comm, &all);
    MPI_Group_incl(all, n, chosen, &some);
    MPI_Comm_create_group(from->comm, some, (int)(step->id % 100), result);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

/* The first `left` ranks against the others; of one process there is none. */
static void create_inter(const struct place *from, const struct step *step, MPI_Comm *result)
{
    if (from->size < 2)
        return;
    int left = 1 + (int)(step_number(step, "left", 0) % (from->size - 1));
    bool right = from->rank >= left;
    MPI_Comm local;
    MPI_Comm_split(from->comm, right, from->rank, &local);
    MPI_Intercomm_create(local, 0, from->comm, right ? 0 : left, (int)(step->id % 100), result);
    MPI_Comm_free(&local);
}

static void make(const struct step *step, const struct place *from, struct place *to)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (strcmp(step->kind, "dup") == 0)
        MPI_Comm_dup(from->comm, &comm);
    else if (strcmp(step->kind, "dupinfo") == 0)
        duplicate_with_info(from->comm, step, &comm);
    else if (strcmp(step->kind, "split") == 0)
        MPI_Comm_split(from->comm, color_of(from, step), key_of(from, step), &comm);
    else if (strcmp(step->kind, "cgroup") == 0)
        create_group(from, step, &comm);
    else if (strcmp(step->kind, "inter") == 0)
        create_inter(from, step, &comm);
    else if (strcmp(step->kind, "merge") == 0)
        MPI_Intercomm_merge(from->comm, from->members[0] > from->remote[0], &comm);
    place_set(to, comm);
}

bool places_play(const struct step *step)
{
    static const char *const makers[] = {"dup", "dupinfo", "split", "cgroup", "inter", "merge"};
    struct place *from = place_of(step, "c");
    if (strcmp(step->kind, "free") == 0) {
        if (from->comm != MPI_COMM_NULL)
            MPI_Comm_free(&from->comm);
        return true;
    }
    if (strcmp(step->kind, "attr") == 0) {
        if (from->comm != MPI_COMM_NULL)
            MPI_Comm_set_attr(from->comm, collecting, NULL);
        return true;
    }
    for (size_t i = 0; i < TEST_COUNT(makers); i++)
        if (strcmp(step->kind, makers[i]) == 0) {
            if (from->comm != MPI_COMM_NULL)
                make(step, from, place_of(step, "d"));
            else
                place_set(place_of(step, "d"), MPI_COMM_NULL);
            return true;
        }
    return false;
}

void places_idup(const struct step *step, MPI_Comm *comm, MPI_Request *request)
{
    const struct place *from = place_of(step, "c");
    *comm = MPI_COMM_NULL;
    *request = MPI_REQUEST_NULL;
    if (from->comm != MPI_COMM_NULL)
        MPI_Comm_idup(from->comm, comm, request);
}

/* ---- the board ---- */

void places_open(const char *board_path)
{
    size_t bytes = sizeof(int64_t) * MAX_RANKS * BOARD_THREADS;
    int fd = open(board_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        test_fail("board", "%s cannot be opened", board_path);
    board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (board == MAP_FAILED)
        test_fail("board", "%s cannot be mapped", board_path);
    close(fd);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &collecting, NULL);
    for (int i = 0; i < PLACES; i++)
        places[i].comm = MPI_COMM_NULL;
    place_set(&places[0], MPI_COMM_WORLD);
}

void places_close(void)
{
    for (int i = 1; i < PLACES; i++)
        if (places[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&places[i].comm);
    MPI_Comm_free_keyval(&collecting);
    MPI_Group_free(&world);
}

int64_t board_position(const struct step *step, int iteration)
{
    return (int64_t)step->line * STEP_ITERATIONS + iteration;
}

void board_enter(int thread, int64_t position)
{
    board[test.rank * BOARD_THREADS + thread] = position;
}

static void check_entered(const int *ranks, int n, int thread, int64_t position, const char *how)
{
    for (int i = 0; i < n; i++) {
        int64_t there = board[ranks[i] * BOARD_THREADS + thread];
        TEST_CHECK(there >= position, how, "left before rank %d has entered (line %ld, call %ld)",
                   ranks[i], (long)(there / STEP_ITERATIONS), (long)(there % STEP_ITERATIONS));
    }
}

void board_check(const struct place *place, int thread, int64_t position, const char *how)
{
    if (place->inter)
        check_entered(place->remote, place->remote_size, thread, position, how);
    else
        check_entered(place->members, place->size, thread, position, how);
}
