/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's host CPU and its actions; see machine.h. */
#include "firmware/sim/machine_inside.h"

void sim_host_run(struct sim_node *node)
{
    struct sim_machine *m = node->machine;
    struct sim_work *work = sim_work_take(&node->host_work);
    const enum sim_notice notice = work->notice;
    sim_work_free(m, work);
    node->cursor_ps = m->now_ps;
    m->notice(node, notice);
    node->host_free_ps = node->cursor_ps;
    if (NULL != node->host_work.first) {
        sim_schedule(m, node->host_free_ps, EVENT_HOST_FREE, node->number, NULL);
    }
}

void sim_host_queue(struct sim_node *node, struct sim_work *work)
{
    const uint64_t now_ps = node->machine->now_ps;
    const bool first = NULL == node->host_work.first;
    sim_work_append(&node->host_work, work);
    if (first) {
        sim_schedule(node->machine, node->host_free_ps > now_ps ? node->host_free_ps : now_ps,
                     EVENT_HOST_FREE, node->number, NULL);
    }
}

void sim_host_begin(struct sim_node *node, uint64_t at_ps)
{
    struct sim_work *work = sim_work_new(node->machine, WORK_NOTICE, 0);
    if (NULL != work) {
        work->notice = SIM_BEGIN;
        sim_schedule(node->machine, at_ps, EVENT_HOST, node->number, work);
    }
}

void sim_host_spend(struct sim_node *node, double microseconds)
{
    const struct sim_parameters *p = &node->machine->parameters;
    const bool slow = p->slow_from > 0 && node->number >= (uint32_t)p->slow_from;
    node->cursor_ps += sim_ps(slow ? p->slow_factor * microseconds : microseconds);
}

/* Rings the doorbell: the NIC will process `work`. */
static void ring_doorbell(struct sim_node *node, struct sim_work *work)
{
    struct sim_machine *m = node->machine;
    sim_schedule(m, node->cursor_ps + sim_ps(m->parameters.doorbell_us), EVENT_NIC, node->number,
                 work);
}

void sim_host_start(struct sim_node *node, struct mcp_group *group, uint32_t epoch)
{
    struct sim_work *work = sim_work_new(node->machine, WORK_START, 0);
    if (NULL != work) {
        work->group = group;
        work->epoch = epoch;
        ring_doorbell(node, work);
    }
}

void sim_host_sends(struct sim_node *node, struct mcp_send_token *token, uint32_t sequence)
{
    struct sim_work *work = sim_work_new(node->machine, WORK_SENDS, 0);
    if (NULL != work) {
        work->token = token;
        work->sequence = sequence;
        ring_doorbell(node, work);
    }
}

void sim_host_provides(struct sim_node *node)
{
    struct sim_work *work = sim_work_new(node->machine, WORK_PROVIDES, 0);
    if (NULL != work) {
        ring_doorbell(node, work);
    }
}

void sim_host_copy(struct sim_node *node, size_t bytes)
{
    const struct sim_machine *m = node->machine;
    if (sim_host_copies(m, bytes)) {
        node->cursor_ps += sim_ps((double)bytes / m->parameters.copy_bytes_per_us);
    }
}

void sim_host_bcast(struct sim_node *node, uint32_t number, const void *block, uint32_t bytes)
{
    struct sim_work *work = sim_work_new(node->machine, WORK_BCAST, 0);
    if (NULL != work) {
        work->group = node->broadcasts;
        work->epoch = number;
        work->block = block;
        work->length = bytes;
        ring_doorbell(node, work);
    }
}

void sim_host_calls(struct sim_node *node, void *what)
{
    struct sim_work *work = sim_work_new(node->machine, WORK_CALL, 0);
    if (NULL != work) {
        work->what = what;
        ring_doorbell(node, work);
    }
}
