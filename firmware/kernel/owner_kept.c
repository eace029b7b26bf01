/* SPDX-License-Identifier: BSD-3-Clause */
/* State that outlives the owner of a kernel NIC, and its takeover by the next owner; see owner.h.
 *
 * The NIC's maps and links are pinned. An owner that takes over the NIC loads its own program with
 * these maps, and replaces the previous program in the links. The two owners may be different
 * builds, provided that the formats of their maps are equal, which is verified by MCP_KERNEL_FORMAT
 * and by libbpf, which compares sizes. The new owner reconstructs all other state from the maps; it
 * does not communicate with the previous one. */
#include "firmware/kernel/owner_inside.h"

#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

bool mcp_kernel_write_kept(struct mcp_kernel *kernel)
{
    const uint32_t zero = 0;
    return bpf_map__update_elem(kernel->program->maps.kept, &zero, sizeof(zero), &kernel->kept,
                                sizeof(kernel->kept), BPF_ANY) >= 0;
}

/* Returns whether there is a NIC to take over. If there is a NIC that cannot be taken over, returns
 * false, with the reason in `warning`. */
static bool find_kept_nic(struct mcp_kernel *kernel, char *warning)
{
    const uint32_t zero = 0;
    struct mcp_kernel_kept *kept = &kernel->kept;
    const int map = mcp_pins_get(&kernel->pins, "kept");
    if (map < 0) {
        return false;
    }
    struct bpf_map_info about = {0};
    uint32_t bytes = sizeof(about);
    const bool known = bpf_obj_get_info_by_fd(map, &about, &bytes) >= 0 &&
                       sizeof(*kept) == about.value_size &&
                       bpf_map_lookup_elem(map, &zero, kept) >= 0;
    close(map);
    if (!known || MCP_KERNEL_FORMAT != kept->format) {
        mcp_kernel_refuse(
            warning,
            "cannot take over the NIC that an earlier myrd --kernel left, as it is of "
            "another version: starting a new one; operations under way on the old one fail");
        return false;
    }
    if (0 != kept->complete && kernel->address.interface != kept->interface) {
        mcp_kernel_refuse(
            warning, "cannot take over the NIC that an earlier myrd --kernel left, as it was on "
                     "another interface: starting a new one; operations under way on the old one "
                     "fail");
        return false;
    }
    return 0 != kept->complete;
}

int mcp_kernel_load_maps_kept(struct mcp_kernel *kernel, char *warning, char *why)
{
    kernel->taken = find_kept_nic(kernel, warning);
    if (kernel->taken &&
        mcp_kernel_load_program(&kernel->program, &kernel->address, &kernel->pins, why) < 0) {
        kernel->taken = false;
        mcp_kernel_refuse(
            warning, "cannot take over the NIC that an earlier myrd --kernel left, as its settings "
                     "differ: starting a new one; operations under way on the old one fail");
    }
    if (!kernel->taken) {
        mcp_pins_clear(&kernel->pins);
        kernel->kept = (struct mcp_kernel_kept){.format = MCP_KERNEL_FORMAT,
                                                .interface = kernel->address.interface};
        if (mcp_kernel_load_program(&kernel->program, &kernel->address, &kernel->pins, why) < 0) {
            mcp_pins_clear(&kernel->pins);
            mcp_pins_close(&kernel->pins, true);
            return -1;
        }
        (void)mcp_kernel_write_kept(kernel);
    }
    return 0;
}

bool mcp_kernel_taken(const struct mcp_kernel *kernel)
{
    return kernel->taken;
}

struct mcp_pins *mcp_kernel_pins(struct mcp_kernel *kernel)
{
    return &kernel->pins;
}

void mcp_kernel_keep_key(struct mcp_kernel *kernel, uint64_t *key)
{
    if (kernel->taken) {
        *key = kernel->kept.key;
    } else {
        kernel->kept.key = *key;
        (void)mcp_kernel_write_kept(kernel);
    }
}

void mcp_kernel_unpin(struct mcp_kernel *kernel)
{
    struct bpf_map *map;
    if (!mcp_pins_there(&kernel->pins)) {
        return;
    }
    for (int way = MCP_IN; way < MCP_WAYS; ++way) {
        mcp_pins_drop(&kernel->pins, mcp_hooks_pins[way]);
    }
    bpf_object__for_each_map(map, kernel->program->obj)
    {
        mcp_pins_drop(&kernel->pins, bpf_map__name(map));
    }
    mcp_pins_drop_row(&kernel->pins, MCP_PIN_OF_LINES);
    mcp_pins_drop_row(&kernel->pins, MCP_PIN_OF_BUFFERS);
    mcp_pins_close(&kernel->pins, true);
}

/* ---- state of the previous owner ---- */

static bool next_key(const struct bpf_map *map, uint64_t *key)
{
    uint64_t next = 0;
    const bool more = bpf_map__get_next_key(map, 0 == *key ? NULL : key, &next, sizeof(next)) >= 0;
    *key = next;
    return more;
}

bool mcp_kernel_next_group(struct mcp_kernel *kernel, uint64_t *key)
{
    return next_key(kernel->program->maps.groups, key);
}

bool mcp_kernel_next_late(struct mcp_kernel *kernel, uint64_t *key, struct mcp_kernel_late *late)
{
    return next_key(kernel->program->maps.late, key) &&
           bpf_map__lookup_elem(kernel->program->maps.late, key, sizeof(*key), late, sizeof(*late),
                                0) >= 0;
}

static void recall_plan(const struct mcp_kernel *kernel, const struct mcp_kernel_group *group,
                        struct mcp_kernel_plan *plan)
{
    const struct mcp_group *engine = &group->group;
    memset(plan, 0, sizeof(*plan));
    plan->key = engine->key;
    plan->secret = engine->secret;
    plan->uid = group->uid;
    plan->nodes = engine->last_node + 1U;
    plan->node = engine->node;
    plan->nsteps = engine->nsteps;
    plan->nsends = engine->nsends;
    plan->nwaits = engine->nwaits;
    plan->buffer_blocks = engine->buffer_blocks;
    plan->unit_most = engine->unit_most;
    plan->window = engine->window;
    plan->slot_bytes = engine->slot_bytes;
    memcpy(plan->steps, group->steps, sizeof(plan->steps[0]) * plan->nsteps);
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const struct mcp_peer *peer = &group->peers[p];
        plan->peers[p] = (struct mcp_kernel_peer){.ip = kernel->neighbour[peer->link].ip,
                                                  .port = kernel->address.port,
                                                  .node = peer->node,
                                                  .slot = peer->slot,
                                                  .blocks = peer->blocks,
                                                  .at = peer->at};
    }
}

bool mcp_kernel_recall(struct mcp_kernel *kernel, uint64_t key,
                       struct mcp_kernel_recalled *recalled)
{
    struct mcp_kernel_group group;
    if (!mcp_kernel_lookup(kernel, key, &group)) {
        return false;
    }
    recall_plan(kernel, &group, &recalled->plan);
    recalled->seen = (struct mcp_kernel_seen){
        .page = mcp_pages_of(kernel->pages, group.line),
        .line = group.line % MCP_KERNEL_LINES,
        .buffer =
            MCP_KERNEL_NOWHERE == group.buffer ? -1 : mcp_pages_of(kernel->buffers, group.buffer),
        .number = group.number,
    };
    recalled->failed = 0 != myr_load_relaxed(&group.group.failed);
    recalled->leaves = 0 != group.leaves;
    recalled->last = group.group.started;
    return true;
}

void mcp_kernel_record_holder(struct mcp_kernel *kernel, uint32_t index,
                              const struct mcp_kernel_holder *holder)
{
    if (mcp_pins_there(&kernel->pins)) {
        (void)bpf_map__update_elem(kernel->program->maps.holders, &index, sizeof(index), holder,
                                   sizeof(*holder), BPF_ANY);
    }
}

void mcp_kernel_recall_holder(struct mcp_kernel *kernel, uint32_t index,
                              struct mcp_kernel_holder *holder)
{
    memset(holder, 0, sizeof(*holder));
    (void)bpf_map__lookup_elem(kernel->program->maps.holders, &index, sizeof(index), holder,
                               sizeof(*holder), 0);
}

/* Takes over all resources of the group and returns true, if they are intact. */
static bool retake_group(struct mcp_kernel *kernel, const struct mcp_kernel_group *group)
{
    const bool carries = mcp_kernel_has_buffer(group->group.buffer_blocks, group->group.window);
    for (uint32_t p = 0; p < group->group.nsends + group->group.nwaits; ++p) {
        if (group->peers[p].link >= MCP_KERNEL_NEIGHBOURS) {
            return false;
        }
    }
    return group->number < MCP_KERNEL_GROUPS &&
           mcp_pages_reserve(kernel->pages, group->uid, group->line) >= 0 &&
           (!carries || mcp_pages_reserve(kernel->buffers, group->uid, group->buffer) >= 0);
}

static void drop_group(const struct mcp_kernel *kernel, uint64_t key)
{
    (void)bpf_map__delete_elem(kernel->program->maps.groups, &key, sizeof(key), 0);
}

static void retake_groups(struct mcp_kernel *kernel)
{
    uint64_t key = 0, gone = 0;
    while (mcp_kernel_next_group(kernel, &key)) {
        struct mcp_kernel_group group;
        if (0 != gone) {
            drop_group(kernel, gone);
            gone = 0;
        }
        if (mcp_kernel_lookup(kernel, key, &group) && retake_group(kernel, &group)) {
            mcp_kernel_need_peers(kernel, &group, 1);
            mcp_kernel_take_number(kernel, group.number);
            mcp_kernel_count_carrying(
                kernel, mcp_kernel_has_buffer(group.group.buffer_blocks, group.group.window));
        } else {
            gone = key;
        }
    }
    if (0 != gone) {
        drop_group(kernel, gone);
    }
}

void mcp_kernel_take_over(struct mcp_kernel *kernel)
{
    for (uint32_t n = 1; n < MCP_KERNEL_NEIGHBOURS; ++n) {
        struct mcp_kernel_neighbour neighbour;
        if (bpf_map__lookup_elem(kernel->program->maps.neighbours, &n, sizeof(n), &neighbour,
                                 sizeof(neighbour), 0) >= 0 &&
            0 != neighbour.known) {
            kernel->neighbour[n].ip = neighbour.ip;
            kernel->neighbours = n;
        }
    }
    retake_groups(kernel);
}
