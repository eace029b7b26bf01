/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of a program; see places.h. */
#include "places.h"
#include "../mpi/common.h"
#include "data_types.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct place places[PLACES];
static const struct origin *origin;
static struct {
    MPI_Group group;
    int numbers[MAX_RANKS];
} known; /* all processes that this one knows */
static int collecting = MPI_KEYVAL_INVALID;
static _Atomic int64_t *board;
static int64_t lines_before; /* number of lines of earlier rounds */

struct place *place_of(const struct step *step, const char *key)
{
    long number = step_number(step, key, 0);
    if (number < 0 || number >= PLACES)
        test_fail("program", "step %u: unknown place %ld", step->id, number);
    return &places[number];
}

/* Add processes with these numbers, or with numbers from `first` on. */
static void meet(MPI_Group group, const int *numbers, int first)
{
    MPI_Group before = known.group;
    int met, size;
    MPI_Group_size(before, &met);
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++)
        known.numbers[met + i] = numbers ? numbers[i] : first + i;
    MPI_Group_union(before, group, &known.group);
    MPI_Group_free(&group);
    if (before != MPI_GROUP_EMPTY)
        MPI_Group_free(&before);
}

static int numbers_of(MPI_Group group, unsigned char *numbers)
{
    int size, own[MAX_RANKS], ranks[MAX_RANKS];
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++)
        own[i] = i;
    MPI_Group_translate_ranks(group, size, own, known.group, ranks);
    for (int i = 0; i < size; i++) {
        TEST_CHECK(ranks[i] != MPI_UNDEFINED, "group", "rank %d of a group is an unknown process",
                   i);
        numbers[i] = (unsigned char)known.numbers[ranks[i]];
    }
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
    place->size = numbers_of(group, place->members);
    if (!place->inter)
        return;
    MPI_Comm_remote_group(comm, &group);
    place->remote_size = numbers_of(group, place->remote);
}

/* ---- creating them ---- */

/* MPI permits this copy callback to communicate on the old communicator. The attribute counts the
 * callbacks, so that each uses other data. */
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

/* Duplicate a communicator with an info object that contains one of these keys, for example the key
 * that selects components of Open MPI. */
static void duplicate_with_info(MPI_Comm comm, const struct step *step, MPI_Comm *result)
{
    static const char *const keys[][2] = {{"mpi_assert_allow_overtaking", "true"},
                                          {"mpi_assert_no_any_tag", "true"},
                                          {"mpi_assert_exact_length", "true"},
                                          {"a_key_that_nobody_knows", "true"},
                                          {"ompi_comm_coll_preference", "^nicbarr"},
                                          {"ompi_comm_coll_preference", "nicbarr"},
                                          {"ompi_comm_coll_preference", "nicbarr,tuned"},
                                          {"ompi_comm_coll_preference", "basic"}};
    const char *const *key = keys[step_number(step, "key", 0) & 7];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key[0], key[1]);
    MPI_Comm_dup_with_info(comm, info, result);
    MPI_Info_free(&info);
}

static int color_of(const struct place *from, const struct step *step)
{
    long colors = step_number(step, "colors", 2), out = step_number(step, "out", 0);
    if (out && from->rank % out == 1)
        return MPI_UNDEFINED;
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

/* Returns the group of the ranks that `every` and `out` select, in another order than the
 * parent's, or of the other ranks. */
static MPI_Group group_of(const struct place *from, const struct step *step, bool others)
{
    MPI_Group all, some;
    int chosen[MAX_RANKS], n = 0, every = (int)step_number(step, "every", 2),
                           out = (int)step_number(step, "out", 0);
    for (int i = from->size - 1; i >= 0; i--)
        if ((from->size == 1 || i % every != out) != others)
            chosen[n++] = i;
    MPI_Comm_group(from->comm, &all);
    MPI_Group_incl(all, n, chosen, &some);
    MPI_Group_free(&all);
    return some;
}

/* Create a communicator of a group. Only its members take part in `cgroup`. All processes take part
 * in `create`, where the others get no communicator, or one of their own (both=1). */
static void create_group(const struct place *from, const struct step *step, MPI_Comm *result)
{
    bool by_members = strcmp(step->kind, "cgroup") == 0;
    MPI_Group some = group_of(from, step, false);
    int rank;
    MPI_Group_rank(some, &rank);
    if (by_members && rank != MPI_UNDEFINED)
        MPI_Comm_create_group(from->comm, some, (int)(step->id % 100), result);
    if (!by_members && rank == MPI_UNDEFINED && step_number(step, "both", 0)) {
        MPI_Group_free(&some);
        some = group_of(from, step, true);
    }
    if (!by_members)
        MPI_Comm_create(from->comm, some, result);
    if (some != MPI_GROUP_EMPTY)
        MPI_Group_free(&some);
}

/* Create a grid of two rows if the size permits. If the number of processes is odd, one is
 * excluded. rows=1: each row is a communicator. */
static void create_cartesian(const struct place *from, const struct step *step, MPI_Comm *result)
{
    int dims[] = {from->size > 1 ? 2 : 1, from->size > 1 ? from->size / 2 : 1};
    int periods[] = {1, 0}, remain[] = {0, 1};
    MPI_Comm whole;
    MPI_Cart_create(from->comm, 2, dims, periods, 1, &whole);
    *result = whole;
    if (whole == MPI_COMM_NULL || !step_number(step, "rows", 0))
        return;
    MPI_Cart_sub(whole, remain, result);
    MPI_Comm_free(&whole);
}

/* Create a ring. */
static void create_graph(const struct place *from, const struct step *step, MPI_Comm *result)
{
    int n = from->size, index[MAX_RANKS], edges[MAX_RANKS], weight = 1;
    int left = (from->rank + n - 1) % n, right = (from->rank + 1) % n;
    for (int i = 0; i < n; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % n;
    }
    if (step_number(step, "distributed", 0))
        MPI_Dist_graph_create_adjacent(from->comm, 1, &left, &weight, 1, &right, &weight,
                                       MPI_INFO_NULL, 0, result);
    else
        MPI_Graph_create(from->comm, n, index, edges, 0, result);
}

/* Rank 0, the first of the accepting processes, sends its port name to the first of the others. */
static void connect_parts(const struct place *from, int left, int tag, MPI_Comm local,
                          MPI_Comm *result)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (from->rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof(port), MPI_CHAR, left, tag, from->comm);
    } else if (from->rank == left) {
        MPI_Recv(port, sizeof(port), MPI_CHAR, 0, tag, from->comm, MPI_STATUS_IGNORE);
    }
    if (from->rank < left)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, local, result);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, local, result);
    if (from->rank == 0)
        MPI_Close_port(port);
}

/* Create an intercommunicator of the first `left` ranks and the others; a single process gets
 * none. */
static void create_inter(const struct place *from, const struct step *step, MPI_Comm *result)
{
    if (from->size < 2)
        return;
    int left = 1 + (int)(step_number(step, "left", 0) % (from->size - 1));
    bool right = from->rank >= left;
    MPI_Comm local;
    MPI_Comm_split(from->comm, right, from->rank, &local);
    if (step_is(step, "how", "port"))
        connect_parts(from, left, 1000 + (int)step->id, local, result);
    else
        MPI_Intercomm_create(local, 0, from->comm, right ? 0 : left, (int)(step->id % 100), result);
    MPI_Comm_free(&local);
}

static int first_of(const struct step *spawning)
{
    return (int)step_number(spawning, "first", SPAWNED);
}

/* Process `by` spawns n others, collectively with its communicator. */
static void spawn(const struct place *from, const struct step *step, MPI_Comm *result)
{
    char line[12], parents[4 * MAX_RANKS], *end = parents;
    int by = -1;
    for (int i = 0; i < from->size; i++) {
        end += sprintf(end, ",%d", from->members[i]);
        if (from->members[i] == step_number(step, "by", 0))
            by = i;
    }
    if (by < 0)
        return;
    snprintf(line, sizeof(line), "%d", step->line);
    const char *arguments[] = {"--program",
                               origin->program,
                               "--line",
                               line,
                               "--parents",
                               parents,
                               origin->board ? "--board" : NULL,
                               origin->board,
                               NULL};
    MPI_Comm_spawn(origin->player, (char **)arguments, (int)step_number(step, "n", 1),
                   MPI_INFO_NULL, by, from->comm, result, MPI_ERRCODES_IGNORE);
    MPI_Group children;
    MPI_Comm_remote_group(*result, &children);
    meet(children, NULL, first_of(step));
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
    else if (strcmp(step->kind, "cgroup") == 0 || strcmp(step->kind, "create") == 0)
        create_group(from, step, &comm);
    else if (strcmp(step->kind, "cart") == 0)
        create_cartesian(from, step, &comm);
    else if (strcmp(step->kind, "graph") == 0)
        create_graph(from, step, &comm);
    else if (strcmp(step->kind, "shared") == 0)
        MPI_Comm_split_type(from->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    else if (strcmp(step->kind, "inter") == 0)
        create_inter(from, step, &comm);
    else if (strcmp(step->kind, "spawn") == 0)
        spawn(from, step, &comm);
    else if (strcmp(step->kind, "merge") == 0)
        MPI_Intercomm_merge(from->comm,
                            (from->members[0] > from->remote[0]) != step_number(step, "turned", 0),
                            &comm);
    place_set(to, comm);
}

bool places_play(const struct step *step)
{
    static const char *const makers[] = {"dup",   "dupinfo", "split", "cgroup", "create", "cart",
                                         "graph", "shared",  "inter", "spawn",  "merge"};
    struct place *from = place_of(step, "c");
    if (strcmp(step->kind, "free") == 0) {
        /* (kept=1: nicbarr's requests outlive it. Those of a single process are Open MPI's own.) */
        if (from->comm != MPI_COMM_NULL && !(step_number(step, "kept", 0) && from->size == 1))
            (step_is(step, "how", "disconnect") ? MPI_Comm_disconnect : MPI_Comm_free)(&from->comm);
        from->comm = MPI_COMM_NULL;
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

static void meet_parents(const struct step *spawning)
{
    int numbers[MAX_RANKS], n = 0;
    MPI_Comm comm;
    MPI_Group parents;
    for (char *at = origin->parents; *at;)
        numbers[n++] = (int)strtol(at + 1, &at, 10);
    MPI_Comm_get_parent(&comm);
    MPI_Comm_remote_group(comm, &parents);
    meet(parents, numbers, 0);
    place_set(place_of(spawning, "d"), comm);
}

static void board_open(void)
{
    size_t bytes = sizeof(int64_t) * MAX_RANKS * BOARD_THREADS;
    int fd = open(origin->board, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        test_fail("board", "%s cannot be opened", origin->board);
    board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (board == MAP_FAILED)
        test_fail("board", "%s cannot be mapped", origin->board);
    close(fd);
    for (int t = 0; t < BOARD_THREADS; t++) /* the file may be that of an earlier job */
        board[test.rank * BOARD_THREADS + t] = 0;
}

void places_open(const struct origin *given, const struct step *spawning)
{
    int first = spawning ? first_of(spawning) : 0;
    MPI_Group world;
    origin = given;
    test.rank += first;
    if (origin->board)
        board_open();
    known.group = MPI_GROUP_EMPTY;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    meet(world, NULL, first);
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &collecting, NULL);
    for (int i = 0; i < PLACES; i++)
        places[i].comm = MPI_COMM_NULL;
    place_set(&places[0], MPI_COMM_WORLD);
    if (spawning)
        meet_parents(spawning);
}

void places_clear(int lines)
{
    for (int i = 1; i < PLACES; i++)
        if (places[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&places[i].comm);
    lines_before += lines + 1;
}

void places_close(void)
{
    MPI_Comm_free_keyval(&collecting);
    MPI_Group_free(&known.group);
}

int64_t board_position(const struct step *step, int iteration)
{
    return (lines_before + step->line) * STEP_ITERATIONS + iteration;
}

void board_enter(int thread, int64_t position)
{
    if (board)
        board[test.rank * BOARD_THREADS + thread] = position;
}

bool board_entered(int process, int thread, int64_t position)
{
    return !board || board[process * BOARD_THREADS + thread] >= position;
}

static void check_entered(const unsigned char *ranks, int n, int thread, int64_t position,
                          const char *how)
{
    for (int i = 0; board && i < n; i++) {
        int64_t there = board[ranks[i] * BOARD_THREADS + thread];
        TEST_CHECK(there >= position, how, "left before rank %d had entered (line %ld, call %ld)",
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
