/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that take long; see overdue.h. */
#include "coll_nicbarr/overdue.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/long_waits.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/peers.h"
#include "libmyr/groups/nic_bcast.h"
#include "os/clock.h"

enum {
    LISTED = 64,     /* missing nodes that are looked at */
    LOST = 64,       /* nodes that are remembered as given up */
    NAMED = 4,       /* of them, those that a line names */
    LINE_BYTES = 900 /* that hold any such line */
};

uint32_t nicbarr_now_ms(void)
{
    return (uint32_t)os_now_ms();
}

/* ---- who is missing ---- */

/* How long a node has been silent, of the time that we have waited (milliseconds). */
static uint32_t silence(const struct nicbarr_wait *wait, const struct mcp_missing *missing,
                        uint32_t now_ms)
{
    const uint32_t waited_ms = now_ms - wait->began_ms;
    const uint32_t since_ms = now_ms - missing->heard_ms;
    return 0 != missing->heard_ms && since_ms < waited_ms ? since_ms : waited_ms;
}

/* Nodes that are missing, and for how long each has been silent. */
struct silent {
    struct mcp_missing node[LISTED];
    uint32_t silence_ms[LISTED];
    uint32_t count;
};

/* Ask the NIC. */
static void find_missing(struct myr_nic_group *group, const struct nicbarr_wait *wait,
                         struct silent *silent)
{
    silent->count = myr_nic_group_missing(group, silent->node, LISTED);
    const uint32_t now_ms = nicbarr_now_ms();
    for (uint32_t s = 0; s < silent->count; ++s) {
        silent->silence_ms[s] = silence(wait, &silent->node[s], now_ms);
    }
}

/* The longest silence, and whose it is; 0: nobody is missing. */
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

/* Keep those that have been silent for at least this long. */
static void keep_silent(struct silent *silent, uint32_t least_ms)
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

uint32_t nicbarr_overdue_silence(struct myr_nic_group *group, const struct nicbarr_wait *wait,
                                 uint32_t *node)
{
    struct silent missing;
    find_missing(group, wait, &missing);
    return longest_silence(&missing, node);
}

/* ---- nodes that were given up ---- */

/*
 * Silence is a node's, not a group's: whoever has waited for a node in vain need not do so again in
 * the next group. A NIC that is alive answers a question, and one that waits asks every 64 ms
 * (backoff.h): so one that was given up, and from which nothing has come since in NICBARR_LOOK_MS
 * of waiting for it, is given up at once. A sign of life ends that.
 *
 * Beyond LOST nodes the one that was given up first is forgotten: waiting for it takes
 * coll_nicbarr_timeout again.
 */
static struct {
    pthread_mutex_t lock;
    uint32_t next;
    struct {
        const struct myr_nic_name *name; /* as peers.c knows it: there is one of each */
        uint32_t when_ms;
    } of[LOST];
} lost = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What the group's NICs call a node; NULL where they have none. */
static const struct myr_nic_name *name_of(const mca_coll_nicbarr_module_t *module,
                                          const struct myr_nic_group *group, uint32_t node)
{
    const struct myr_nic_name *const *names = module->nodes.names[group->tag];
    return NULL == names || node >= module->nodes.nodes ? NULL : names[node];
}

/* Its place; LOST: it was not given up. With the lock held. */
static uint32_t find_lost(const struct myr_nic_name *name)
{
    uint32_t place = 0;
    while (place < LOST && (NULL == name || name != lost.of[place].name)) {
        ++place;
    }
    return place;
}

static void remember_lost(const struct myr_nic_name *name)
{
    if (NULL == name) {
        return;
    }
    pthread_mutex_lock(&lost.lock);
    uint32_t place = find_lost(name);
    if (LOST == place) {
        place = lost.next++ % LOST;
    }
    lost.of[place].name = name;
    lost.of[place].when_ms = nicbarr_now_ms();
    pthread_mutex_unlock(&lost.lock);
}

/* Was it given up, with no sign of life since? */
static bool still_lost(const struct myr_nic_name *name, uint32_t heard_ms)
{
    pthread_mutex_lock(&lost.lock);
    const uint32_t place = find_lost(name);
    bool is_lost = LOST != place;
    if (is_lost && 0 != heard_ms && (int32_t)(heard_ms - lost.of[place].when_ms) > 0) {
        lost.of[place].name = NULL;
        is_lost = false;
    }
    pthread_mutex_unlock(&lost.lock);
    return is_lost;
}

/* The first of the missing that is to be given up without waiting for it any longer. */
static bool find_still_lost(const mca_coll_nicbarr_module_t *module,
                            const struct myr_nic_group *group, const struct silent *silent,
                            uint32_t *node)
{
    bool found = false;
    for (uint32_t s = 0; s < silent->count && !found; ++s) {
        const struct mcp_missing *one = &silent->node[s];
        found = silent->silence_ms[s] >= NICBARR_LOOK_MS &&
                still_lost(name_of(module, group, one->node), one->heard_ms);
        *node = found ? one->node : *node;
    }
    return found;
}

/* ---- in words ---- */

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

/* The host of a node, and its ranks. */
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
            append_text(line, ", silent all the time)");
        } else {
            append_text(line, ", last heard of %.1f s ago)",
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

static void warn(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                 const struct myr_nic_group *group, const struct silent *silent,
                 const struct nicbarr_wait *wait)
{
    const int timeout = mca_coll_nicbarr_component.parameters.timeout;
    struct line line;
    begin_line(&line, comm, group, wait);
    append_text(&line, " without a sign of life of ");
    add_silent(&line, module, comm, silent);
    if (0 == timeout) {
        append_text(&line, "; it goes on waiting");
    } else {
        append_text(&line, "; it gives up after %d s of silence (coll_nicbarr_timeout)", timeout);
    }
    output_line(&line);
}

/* ---- the end of a group ---- */

/* What kept it from being completed, once for a communicator. */
static void tell_failure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    struct line line;
    uint32_t node;
    if (module->told) {
        return;
    }
    module->told = true;
    begin_line(&line, comm, group, wait);
    if (!myr_nic_group_failed(group, &node)) {
        const struct myr_nic_kind *kind = nicbarr_kind(group->tag);
        append_text(&line,
                    " and will not be completed: %s of this node is gone, or a process died that "
                    "ran it, or is stopped there%s%s%s",
                    kind->title, NULL == kind->absent ? "" : " (",
                    NULL == kind->absent ? "" : kind->absent, NULL == kind->absent ? "" : ")");
    } else if (node == module->nodes.node) {
        append_text(&line,
                    " and will not be completed: the others have given this node up, or a process "
                    "of it has died");
    } else if (node < module->nodes.nodes) {
        append_text(&line, " and will not be completed: no sign of life, or the end, of ");
        add_node(&line, module, comm, node);
        append_text(&line, ")");
    }
    output_line(&line);
}

/* From now on all barriers of the communicator fail at once. */
static int give_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                   struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    tell_failure(module, comm, group, wait);
    nicbarr_barrier_event(module, comm, NICBARR_EVENT_LOST);
    return NICBARR_PROC_FAILED;
}

int nicbarr_overdue_look(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, struct nicbarr_wait *wait)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    const uint32_t warn_ms = (uint32_t)parameters->warn * 1000;
    const uint32_t timeout_ms = (uint32_t)parameters->timeout * 1000;
    struct silent silent;
    uint32_t node;
    if (myr_nic_group_over(group)) {
        if (myr_nic_group_failed(group, &node) && node != module->nodes.node) {
            remember_lost(name_of(module, group, node)); /* another one has waited for it */
        }
        return give_up(module, comm, group, wait);
    }
    find_missing(group, wait, &silent);
    const uint32_t longest_ms = longest_silence(&silent, &node);
    if (0 != timeout_ms &&
        (longest_ms >= timeout_ms || find_still_lost(module, group, &silent, &node))) {
        remember_lost(name_of(module, group, node));
        myr_nic_group_fail(group, node);
        return give_up(module, comm, group, wait);
    }
    if (0 != warn_ms && longest_ms >= warn_ms && !wait->warned) {
        keep_silent(&silent, warn_ms);
        warn(module, comm, group, &silent, wait);
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
        append_text(&line, " and goes on now: all nodes have come");
        output_line(&line);
    }
}

/* ---- waiting ---- */

static bool is_over(const struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    return wait->block ? myr_nic_bcast_test(group) : myr_nic_group_test(group, wait->epoch);
}

bool nicbarr_overdue_more(struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    return wait->block ? myr_nic_group_wait_bcast(group, NICBARR_LOOK_US)
                       : myr_nic_group_wait(group, wait->epoch, NICBARR_LOOK_US);
}

static int go_on_waiting(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, struct nicbarr_wait wait)
{
    const struct myr_key key = nicbarr_record_key(module, comm, 0);
    struct myr_shown_wait *shown = nicbarr_wait_show(comm, &key);
    int rc;
    wait.began_ms = nicbarr_now_ms() - NICBARR_LOOK_MS;
    do {
        rc = nicbarr_overdue_look(module, comm, group, &wait);
    } while (OMPI_SUCCESS == rc && !nicbarr_overdue_more(group, &wait));
    myr_wait_hide(shown);
    if (OMPI_SUCCESS != rc) { /* it may have come to an end in the very last moment */
        return is_over(group, &wait) ? OMPI_SUCCESS : rc;
    }
    nicbarr_overdue_end(comm, group, &wait);
    return OMPI_SUCCESS;
}

int nicbarr_overdue_wait(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, uint32_t epoch)
{
    return go_on_waiting(module, comm, group, (struct nicbarr_wait){.epoch = epoch});
}

int nicbarr_overdue_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group)
{
    return go_on_waiting(module, comm, group, (struct nicbarr_wait){.block = true});
}
