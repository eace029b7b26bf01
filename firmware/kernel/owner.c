/* SPDX-License-Identifier: BSD-3-Clause */
/* The life cycle of the owner of the kernel NIC; see owner.h. Features of the kernel are detected
 * by trying them. */
#include "firmware/kernel/owner_inside.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <net/if_arp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"

int mcp_kernel_refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, MCP_KERNEL_WHY, format, arguments);
    va_end(arguments);
    return -1;
}

/* ---- loading ---- */

static int find_nic_address(struct mcp_kernel_nic_address *address, char *name, char *why)
{
    char text[MCP_IP_TEXT];
    struct ifreq about = {.ifr_name = ""};
    address->interface = mcp_interface_of(&address->ip, name);
    snprintf(about.ifr_name, sizeof(about.ifr_name), "%s", name);
    const int asking = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = asking >= 0 && 0 != address->interface &&
                       0 == ioctl(asking, SIOCGIFHWADDR, &about) &&
                       ARPHRD_ETHER == about.ifr_hwaddr.sa_family;
    if (asking >= 0) {
        close(asking);
    }
    if (!known) {
        return mcp_kernel_refuse(why, "no Ethernet interface has the address %s",
                                 mcp_ip_text(&address->ip, text));
    }
    memcpy(address->mac, about.ifr_hwaddr.sa_data, sizeof(address->mac));
    return 0;
}

static int make_pages(struct mcp_kernel *kernel, char *why)
{
    const struct program *program = kernel->program;
    const bool batch = mcp_kernel_may("batch"), kept = mcp_pins_there(&kernel->pins);
    kernel->pages_kept = (struct mcp_pages_kept){&kernel->pins, bpf_map__fd(program->maps.owners)};
    kernel->pages = mcp_pages_make(bpf_map__fd(program->maps.pages), &mcp_pages_of_lines, batch,
                                   kept ? &kernel->pages_kept : NULL);
    kernel->buffers = mcp_pages_make(bpf_map__fd(program->maps.buffers), &mcp_pages_of_buffers,
                                     batch, kept ? &kernel->pages_kept : NULL);
    return NULL == kernel->pages || NULL == kernel->buffers
               ? mcp_kernel_refuse(why,
                                   "cannot allocate memory for the NIC's groups in the kernel: %s",
                                   strerror(errno))
               : 0;
}

/* Loads the NIC. If `warning` is NULL, the NIC is not pinned. */
static int load_nic(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                    char *warning, char *why)
{
    struct mcp_kernel *loading = calloc(1, sizeof(*loading));
    char name[64];
    if (NULL == loading) {
        return mcp_kernel_refuse(why, "out of memory");
    }
    loading->address = (struct mcp_kernel_nic_address){.ip = *ip, .port = port, .owner = geteuid()};
    loading->hooks = MCP_NO_HOOKS;
    loading->pins = MCP_NO_PINS;
    loading->bell.socket = loading->asking = -1;
    /* Names in a BPF file system must not contain dots. */
    snprintf(name, sizeof(name), "%08x%08x%08x%08x-%u", ntohl(ip->word[0]), ntohl(ip->word[1]),
             ntohl(ip->word[2]), ntohl(ip->word[3]), ntohs(port));
    /* The number is read now, because the owner may no longer have access to /sys later. */
    loading->processors = libbpf_num_possible_cpus();
    int rc = find_nic_address(&loading->address, loading->interface, why);
    if (0 == rc && loading->processors < 1) {
        rc = mcp_kernel_refuse(why, "cannot determine the number of CPUs");
    }
    if (0 == rc) {
        rc = NULL != warning && mcp_pins_open(&loading->pins, name, warning)
                 ? mcp_kernel_load_maps_kept(loading, warning, why)
                 : mcp_kernel_load_program(&loading->program, &loading->address, &loading->pins,
                                           why);
    }
    if (0 == rc) {
        rc = make_pages(loading, why);
    }
    if (rc < 0) {
        mcp_kernel_close(loading);
        return -1;
    }
    if (loading->taken) {
        mcp_kernel_take_over(loading);
    }
    *kernel = loading;
    return 0;
}

int mcp_kernel_load(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                    char why[MCP_KERNEL_WHY])
{
    return load_nic(ip, port, kernel, NULL, why);
}

int mcp_kernel_load_kept(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                         char warning[MCP_KERNEL_WHY], char why[MCP_KERNEL_WHY])
{
    warning[0] = '\0';
    return load_nic(ip, port, kernel, warning, why);
}

void mcp_kernel_count_by(struct mcp_kernel *kernel, mcp_account_fn account)
{
    mcp_pages_count_by(kernel->pages, account);
    mcp_pages_count_by(kernel->buffers, account);
}

/* ---- stuck groups ---- */

static int consume_notification(void *context, void *notification, size_t bytes)
{
    const struct mcp_kernel *kernel = context;
    if (sizeof(struct mcp_kernel_stuck) == bytes) {
        kernel->notify(kernel->context, notification);
    }
    return 0;
}

int mcp_kernel_watch(const struct mcp_kernel *kernel)
{
    return NULL == kernel->notifications ? -1 : ring_buffer__epoll_fd(kernel->notifications);
}

void mcp_kernel_consume(struct mcp_kernel *kernel, mcp_kernel_stuck_fn notify, void *context)
{
    kernel->notify = notify;
    kernel->context = context;
    (void)ring_buffer__consume(kernel->notifications);
}

static int start_timer(struct mcp_kernel *kernel, char *why)
{
    const struct program *program = kernel->program;
    uint8_t nothing[ETH_ZLEN] = {0};
    struct bpf_test_run_opts run = {
        .sz = sizeof(run), .data_in = nothing, .data_size_in = sizeof(nothing)};
    if (!program->rodata->timed) {
        return 0;
    }
    kernel->notifications =
        ring_buffer__new(bpf_map__fd(program->maps.stuck), consume_notification, kernel, NULL);
    if (NULL == kernel->notifications ||
        bpf_prog_test_run_opts(bpf_program__fd(program->progs.mcp_begin), &run) < 0 ||
        0 != run.retval) {
        return mcp_kernel_refuse(
            why, "cannot start the timer that checks the kernel NIC's groups: %s", strerror(errno));
    }
    return 0;
}

/* ---- attaching to the interface ---- */

int mcp_kernel_attach(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY])
{
    const struct program *program = kernel->program;
    const int programs[MCP_WAYS] = {
        [MCP_IN] = bpf_program__fd(program->progs.mcp_receive),
        [MCP_OUT] = bpf_program__fd(program->progs.mcp_transmit),
    };
    char name[MCP_KERNEL_WHY], at[MCP_ADDRESS_TEXT];
    if (start_timer(kernel, why) < 0) {
        return -1;
    }
    snprintf(name, sizeof(name), "nicbarr-%s",
             mcp_address_text(&kernel->address.ip, kernel->address.port, at));
    if (!mcp_bell_make(&kernel->bell, &kernel->address.ip, kernel->address.interface,
                       kernel->address.port)) {
        return mcp_kernel_refuse(why, "cannot open the doorbell's socket: %s", strerror(errno));
    }
    kernel->asking = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (kernel->asking < 0) {
        return mcp_kernel_refuse(why, "cannot open a socket for looking up hardware addresses: %s",
                                 strerror(errno));
    }
    if (mcp_hooks_attach(&kernel->hooks, kernel->address.interface, programs, name,
                         mcp_kernel_may("tcx"),
                         mcp_pins_there(&kernel->pins) ? &kernel->pins : NULL) < 0) {
        return EADDRINUSE == errno
                   ? mcp_kernel_refuse(
                         why,
                         "cannot attach to interface %s: it has an \"ingress\" qdisc where the NIC "
                         "needs \"clsact\", which can do the same (see tc-bpf(8))",
                         kernel->interface)
                   : mcp_kernel_refuse(
                         why, "cannot attach to interface %s: %s (the kernel needs tcx or clsact)",
                         kernel->interface, strerror(errno));
    }
    kernel->attached = true;
    kernel->kept.complete = 1;
    (void)mcp_kernel_write_kept(kernel);
    return 0;
}

struct mcp_hooks *mcp_kernel_hooks(struct mcp_kernel *kernel)
{
    return &kernel->hooks;
}

static void close_nic(struct mcp_kernel *kernel)
{
    mcp_hooks_detach(&kernel->hooks);
    if (kernel->bell.socket >= 0) {
        close(kernel->bell.socket);
    }
    if (kernel->asking >= 0) {
        close(kernel->asking);
    }
    mcp_pages_free(kernel->pages);
    mcp_pages_free(kernel->buffers);
    ring_buffer__free(kernel->notifications);
    mcp_pins_close(&kernel->pins, false);
    program__destroy(kernel->program);
    free(kernel);
}

void mcp_kernel_close(struct mcp_kernel *kernel)
{
    if (kernel->attached || !kernel->taken) {
        mcp_kernel_unpin(kernel);
    }
    close_nic(kernel);
}

void mcp_kernel_leave(struct mcp_kernel *kernel)
{
    mcp_hooks_forget(&kernel->hooks);
    close_nic(kernel);
}

const char *mcp_kernel_interface(const struct mcp_kernel *kernel)
{
    return kernel->interface;
}

void mcp_kernel_rename(struct mcp_kernel *kernel, const char *interface)
{
    snprintf(kernel->interface, sizeof(kernel->interface), "%s", interface);
}

/* ---- counters ---- */

void mcp_kernel_count(struct mcp_kernel *kernel, struct mcp_counters *counters)
{
    const uint32_t zero = 0;
    memset(counters, 0, sizeof(*counters));
    struct mcp_counters *each = calloc((size_t)kernel->processors, sizeof(*each));
    if (NULL == each ||
        bpf_map_lookup_elem(bpf_map__fd(kernel->program->maps.counters), &zero, each) < 0) {
        free(each);
        return;
    }
    for (int p = 0; p < kernel->processors; ++p) {
#define ADD(name, text) counters->name += each[p].name;
        MCP_COUNTERS(ADD)
#undef ADD
    }
    free(each);
}
