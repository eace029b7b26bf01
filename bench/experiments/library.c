/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmyr's barriers without MPI's collectives; see library.h.
 */
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/alloc.h"
#include "libmyr/groups/secrets.h"
#include "libmyr/soft/soft_group.h"

static _Noreturn void give_up(const char *text)
{
    fprintf(stderr, "nicbarr_experiments: libmyr: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    exit(EXIT_FAILURE);
}

static void require(enum myr_status status, const struct myr_error *error)
{
    if (status != MYR_OK) {
        give_up(error->text);
    }
}

/* Called while a process waits. It has nothing else to progress. */
static void no_progress(void) {}

/* ---- the node's memory ---- */

/* The path by which the processes of a node find the segment that its first process has created. */
struct segment_file {
    int process, descriptor;
};

static enum myr_status join_other(const struct segment_file *segment_file,
                                  struct myr_segment **segment, struct myr_error *error)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", segment_file->process, segment_file->descriptor);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot open %s of another process of this node", name);
    }
    return myr_segment_join_fd(fd, segment, error);
}

static void join_segment(struct library *library, MPI_Comm node)
{
    enum { LIMIT = 64 << 20 };
    struct myr_error error = {0};
    struct segment_file segment_file = {0};
    int rank;
    MPI_Comm_rank(node, &rank);
    if (rank == 0) {
        require(myr_segment_join(NULL, LIMIT, &library->segment, &error), &error);
        segment_file = (struct segment_file){(int)getpid(), myr_segment_fd(library->segment)};
    }
    MPI_Bcast(&segment_file, sizeof(segment_file), MPI_BYTE, 0, node);
    if (rank != 0) {
        require(join_other(&segment_file, &library->segment, &error), &error);
    }
}

void library_open(struct library *library, const struct settings *settings)
{
    /* The defaults of coll/nicbarr. */
    static const struct myr_wait_policy policy = {.spin = -1, .sleep_after = 500, .slice = 1000};
    MPI_Comm node;
    *library = (struct library){.segment = NULL};
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    join_segment(library, node);
    if (!settings->job.one_node) {
        const struct myr_soft_options options = {.network =
                                                     getenv("OMPI_MCA_coll_nicbarr_network")};
        struct myr_error error = {0};
        require(myr_soft_open(library->segment, &options, &library->nic, &error), &error);
    }
    MPI_Barrier(node); /* the first process must not leave before all have joined */
    MPI_Comm_free(&node);
    myr_waiter_init(&library->waiter, library->segment, no_progress, &policy);
}

void library_close(struct library *library)
{
    if (library->nic) {
        myr_soft_close(library->nic);
    }
    myr_segment_leave(library->segment);
}

/* ---- groups ---- */

/* Returns the number of messages that a rank waits for in a barrier, over all steps of the
 * schedule, as the maximum over the ranks. */
static uint32_t most_waits(const struct nicbarr_among *among)
{
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < among->size; rank++) {
        struct myr_schedule schedule;
        uint32_t waits = 0;
        if (!nicbarr_schedule_of(among, rank, &schedule)) {
            give_up("out of memory");
        }
        for (uint32_t step = 0; step < schedule.nsteps; step++) {
            waits += schedule.steps[step].waits;
        }
        nicbarr_schedule_destroy(&schedule);
        most = waits > most ? waits : most;
    }
    return most;
}

static void join_here(struct library_group *group, uint64_t key, uint32_t rank,
                      const struct nicbarr_among *among)
{
    struct library *library = group->library;
    const uint32_t waits = most_waits(among);
    const size_t bytes =
        myr_group_arrival_bytes(among->size) + myr_plan_messages_bytes(among->size, waits);
    const struct myr_key name = {.scope = key, .id = 1};
    struct myr_error error = {0};
    struct myr_record *record =
        myr_record_join(library->segment, &name, among->size, bytes, 0, &error);
    if (!record) {
        give_up(error.text);
    }
    myr_group_init(&group->here, record, &library->waiter, among->size, rank);
    if (!myr_plan_messages(&group->here.plan, myr_group_slots(&group->here), rank, waits,
                           among->choice.algorithm == NICBARR_TREE, nicbarr_schedule_of, among)) {
        give_up("out of memory");
    }
}

/* Timeout of the first barrier, which all processes enter at about the same time. */
enum { TRY_US = 5000000 };

static void join_across(struct library_group *group, const struct myr_nic_members *members,
                        const struct nicbarr_among *among)
{
    struct myr_error error = {0};
    require(myr_soft_group_join(&group->nics, group->library->nic, &group->library->waiter, members,
                                nicbarr_schedule_of, among, &error),
            &error);
    if (!myr_nic_group_wait(&group->nics, myr_nic_group_arrive(&group->nics), TRY_US)) {
        give_up("no packets get through between the nodes (does a firewall block UDP?)");
    }
}

/* Distributes a secret for the group, which rank 0 draws at random. */
static struct mcp_secret share_secret(MPI_Comm team)
{
    struct mcp_secret secret;
    if (!myr_secret_draw(&secret)) {
        give_up("cannot get random numbers");
    }
    MPI_Bcast(&secret, sizeof(secret), MPI_BYTE, 0, team);
    return secret;
}

/* Determines the placement of the team's members and, on several nodes, the names of their NICs.
 * All of it is one allocation (`names`), which the caller frees. Nodes are in the order of their
 * first ranks. */
static void count_members(const struct library *library, MPI_Comm team,
                          struct myr_nic_members *members)
{
    MPI_Comm node, leaders;
    int rank, sizes[4]; /* local, locals, node, nodes */
    MPI_Comm_rank(team, &rank);
    MPI_Comm_split_type(team, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &sizes[0]);
    MPI_Comm_size(node, &sizes[1]);
    MPI_Comm_split(team, sizes[0] == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
    if (leaders != MPI_COMM_NULL) {
        MPI_Comm_rank(leaders, &sizes[2]);
        MPI_Comm_size(leaders, &sizes[3]);
    }
    MPI_Bcast(&sizes[2], 2, MPI_INT, 0, node);

    const size_t nodes = (size_t)sizes[3];
    const struct myr_nic_name **by_node =
        bench_alloc(nodes, sizeof(*by_node) + sizeof(struct myr_nic_name));
    struct myr_nic_name *names = (struct myr_nic_name *)(by_node + nodes);
    if (leaders != MPI_COMM_NULL) {
        if (library->nic) {
            myr_soft_get_name(library->nic, &names[sizes[2]]);
        }
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names, sizeof(*names), MPI_BYTE, leaders);
        MPI_Comm_free(&leaders);
    }
    MPI_Bcast(names, sizes[3] * (int)sizeof(*names), MPI_BYTE, 0, node);
    MPI_Comm_free(&node);
    members->local = (uint32_t)sizes[0];
    members->locals = (uint32_t)sizes[1];
    members->node = (uint32_t)sizes[2];
    members->nodes = (uint32_t)sizes[3];
    for (size_t n = 0; n < nodes; ++n) {
        by_node[n] = &names[n];
    }
    members->names = by_node;
}

void library_join(struct library_group *group, struct library *library, MPI_Comm team,
                  struct nicbarr_choice choice)
{
    const struct mcp_secret secret = share_secret(team);
    struct myr_nic_members members = {.locals = 0};
    members.key = myr_secret_derive(&secret, 0, &members.secret);
    count_members(library, team, &members);
    *group = (struct library_group){.library = library, .across = members.nodes > 1};
    if (group->across) {
        const struct nicbarr_among among = {choice, members.nodes};
        join_across(group, &members, &among);
    } else {
        const struct nicbarr_among among = {choice, members.locals};
        join_here(group, members.key, members.local, &among);
    }
    free((void *)members.names);
}

void library_leave(struct library_group *group)
{
    if (group->across) {
        myr_nic_group_leave(&group->nics);
    } else {
        myr_plan_destroy(&group->here.plan);
        myr_record_leave(group->library->segment, group->here.record);
    }
}

void library_barrier(struct library_group *group)
{
    if (!group->across) {
        myr_group_barrier(&group->here);
    } else if (!myr_nic_group_wait(&group->nics, myr_nic_group_arrive(&group->nics), 0)) {
        give_up("a barrier has failed");
    }
}

void library_meet(struct library *library, MPI_Comm comm)
{
    MPI_Request request;
    int met = 0;
    if (!library->nic) {
        return;
    }
    MPI_Ibarrier(comm, &request);
    while (!met) {
        (void)myr_soft_poll(library->nic);
        MPI_Test(&request, &met, MPI_STATUS_IGNORE);
    }
}
