/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the program of the kernel NIC with the features that this kernel supports; see
 * owner_inside.h. */
#include "firmware/kernel/owner_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int ignore_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

bool mcp_kernel_may(const char *feature)
{
    const char *without = getenv("NICBARR_KERNEL_WITHOUT");
    return NULL == without || NULL == strstr(without, feature);
}

static bool has_helper(enum bpf_func_id helper)
{
    return 1 == libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, helper, NULL);
}

/* Sets the pin paths of the maps, so that libbpf reuses maps that are already pinned. */
static int pin_maps(const struct program *program, const struct mcp_pins *pins)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, program->obj)
    {
        char path[MCP_PIN_PATH];
        if (!bpf_map__is_internal(map) && (!mcp_pins_path(pins, bpf_map__name(map), path) ||
                                           bpf_map__set_pin_path(map, path) < 0)) {
            return -ENAMETOOLONG;
        }
    }
    return 0;
}

/* Loads the program with or without timers. Returns 0 or the error. */
static int try_load(struct program **program, const struct mcp_kernel_nic_address *address,
                    const struct mcp_pins *pins, bool timed)
{
    struct program *loading = program__open();
    if (NULL == loading) {
        return -errno;
    }
    memcpy((void *)&loading->rodata->nic, address, sizeof(*address));
    loading->rodata->six = !mcp_ip_is_4(&address->ip);
    loading->rodata->timed = timed;
    loading->rodata->loops = mcp_kernel_may("loop") && has_helper(BPF_FUNC_loop);
    (void)bpf_program__set_autoload(loading->progs.mcp_begin, timed);
    int err = mcp_pins_there(pins) ? pin_maps(loading, pins) : 0;
    if (0 == err) {
        err = program__load(loading);
    }
    if (err < 0) {
        program__destroy(loading);
        return err;
    }
    *program = loading;
    return 0;
}

int mcp_kernel_load_program(struct program **program, const struct mcp_kernel_nic_address *address,
                            const struct mcp_pins *pins, char *why)
{
    if (NULL == getenv("NICBARR_KERNEL_DEBUG")) {
        libbpf_set_print(ignore_message);
    }
    int err = try_load(program, address, pins, mcp_kernel_may("timer"));
    if (err < 0 && EPERM != -err) {
        err = try_load(program, address, pins, false);
    }
    if (EPERM == -err) {
        return mcp_kernel_refuse(
            why, "no permission to load BPF programs: run as root, or with CAP_BPF, CAP_NET_ADMIN "
                 "and CAP_PERFMON (in the initial user namespace)");
    }
    if (err < 0 && !has_helper(BPF_FUNC_for_each_map_elem)) {
        return mcp_kernel_refuse(why, "this kernel cannot run the NIC's BPF program, for lack of "
                                      "bpf_for_each_map_elem() (Linux 5.15 and newer have it)");
    }
    return err < 0 ? mcp_kernel_refuse(why,
                                       "the kernel rejects the NIC's BPF program: %s (it needs BPF "
                                       "and BTF; Linux 5.15 and newer have them)",
                                       strerror(-err))
                   : 0;
}
