/* SPDX-License-Identifier: BSD-3-Clause */
/* See elements.h. */
#define MCP_KERNEL_INSIDE /* for the layout of struct mcp_kernel_group */
#include <bpf/bpf.h>
#include <unistd.h>

#include "firmware/kernel/kernel.h"
#include "tests/unit/kernel/elements.h"
#include "tests/unit/test.h"

int find_map(const char *name, uint32_t value_bytes)
{
    for (int fd = 3; fd < sysconf(_SC_OPEN_MAX); ++fd) {
        struct bpf_map_info about = {.type = 0};
        uint32_t bytes = sizeof(about);
        if (0 == bpf_obj_get_info_by_fd(fd, &about, &bytes) && 0 == strcmp(name, about.name) &&
            (0 == value_bytes || value_bytes == about.value_size)) {
            return fd;
        }
    }
    fail_msg("there is no map %s", name);
    return -1;
}

static int find_groups(void)
{
    return find_map("groups", sizeof(struct mcp_kernel_group));
}

size_t element_bytes(void)
{
    return sizeof(struct mcp_kernel_group);
}

void copy_element(uint64_t key, void *copy)
{
    assert_int_equal(bpf_map_lookup_elem_flags(find_groups(), &key, copy, BPF_F_LOCK), 0);
}

void set_inner_key(uint64_t key, uint64_t inner_key)
{
    struct mcp_kernel_group group;
    copy_element(key, &group);
    group.group.key = inner_key;
    assert_int_equal(bpf_map_update_elem(find_groups(), &key, &group, BPF_F_LOCK), 0);
}

void fill_late(bool full)
{
    const struct mcp_kernel_late nothing = {.closed_ns = 0};
    const int late = find_map("late", sizeof(nothing));
    for (uint64_t key = 1; key <= MCP_KERNEL_LATE; ++key) {
        (void)(full ? bpf_map_update_elem(late, &key, &nothing, BPF_ANY)
                    : bpf_map_delete_elem(late, &key));
    }
}
