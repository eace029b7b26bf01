/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the NICs of each host with the NICs of each other host; see probe.h. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/secrets.h"
#include "libmyr/node/segment.h"
#include "os/clock.h"
#include "tools/findings.h"
#include "tools/probe/probe.h"
#include "tools/probe/tournament.h"

enum {
    TAG = 2,
    TRY_US = 5000000,   /* timeout of a barrier of two hosts that enter it at the same time */
    CONTACT_MS = 20000, /* timeout for contact with the other host, multiplied by the number of the
                           round, because earlier rounds may delay the other host */
};

/* The first message between two hosts. */
struct introduction {
    char host[64];
    uint8_t has[PROBE_NICS];
    struct myr_nic_name name[PROBE_NICS];
    struct mcp_secret secret; /* the group uses that of the host with the lower index */
    uint32_t process;         /* number in its segment */
};

/* A process's state of a test with another host. */
struct pair {
    struct probe *probe;
    struct probe_nic *nic;
    int peer; /* rank */
    struct introduction own, other;
    bool lost; /* the other process does not reply to MPI messages */
};

/* Exchanges messages of `bytes` with the other process. While it waits, it runs the NIC, because
 * the other process may still request messages from this NIC. Returns false if nothing arrives
 * within `timeout_ms`. */
static bool swap(struct pair *pair, const void *own, void *other, size_t bytes, uint64_t timeout_ms)
{
    const struct timespec nap = {.tv_nsec = 100000};
    const uint64_t end = os_now_ms() + timeout_ms;
    MPI_Request requests[2];
    int done = 0;
    MPI_Irecv(other, (int)bytes, MPI_BYTE, pair->peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(own, (int)bytes, MPI_BYTE, pair->peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (;;) {
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        if (done) {
            return true;
        }
        if (os_now_ms() > end) {
            MPI_Cancel(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests[1]); /* such a small message is buffered */
            pair->lost = true;
            return false;
        }
        if (NULL != pair->nic && NULL != pair->nic->kind->poll) {
            (void)pair->nic->kind->poll(pair->nic->nic);
        }
        nanosleep(&nap, NULL);
    }
}

/* Returns whether the test has succeeded on both sides. */
static bool agree_on_outcome(struct pair *pair, bool own)
{
    bool other = false;
    return swap(pair, &own, &other, sizeof(own), CONTACT_MS) && own && other;
}

/* A message that states whether a node has prepared its part of a group, with the node's connection
 * data (a blob). */
struct part {
    bool good;
    uint8_t blob[MYR_BLOB_MOST];
};

static bool prepare_pair_group(struct pair *pair, const struct myr_nic_members *members,
                               const struct nicbarr_among *among, struct myr_nic_group *group,
                               uint8_t *blobs, struct myr_error *error)
{
    const struct probe_nic *nic = pair->nic;
    struct part own = {.good = true}, other = {.good = false};
    const size_t bytes = nic->kind->caps.blob;
    if (NULL == nic->kind->prepare) {
        return true;
    }
    own.good = MYR_OK == nic->kind->prepare(nic->nic, &pair->probe->site, members,
                                            nicbarr_schedule_of, among, group, own.blob, error);
    const bool both = swap(pair, &own, &other, sizeof(own), CONTACT_MS) && own.good && other.good;
    memcpy(blobs + members->node * bytes, own.blob, bytes);
    memcpy(blobs + (1 - members->node) * bytes, other.blob, bytes);
    if (own.good && !both) {
        myr_nic_group_leave(group);
    }
    return both;
}

/* Performs a barrier of the two hosts. On failure returns false with the reason in `error`, which
 * is empty if only the other host knows the reason. */
static bool play_barrier(struct pair *pair, const struct myr_nic_members *members,
                         struct myr_error *error)
{
    static const struct nicbarr_among among = {{NICBARR_PAIRWISE, 0, 0}, 2};
    const struct probe_nic *nic = pair->nic;
    struct myr_nic_group group = {.ops = NULL};
    uint8_t blobs[2 * MYR_BLOB_MOST];
    if (!prepare_pair_group(pair, members, &among, &group, blobs, error)) {
        return false;
    }
    const bool joined =
        MYR_OK == nic->kind->connect(nic->nic, &pair->probe->site, members, nicbarr_schedule_of,
                                     &among, NULL == nic->kind->prepare ? NULL : blobs, &group,
                                     error);
    bool good = agree_on_outcome(pair, joined);
    if (good) {
        good = myr_nic_group_wait(&group, myr_nic_group_arrive(&group), TRY_US);
        if (!good) {
            (void)myr_fail(error, MYR_ERR_GONE, 0, "no packet from %s was received within %d s",
                           pair->other.host, TRY_US / 1000000);
        }
        good = agree_on_outcome(pair, good) && good;
    }
    if (joined) {
        myr_nic_group_leave(&group);
    }
    return good;
}

static void try_nic(struct pair *pair, int number)
{
    struct probe *probe = pair->probe;
    const struct introduction *own = &pair->own, *other = &pair->other;
    const uint32_t node = probe->index * PROBE_PER_HOST < pair->peer ? 0 : 1;
    const struct introduction *introductions[2] = {0 == node ? own : other,
                                                   0 == node ? other : own};
    const struct myr_nic_name *names[2] = {&introductions[0]->name[number],
                                           &introductions[1]->name[number]};
    const uint32_t firsts[2] = {introductions[0]->process, introductions[1]->process};
    struct myr_nic_members members = {
        .nodes = 2, .node = node, .locals = 1, .local = 0, .names = names, .firsts = firsts};
    struct myr_error error = {.text = ""};
    members.key = myr_secret_derive(&introductions[0]->secret, (uint64_t)number, &members.secret);
    pair->nic = &probe->nic[number];
    const bool good = play_barrier(pair, &members, &error);
    probe_print(json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "nic", pair->nic->way, "host", probe->host,
                          "peer", other->host, "failed", good ? NULL : error.text, "do",
                          pair->nic->kind->blocked));
    pair->nic = NULL;
}

static void introduce(const struct probe *probe, struct introduction *introduction)
{
    *introduction = (struct introduction){
        .process = NULL == probe->segment ? 0 : myr_segment_number(probe->segment)};
    memcpy(introduction->host, probe->host, sizeof(introduction->host));
    for (int n = 0; n < probe->nics; ++n) {
        introduction->has[n] = NULL != probe->nic[n].nic;
        introduction->name[n] = probe->nic[n].name;
    }
    if (!myr_secret_draw(&introduction->secret)) {
        perror("nicbarr_probe: cannot get random numbers");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Tests the NICs with another host. Returns false if that host does not reply. */
static bool try_host(struct probe *probe, int host, int round)
{
    struct pair pair = {.probe = probe, .peer = host * PROBE_PER_HOST};
    introduce(probe, &pair.own);
    if (!swap(&pair, &pair.own, &pair.other, sizeof(pair.own),
              (uint64_t)CONTACT_MS * (uint64_t)(round + 1))) {
        probe_print(finding(probe->host, "Open MPI's messages", FINDING_PROBLEM,
                            "allow TCP between these hosts (see btl_tcp_if_include)",
                            "none was received from host number %d of the job", host + 1));
    }
    for (int n = 0; !pair.lost && n < probe->nics; ++n) {
        if (pair.own.has[n] && pair.other.has[n]) {
            try_nic(&pair, n);
        }
    }
    return !pair.lost;
}

bool probe_pairs(struct probe *probe)
{
    bool all = true;
    for (int round = 0; round < tournament_rounds(probe->hosts); ++round) {
        const int other = tournament_opponent(probe->index, probe->hosts, round);
        if (other >= 0) {
            all = try_host(probe, other, round) && all;
        }
    }
    return all;
}
