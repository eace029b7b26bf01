/* SPDX-License-Identifier: BSD-3-Clause */
/* See overdue.h. */
#include "coll_nicbarr/overdue.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/dead_members.h"
#include "coll_nicbarr/long_waits.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/peers.h"
#include "libmyr/groups/nic_bcast.h"
#include "os/clock.h"

enum {
    LISTED = 64, /* maximum of missing nodes that are examined */
    LOST = 64,   /* maximum of nodes that are recorded as lost */
    NAMED = 4,   /* maximum of nodes that a message names */
    /* Waits are checked about once a second. A longer interval than this means that the process was
     * suspended, or computed without calling MPI. */
    PAUSE_MS = 10000,
    LINE_BYTES = 900 /* sufficient for all messages of this file */
};

uint32_t nicbarr_now_ms(void)
{
    return (uint32_t)os_now_ms();
}

/* ---- missing nodes ---- */

/* Record a check. After a pause, the time of silence begins anew. */
static void record_check(struct nicbarr_wait *wait, uint32_t now_ms)
{
    if (now_ms - wait->checked_ms > PAUSE_MS) {
        wait->listened_ms = now_ms;
    }
    wait->checked_ms = now_ms;
}

/* Returns the time (milliseconds) for which a node has been silent while this process listened. */
static uint32_t node_silence(const struct nicbarr_wait *wait, const struct mcp_missing *missing,
                             uint32_t now_ms)
{
    const uint32_t listened_ms = now_ms - wait->listened_ms;
    const uint32_t since_ms = now_ms - missing->heard_ms;
    return 0 != missing->heard_ms && since_ms < listened_ms ? since_ms : listened_ms;
}

/* Missing nodes, and the time for which each has been silent. */
struct silent {
    struct mcp_missing node[LISTED];
    uint32_t silence_ms[LISTED];
    uint32_t count;
};

/* Get the missing nodes from the NIC. */
static void find_missing(struct myr_nic_group *group, struct nicbarr_wait *wait,
                         struct silent *silent)
{
    silent->count = myr_nic_group_missing(group, silent->node, LISTED);
    const uint32_t now_ms = nicbarr_now_ms();
    record_check(wait, now_ms);
    for (uint32_t s = 0; s < silent->count; ++s) {
        silent->silence_ms[s] = node_silence(wait, &silent->node[s], now_ms);
    }
}

/* Returns the longest silence, or 0 if no node is missing; `*node` becomes the silent node. */
static uint32_t longest_silence(const struct silent *silent, uint32_t *node)
{
    uint32_t longest_ms = 0;
    *node = 0;
    for (uint32_t s = 0; s < silent->count; ++s) {
        if (silent->silence_ms[s] >= longest_ms) {
            longest_ms = silent->silence_ms[s];
            *node = silent->node[s].node;
        }
    }
    return longest_ms;
}

/* Remove the nodes that have been silent for less than `least_ms`. */
static void remove_recent(struct silent *silent, uint32_t least_ms)
{
    uint32_t kept = 0;
    for (uint32_t s = 0; s < silent->count; ++s) {
        if (silent->silence_ms[s] >= least_ms) {
            silent->node[kept] = silent->node[s];
            silent->silence_ms[kept++] = silent->silence_ms[s];
        }
    }
    silent->count = kept;
}

uint32_t nicbarr_overdue_silence(struct myr_nic_group *group, struct nicbarr_wait *wait,
                                 uint32_t *node)
{
    struct silent missing;
    find_missing(group, wait, &missing);
    return longest_silence(&missing, node);
}

/* ---- lost nodes ---- */

/* When a group gives up waiting for a node, the node is recorded as lost. Other groups that wait
 * for this node need not wait for the whole timeout again: a waiting NIC sends a retransmission
 * request (ASK) at least every 64 ms (backoff.h), and a live NIC answers it. Therefore a group
 * fails if it has waited for a lost node for NICBARR_CHECK_MS without an answer. A node that
 * answers is no longer lost.
 *
 * If more than LOST nodes are lost, the oldest record is overwritten; for its node the timeout is
 * coll_nicbarr_timeout again. */
static struct {
    pthread_mutex_t lock;
    uint32_t next;
    struct {
        uint64_t key; /* of the NIC; 0 if the entry is free */
        uint32_t when_ms;
    } of[LOST];
} lost = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the key of a node's NIC in this group, or 0 if there is none. */
static uint64_t key_of(const mca_coll_nicbarr_module_t *module, const struct myr_nic_group *group,
                       uint32_t node)
{
    const struct myr_nic_name *const *names = module->nodes.names[group->tag];
    return NULL == names || node >= module->nodes.nodes ? 0 : names[node]->key;
}

/* Returns the index of a lost node, or LOST if the node is not lost. Called with the lock held. */
static uint32_t find_lost(uint64_t key)
{
    uint32_t index = 0;
    while (index < LOST && (0 == key || key != lost.of[index].key)) {
        ++index;
    }
    return index;
}

static void record_lost(uint64_t key)
{
    if (0 == key) {
        return;
    }
    pthread_mutex_lock(&lost.lock);
    uint32_t index = find_lost(key);
    if (LOST == index) {
        index = lost.next++ % LOST;
    }
    lost.of[index].key = key;
    lost.of[index].when_ms = nicbarr_now_ms();
    pthread_mutex_unlock(&lost.lock);
}

/* Returns whether the node is lost, and has not answered since. */
static bool is_still_lost(uint64_t key, uint32_t heard_ms)
{
    pthread_mutex_lock(&lost.lock);
    const uint32_t index = find_lost(key);
    bool is_lost = LOST != index;
    if (is_lost && 0 != heard_ms && (int32_t)(heard_ms - lost.of[index].when_ms) > 0) {
        lost.of[index].key = 0;
        is_lost = false;
    }
    pthread_mutex_unlock(&lost.lock);
    return is_lost;
}

/* Find the first missing node that is lost, so that the group is not expected to complete. */
static bool find_still_lost(const mca_coll_nicbarr_module_t *module,
                            const struct myr_nic_group *group, const struct silent *silent,
                            uint32_t *node)
{
    bool found = false;
    for (uint32_t s = 0; s < silent->count && !found; ++s) {
        const struct mcp_missing *one = &silent->node[s];
        found = silent->silence_ms[s] >= NICBARR_CHECK_MS &&
                is_still_lost(key_of(module, group, one->node), one->heard_ms);
        *node = found ? one->node : *node;
    }
    return found;
}

/* ---- messages ---- */

struct line {
    char text[LINE_BYTES];
    size_t length;
};

static void append_text(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append_text(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int more =
        vsnprintf(line->text + line->length, sizeof(line->text) - line->length, format, arguments);
    va_end(arguments);
    line->length += more < 0 ? 0 : (size_t)more;
    line->length = line->length < sizeof(line->text) ? line->length : sizeof(line->text) - 1;
}

/* Append the host of a node and its ranks. */
static void add_node(struct line *line, const mca_coll_nicbarr_module_t *module,
                     ompi_communicator_t *comm, uint32_t node)
{
    const struct nicbarr_nodes *nodes = &module->nodes;
    int first = -1, last = -1, count = 0;
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        const struct nicbarr_peer *peer = nicbarr_peer(&name);
        if (NULL != peer &&
            nodes->names[nodes->by][node] == nicbarr_nic_name(nodes->by, peer->nic[nodes->by])) {
            first = first < 0 ? r : first;
            last = r;
            ++count;
        }
    }
    const char *host = first < 0 ? NULL : nicbarr_rank_host(comm, first);
    append_text(line, "%s (", NULL == host ? "a host" : host);
    if (count < 2) {
        append_text(line, "rank %d", first);
    } else if (last - first + 1 == count) {
        append_text(line, "ranks %d to %d", first, last);
    } else {
        append_text(line, "%d ranks from %d to %d", count, first, last);
    }
}

static void add_silent(struct line *line, const mca_coll_nicbarr_module_t *module,
                       ompi_communicator_t *comm, const struct silent *silent)
{
    for (uint32_t s = 0; s < silent->count && s < NAMED; ++s) {
        append_text(line, 0 == s ? "" : ", ");
        add_node(line, module, comm, silent->node[s].node);
        if (0 == silent->node[s].heard_ms) {
            append_text(line, ", no response so far)");
        } else {
            append_text(line, ", last response %.1f s ago)",
                        (double)(nicbarr_now_ms() - silent->node[s].heard_ms) * 1e-3);
        }
    }
    if (silent->count > NAMED) {
        append_text(line, " and %u more nodes", silent->count - NAMED);
    }
}

static void begin_line(struct line *line, ompi_communicator_t *comm,
                       const struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    char name[NICBARR_COMM_TEXT];
    *line = (struct line){.length = 0};
    append_text(line, "%s %u on %s has waited for %.1f s",
                NULL != group->bcast  ? "broadcast"
                : NULL != group->data ? "reduction"
                                      : "barrier",
                NULL != group->bcast ? group->bcast->number : wait->epoch,
                nicbarr_comm_name(comm, name), (double)(nicbarr_now_ms() - wait->began_ms) * 1e-3);
}

static void output_line(const struct line *line)
{
    opal_output(0, "nicbarr: %s", line->text);
}

static void print_warning(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          const struct myr_nic_group *group, const struct silent *silent,
                          const struct nicbarr_wait *wait)
{
    const int timeout = mca_coll_nicbarr_component.parameters.timeout;
    struct line line;
    begin_line(&line, comm, group, wait);
    append_text(&line, " without a response from ");
    add_silent(&line, module, comm, silent);
    if (0 == timeout) {
        append_text(&line, "; it continues to wait");
    } else {
        append_text(&line, "; it will fail after %d s without a response (coll_nicbarr_timeout)",
                    timeout);
    }
    output_line(&line);
}

/* ---- failure of a group ---- */

/* Report why the wait failed, once for each communicator. */
static void report_failure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    struct line line;
    uint32_t node;
    if (module->failure_reported) {
        return;
    }
    module->failure_reported = true;
    const int dead = nicbarr_dead_member(comm);
    begin_line(&line, comm, group, wait);
    if (dead >= 0) {
        append_text(&line,
                    " and will not complete: rank %d has died, or has exited without calling "
                    "MPI_Finalize",
                    dead);
    } else if (!myr_nic_group_failed(group, &node)) {
        const struct myr_nic_kind *kind = nicbarr_kind(group->tag);
        append_text(&line,
                    " and will not complete: %s of this node is gone, or a process that ran it has "
                    "died or is stopped%s%s%s",
                    kind->title, NULL == kind->absent ? "" : " (",
                    NULL == kind->absent ? "" : kind->absent, NULL == kind->absent ? "" : ")");
    } else if (node == module->nodes.node) {
        append_text(
            &line, " and will not complete: the other nodes have given up waiting for this one, or "
                   "one of its processes has died");
    } else if (node < module->nodes.nodes) {
        append_text(&line, " and will not complete: ");
        add_node(&line, module, comm, node);
        append_text(&line, ") does not respond, or its processes have exited");
    }
    output_line(&line);
}

/* Return an error from the wait. From now on, all barriers of the communicator return it at
 * once. */
static int fail_wait(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                     struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    report_failure(module, comm, group, wait);
    nicbarr_barrier_event(module, NICBARR_EVENT_LOST);
    return NICBARR_PROC_FAILED;
}

int nicbarr_overdue_check(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group, struct nicbarr_wait *wait)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    const uint32_t warn_ms = os_ms_of_s((uint32_t)parameters->warn);
    const uint32_t timeout_ms = os_ms_of_s((uint32_t)parameters->timeout);
    struct silent silent;
    uint32_t node;
    if (myr_nic_group_over(group)) {
        if (myr_nic_group_failed(group, &node) && node != module->nodes.node) {
            /* another process or node has stopped waiting for it */
            record_lost(key_of(module, group, node));
        }
        return fail_wait(module, comm, group, wait);
    }
    if (nicbarr_dead_member(comm) >= 0) { /* the dead member's NIC would answer LATER forever */
        myr_nic_group_fail(group, module->nodes.node);
        return fail_wait(module, comm, group, wait);
    }
    find_missing(group, wait, &silent);
    const uint32_t longest_ms = longest_silence(&silent, &node);
    if (0 != timeout_ms &&
        (longest_ms >= timeout_ms || find_still_lost(module, group, &silent, &node))) {
        record_lost(key_of(module, group, node));
        myr_nic_group_fail(group, node);
        return fail_wait(module, comm, group, wait);
    }
    if (0 != warn_ms && longest_ms >= warn_ms && !wait->warned) {
        remove_recent(&silent, warn_ms);
        print_warning(module, comm, group, &silent, wait);
        wait->warned = true;
    }
    return OMPI_SUCCESS;
}

void nicbarr_overdue_end(ompi_communicator_t *comm, const struct myr_nic_group *group,
                         const struct nicbarr_wait *wait)
{
    if (wait->warned) {
        struct line line;
        begin_line(&line, comm, group, wait);
        append_text(&line, " and continues now: all nodes have arrived");
        output_line(&line);
    }
}

/* ---- waiting ---- */

static bool is_wait_over(const struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    return wait->block ? myr_nic_bcast_test(group) : myr_nic_group_test(group, wait->epoch);
}

bool nicbarr_overdue_more(struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    return wait->block ? myr_nic_group_wait_bcast(group, NICBARR_CHECK_US)
                       : myr_nic_group_wait(group, wait->epoch, NICBARR_CHECK_US);
}

static int continue_waiting(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct myr_nic_group *group, struct nicbarr_wait wait)
{
    const struct myr_key key = nicbarr_record_key(module, comm, 0);
    struct myr_shown_wait *shown = nicbarr_wait_show(comm, &key);
    int rc;
    nicbarr_overdue_begin(&wait, nicbarr_now_ms() - NICBARR_CHECK_MS);
    do {
        rc = nicbarr_overdue_check(module, comm, group, &wait);
    } while (OMPI_SUCCESS == rc && !nicbarr_overdue_more(group, &wait));
    myr_wait_hide(shown);
    if (OMPI_SUCCESS != rc) { /* it may have completed just before the failure */
        return is_wait_over(group, &wait) ? OMPI_SUCCESS : rc;
    }
    nicbarr_overdue_end(comm, group, &wait);
    return OMPI_SUCCESS;
}

int nicbarr_overdue_wait(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, uint32_t epoch)
{
    return continue_waiting(module, comm, group, (struct nicbarr_wait){.epoch = epoch});
}

int nicbarr_overdue_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group)
{
    return continue_waiting(module, comm, group, (struct nicbarr_wait){.block = true});
}
