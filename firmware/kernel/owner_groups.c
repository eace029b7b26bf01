/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, inspects and closes groups of the kernel NIC; see owner.h. */
#include "firmware/kernel/owner_inside.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"

uint32_t mcp_kernel_next_number(const struct mcp_kernel *kernel)
{
    uint32_t number = 0;
    while (number < MCP_KERNEL_GROUPS && 0 != (kernel->numbers[number / 64] >> number % 64 & 1)) {
        ++number;
    }
    return number;
}

void mcp_kernel_take_number(struct mcp_kernel *kernel, uint32_t number)
{
    kernel->numbers[number / 64] |= UINT64_C(1) << number % 64;
}

static int add_group(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan, uint32_t line,
                     uint32_t buffer, uint32_t number)
{
    struct mcp_kernel_group *group = calloc(1, sizeof(*group));
    if (NULL == group) {
        errno = ENOMEM;
        return -1;
    }
    group->uid = plan->uid;
    group->line = line;
    group->buffer = buffer;
    group->number = (uint16_t)number;
    group->group.key = plan->key;
    group->group.secret = plan->secret;
    group->group.node = (uint16_t)plan->node;
    group->group.last_node = (uint16_t)(plan->nodes - 1);
    group->group.nsteps = plan->nsteps;
    group->group.nsends = plan->nsends;
    group->group.nwaits = plan->nwaits;
    group->group.buffer_blocks = plan->buffer_blocks;
    group->group.unit_most = plan->unit_most;
    group->group.window = plan->window;
    group->group.slot_bytes = plan->slot_bytes;
    memcpy(group->steps, plan->steps, sizeof(group->steps));
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const struct mcp_kernel_peer *peer = &plan->peers[p];
        group->peers[p] = (struct mcp_peer){mcp_kernel_find_neighbour(kernel, &peer->ip),
                                            peer->node, peer->slot, peer->blocks, peer->at};
    }
    const int rc = bpf_map__update_elem(kernel->program->maps.groups, &plan->key, sizeof(plan->key),
                                        group, sizeof(*group), BPF_NOEXIST);
    if (rc >= 0) {
        mcp_kernel_need_peers(kernel, group, 1);
        mcp_kernel_take_number(kernel, number);
    }
    free(group);
    return rc;
}

/* Runs one of the owner's programs on the release or buffer with this index. */
static int run_owner_program(const struct bpf_program *program, uint32_t index)
{
    uint8_t nothing[ETH_ZLEN] = {0};
    struct __sk_buff order = {.mark = index};
    struct bpf_test_run_opts run = {
        .sz = sizeof(run),
        .data_in = nothing,
        .data_size_in = sizeof(nothing),
        .ctx_in = &order,
        .ctx_size_in = sizeof(order),
    };
    const int rc = bpf_prog_test_run_opts(bpf_program__fd(program), &run);
    return rc < 0 || 0 != run.retval ? -1 : 0;
}

/* Clears a release that another group has used before, in which its last epoch is still stored. If
 * the new group broadcasts, also clears the buffer, whose contents would be mistaken for broadcasts
 * of the new group. */
static int clear_pages(const struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                       uint32_t line, uint32_t buffer)
{
    const struct program *program = kernel->program;
    return run_owner_program(program->progs.mcp_clear, line) < 0 ||
                   (0 != plan->window &&
                    run_owner_program(program->progs.mcp_clear_buffer, buffer) < 0)
               ? -1
               : 0;
}

bool mcp_kernel_has_buffer(uint32_t buffer_blocks, uint32_t window)
{
    return 0 != buffer_blocks || 0 != window;
}

void mcp_kernel_count_carrying(const struct mcp_kernel *kernel, int more)
{
    kernel->program->data_owner->carrying += (uint32_t)more;
}

/* Returns the release and the buffer to their pages. */
static void free_pages(const struct mcp_kernel *kernel, uint32_t line, uint32_t buffer)
{
    if (MCP_KERNEL_NOWHERE != line) {
        mcp_pages_release(kernel->pages, line);
    }
    if (MCP_KERNEL_NOWHERE != buffer) {
        mcp_pages_release(kernel->buffers, buffer);
    }
}

int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                          struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY])
{
    if (plan->nsteps > MCP_KERNEL_STEPS || plan->nsends > MCP_KERNEL_MESSAGES ||
        plan->nwaits > MCP_KERNEL_MESSAGES) {
        return mcp_kernel_refuse(why, "the schedule is too long for the kernel NIC");
    }
    const bool carries = mcp_kernel_has_buffer(plan->buffer_blocks, plan->window);
    uint32_t line = MCP_KERNEL_NOWHERE, buffer = MCP_KERNEL_NOWHERE;
    seen->page = mcp_pages_allocate(kernel->pages, plan->uid, &line);
    seen->buffer = carries ? mcp_pages_allocate(kernel->buffers, plan->uid, &buffer) : -1;
    seen->line = line % MCP_KERNEL_LINES;
    seen->number = mcp_kernel_next_number(kernel);
    mcp_kernel_count_carrying(kernel, carries);
    if (MCP_KERNEL_GROUPS == seen->number) {
        errno = ENOSPC;
    }
    if (MCP_KERNEL_GROUPS == seen->number || seen->page < 0 || (carries && seen->buffer < 0) ||
        clear_pages(kernel, plan, line, buffer) < 0 ||
        add_group(kernel, plan, line, buffer, seen->number) < 0) {
        mcp_kernel_refuse(why, "cannot add a group to the kernel NIC: %s", strerror(errno));
        mcp_kernel_count_carrying(kernel, -carries);
        free_pages(kernel, line, buffer);
        return -1;
    }
    return 0;
}

bool mcp_kernel_lookup(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_group *group)
{
    return 0 == bpf_map__lookup_elem(kernel->program->maps.groups, &key, sizeof(key), group,
                                     sizeof(*group), BPF_F_LOCK);
}

/* Removes the key from a group that is being closed, and then frees its release and buffer. A
 * program on another CPU may still have a pointer to the group, whose memory may be reused
 * meanwhile. The program detects this by checking the key while it holds the group's lock
 * (program/hold.h). */
static bool invalidate_group(const struct mcp_kernel *kernel, struct mcp_kernel_group *group)
{
    const uint64_t key = group->group.key;
    const uint32_t line = group->line, buffer = group->buffer;
    group->group.key = 0;
    group->line = group->buffer = MCP_KERNEL_NOWHERE;
    if (bpf_map__update_elem(kernel->program->maps.groups, &key, sizeof(key), group, sizeof(*group),
                             BPF_F_LOCK) < 0) {
        return false;
    }
    free_pages(kernel, line, buffer);
    return true;
}

/* Before a group is deleted, its final state is recorded, from which late requests are answered;
 * until then, the program answers requests from the group itself. If this process is killed before
 * the deletion, its successor finds either a complete group, or a group without a release, which it
 * only has to delete. The counts of groups and of their peers are decremented last, when no program
 * can find the group any more. */
bool mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key, bool fails)
{
    struct mcp_kernel_group group;
    if (!mcp_kernel_lookup(kernel, key, &group)) {
        return ENOENT == errno;
    }
    const struct mcp_kernel_late last = {
        .ending = mcp_ending_of(&group.group, fails),
        .secret = group.group.secret,
        .closed_ns = os_now_ns(),
        .uid = group.uid,
    };
    if (bpf_map__update_elem(kernel->program->maps.late, &key, sizeof(key), &last, sizeof(last),
                             BPF_ANY) < 0 ||
        !invalidate_group(kernel, &group)) {
        return false;
    }
    (void)bpf_map__delete_elem(kernel->program->maps.groups, &key, sizeof(key), 0);
    kernel->numbers[group.number / 64] &= ~(UINT64_C(1) << group.number % 64);
    mcp_kernel_need_peers(kernel, &group, UINT32_MAX);
    mcp_kernel_count_carrying(
        kernel, -mcp_kernel_has_buffer(group.group.buffer_blocks, group.group.window));
    return true;
}

void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key)
{
    (void)bpf_map__delete_elem(kernel->program->maps.late, &key, sizeof(key), 0);
}

int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done)
{
    struct mcp_kernel_group group;
    if (!mcp_kernel_lookup(kernel, key, &group)) {
        return -1;
    }
    *done = myr_load_relaxed(&group.group.done);
    return mcp_group_waits_now(&group.group);
}

uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key)
{
    struct mcp_kernel_group group;
    return mcp_kernel_lookup(kernel, key, &group) ? myr_load_relaxed(&group.group.failed) : 0;
}

uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_missing list[MCP_KERNEL_MESSAGES])
{
    struct mcp_kernel_group group;
    uint32_t count = 0;
    if (!mcp_kernel_lookup(kernel, key, &group) || !mcp_group_waits_now(&group.group) ||
        group.group.step >= group.group.nsteps) {
        return 0;
    }
    const uint32_t epoch = myr_load_relaxed(&group.group.done) + 1, first = group.group.first_wait;
    for (uint32_t slot = first; slot < first + group.steps[group.group.step].waits; ++slot) {
        if (!myr_epoch_reached(group.arrivals[slot], epoch)) {
            list[count++] = (struct mcp_missing){group.peers[group.group.nsends + slot].node,
                                                 group.heard[slot]};
        }
    }
    return count;
}

int mcp_kernel_ring(struct mcp_kernel *kernel, uint64_t key, enum mcp_ring ring)
{
    struct mcp_kernel_group group;
    if (!mcp_kernel_lookup(kernel, key, &group)) {
        return -1;
    }
    const uint32_t about = MCP_RING_FAIL == ring      ? group.group.node
                           : MCP_RING_CLOSING == ring ? group.group.started + (0 == group.leaves)
                                                      : 0;
    const struct mcp_doorbell bell = mcp_doorbell(ring, about, key);
    const struct mcp_address peer =
        mcp_address_of(&kernel->neighbour[group.peers[0].link].ip, kernel->address.port);
    return mcp_bell_ring(&kernel->bell, &bell, sizeof(bell), &peer) ? 0 : -1;
}

void mcp_kernel_group_give_up(struct mcp_kernel *kernel, uint64_t key)
{
    struct mcp_kernel_group group;
    if (mcp_kernel_lookup(kernel, key, &group)) {
        (void)run_owner_program(kernel->program->progs.mcp_give_up, group.line);
    }
}

bool mcp_kernel_group_begin_closing(struct mcp_kernel *kernel, uint64_t key, uint32_t *epoch)
{
    struct mcp_kernel_group group;
    if (!mcp_kernel_lookup(kernel, key, &group) || !mcp_group_owes(&group.group)) {
        return false;
    }
    *epoch = group.group.started + 1;
    (void)mcp_kernel_ring(kernel, key, MCP_RING_CLOSING);
    return true;
}
