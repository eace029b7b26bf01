/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaches the programs to an interface; see hooks.h. rtnetlink(7) describes netlink and traffic
 * control. */
#include "firmware/kernel/hooks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/netlink.h"

/* ---- tcx ---- */

/* Linux 6.6; the headers may be older than the running kernel. */
enum { TCX_INGRESS = 46, TCX_EGRESS = 47, FIRST = 1 << 3 /* BPF_F_BEFORE */ };

static int link_program(int program, uint32_t interface, int hook)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.link_create.prog_fd = (uint32_t)program;
    attributes.link_create.target_ifindex = interface;
    attributes.link_create.attach_type = (uint32_t)hook;
    attributes.link_create.flags = FIRST;
    return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
}

const char *const mcp_hooks_pins[MCP_WAYS] = {[MCP_IN] = "in", [MCP_OUT] = "out"};

/* Replaces the program of a pinned link of an earlier NIC. Returns false if this is impossible, for
 * example because the interface was removed. */
static bool replace_program(int link, int program)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.link_update.link_fd = (uint32_t)link;
    attributes.link_update.new_prog_fd = (uint32_t)program;
    return 0 == syscall(SYS_bpf, BPF_LINK_UPDATE, &attributes, sizeof(attributes));
}

/* Gives this program to the pinned link and returns the link, or -1 if there is no usable one. */
static int reuse_link(enum mcp_way way, int program, const struct mcp_pins *pins)
{
    const int link = NULL == pins ? -1 : mcp_pins_get(pins, mcp_hooks_pins[way]);
    if (link >= 0 && !replace_program(link, program)) {
        close(link);
        mcp_pins_drop(pins, mcp_hooks_pins[way]);
        return -1;
    }
    return link;
}

static int get_link(const struct mcp_hooks *hooks, enum mcp_way way, int program,
                    const struct mcp_pins *pins)
{
    const int old = reuse_link(way, program, pins);
    if (old >= 0) {
        return old;
    }
    const int link =
        link_program(program, hooks->interface, MCP_IN == way ? TCX_INGRESS : TCX_EGRESS);
    if (link >= 0 && NULL != pins && mcp_pins_put(pins, mcp_hooks_pins[way], link) < 0) {
        const int err = errno;
        close(link);
        errno = EINVAL == err ? EIO : err;
        return -1;
    }
    return link;
}

/* Attaches the programs by tcx. Returns false with errno. EINVAL, while neither is attached, means
 * that this kernel has no tcx. */
static bool attach_by_tcx(struct mcp_hooks *hooks, const int program[MCP_WAYS],
                          const struct mcp_pins *pins)
{
    hooks->link[MCP_IN] = get_link(hooks, MCP_IN, program[MCP_IN], pins);
    if (hooks->link[MCP_IN] < 0) {
        return false;
    }
    hooks->link[MCP_OUT] = get_link(hooks, MCP_OUT, program[MCP_OUT], pins);
    return hooks->link[MCP_OUT] >= 0;
}

/* ---- requests by netlink ---- */

enum {
    ATTRIBUTES = 256, /* bytes; exceeds the size of all attributes of a request */
    ANSWER = 32768,   /* bytes; exceeds what the kernel puts into one message of a dump */
};

struct words {
    struct nlmsghdr header;
    struct tcmsg about;
    uint8_t attributes[ATTRIBUTES];
};

static const uint32_t parents[MCP_WAYS] = {
    TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
    TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
};

/* Appends an attribute and returns it, so that others can be nested in it. */
static struct rtattr *put_attribute(struct words *words, int type, const void *data, size_t bytes)
{
    struct rtattr *attribute =
        (struct rtattr *)(void *)((uint8_t *)words + NLMSG_ALIGN(words->header.nlmsg_len));
    *attribute = (struct rtattr){(unsigned short)RTA_LENGTH(bytes), (unsigned short)type};
    if (0 != bytes) {
        memcpy(RTA_DATA(attribute), data, bytes);
    }
    words->header.nlmsg_len = NLMSG_ALIGN(words->header.nlmsg_len) + RTA_SPACE(bytes);
    return attribute;
}

static struct words begin_netlink_request(uint16_t type, uint16_t flags, uint32_t interface,
                                          uint32_t parent, const char *kind)
{
    struct words words = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
                   .nlmsg_type = type,
                   .nlmsg_flags = NLM_F_REQUEST | flags},
        .about = {.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)interface, .tcm_parent = parent},
    };
    if (NULL != kind) {
        (void)put_attribute(&words, TCA_KIND, kind, strlen(kind) + 1);
    }
    return words;
}

/* A function that is called for each object of a dump. */
typedef void (*list_fn)(void *context, const struct nlmsghdr *thing);

/* Sends a netlink request and reads the reply. Returns 0, or -1 with errno. This does not block,
 * because the kernel replies while it executes the write(). Only read() and write() are used, as
 * mcp_hooks_remove() promises. */
static int perform_netlink_request(int socket, const struct words *words, list_fn list,
                                   void *context)
{
    _Alignas(struct nlmsghdr) static char answer[ANSWER];
    if ((ssize_t)words->header.nlmsg_len != write(socket, words, words->header.nlmsg_len)) {
        return -1;
    }
    for (;;) {
        const ssize_t bytes = read(socket, answer, sizeof(answer));
        if (bytes < 0) {
            return -1;
        }
        size_t left = (size_t)bytes;
        for (const struct nlmsghdr *one = (const void *)answer; NLMSG_OK(one, left);
             one = NLMSG_NEXT(one, left)) {
            if (NLMSG_ERROR == one->nlmsg_type || NLMSG_DONE == one->nlmsg_type) {
                const int rc = *(const int *)NLMSG_DATA(one);
                errno = -rc;
                return 0 == rc ? 0 : -1;
            }
            if (NULL != list) {
                list(context, one);
            }
        }
    }
}

/* ---- clsact ---- */

/* Ensures that the interface has a clsact qdisc. Its kind is verified, because with an "ingress"
 * qdisc in its place, the kernel would accept filters for both directions, but apply all of them to
 * incoming packets. (The kernel rejects a request that names another kind than the installed
 * one.) */
static int ensure_clsact(const struct mcp_hooks *hooks)
{
    struct words words = begin_netlink_request(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                                               hooks->interface, TC_H_CLSACT, "clsact");
    words.about.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    if (0 == perform_netlink_request(hooks->socket, &words, NULL, NULL)) {
        return 0;
    }
    if (EEXIST != errno) {
        return -1;
    }
    words = begin_netlink_request(RTM_GETQDISC, NLM_F_ACK, hooks->interface, TC_H_CLSACT, "clsact");
    if (0 != perform_netlink_request(hooks->socket, &words, NULL, NULL)) {
        errno = EINVAL == errno ? EADDRINUSE : errno;
        return -1;
    }
    return 0;
}

static int remove_filter(const struct mcp_hooks *hooks, enum mcp_way way,
                         const struct mcp_filter *filter)
{
    struct words words =
        begin_netlink_request(RTM_DELTFILTER, NLM_F_ACK, hooks->interface, parents[way], "bpf");
    words.about.tcm_handle = filter->handle;
    words.about.tcm_info = filter->info;
    return perform_netlink_request(hooks->socket, &words, NULL, NULL);
}

static bool attribute_equals(const struct rtattr *attribute, const char *text)
{
    return NULL != attribute && RTA_PAYLOAD(attribute) == strlen(text) + 1 &&
           0 == memcmp(RTA_DATA(attribute), text, strlen(text) + 1);
}

/* The filter of an earlier NIC of the same name. */
struct old {
    const char *name;
    struct mcp_filter filter;
};

static void match_stale_filter(void *context, const struct nlmsghdr *thing)
{
    struct old *old = context;
    const struct tcmsg *about = NLMSG_DATA(thing);
    if (RTM_NEWTFILTER != thing->nlmsg_type || thing->nlmsg_len < NLMSG_SPACE(sizeof(*about))) {
        return;
    }
    const struct rtattr *first = TCA_RTA(about);
    const size_t bytes = thing->nlmsg_len - NLMSG_SPACE(sizeof(*about));
    const struct rtattr *options = os_find_attribute(first, bytes, TCA_OPTIONS);
    if (attribute_equals(os_find_attribute(first, bytes, TCA_KIND), "bpf") && NULL != options &&
        attribute_equals(os_find_attribute(RTA_DATA(options), RTA_PAYLOAD(options), TCA_BPF_NAME),
                         old->name)) {
        old->filter = (struct mcp_filter){about->tcm_handle, about->tcm_info};
    }
}

/* Removes the filters that a killed NIC of this name has left. */
static int remove_stale_filters(const struct mcp_hooks *hooks, enum mcp_way way, const char *name)
{
    const struct words words =
        begin_netlink_request(RTM_GETTFILTER, NLM_F_DUMP, hooks->interface, parents[way], NULL);
    for (;;) {
        struct old old = {.name = name};
        if (0 != perform_netlink_request(hooks->socket, &words, match_stale_filter, &old)) {
            return -1;
        }
        if (0 == old.filter.handle) {
            return 0;
        }
        if (0 != remove_filter(hooks, way, &old.filter)) {
            return -1;
        }
    }
}

static int add_filter(const struct mcp_hooks *hooks, enum mcp_way way, int program,
                      const char *name, const struct mcp_filter *filter)
{
    const uint32_t number = (uint32_t)program, direct = TCA_BPF_FLAG_ACT_DIRECT;
    const uint32_t here = TCA_CLS_FLAGS_SKIP_HW;
    struct words words =
        begin_netlink_request(RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                              hooks->interface, parents[way], "bpf");
    words.about.tcm_handle = filter->handle;
    words.about.tcm_info = filter->info;
    struct rtattr *options = put_attribute(&words, TCA_OPTIONS, NULL, 0);
    (void)put_attribute(&words, TCA_BPF_FD, &number, sizeof(number));
    (void)put_attribute(&words, TCA_BPF_NAME, name, strlen(name) + 1);
    (void)put_attribute(&words, TCA_BPF_FLAGS, &direct, sizeof(direct));
    (void)put_attribute(&words, TCA_BPF_FLAGS_GEN, &here, sizeof(here));
    options->rta_len =
        (unsigned short)((uint8_t *)&words + words.header.nlmsg_len - (uint8_t *)options);
    return perform_netlink_request(hooks->socket, &words, NULL, NULL);
}

/* How many priorities, and how many handles, are tried for a filter. Filters with the lowest
 * priority run first, and among filters of the same priority the newest. However, all filters of a
 * priority must have the same kind and protocol, so if filters of another kind occupy the first
 * priority, the next one is tried. Likewise, if a handle is in use, the next one is tried. */
enum { PRIORITIES = 8, HANDLES = 64, HANDLE = 0x6e620000 /* "nb" */ };

static int attach_filter(struct mcp_hooks *hooks, enum mcp_way way, int program, const char *name)
{
    if (0 != remove_stale_filters(hooks, way, name)) {
        return -1;
    }
    for (uint32_t priority = 1, more = 0; priority <= PRIORITIES && more < HANDLES;) {
        const struct mcp_filter filter = {HANDLE + more,
                                          TC_H_MAKE(priority << 16, htons(ETH_P_ALL))};
        if (0 == add_filter(hooks, way, program, name, &filter)) {
            hooks->filter[way] = filter;
            return 0;
        }
        if (EINVAL == errno) {
            ++priority;
        } else if (EEXIST == errno) {
            ++more;
        } else {
            return -1;
        }
    }
    return -1;
}

static int attach_by_clsact(struct mcp_hooks *hooks, const int program[MCP_WAYS], const char *name)
{
    hooks->socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (hooks->socket < 0 || 0 != ensure_clsact(hooks)) {
        return -1;
    }
    return 0 == attach_filter(hooks, MCP_OUT, program[MCP_OUT], name) &&
                   0 == attach_filter(hooks, MCP_IN, program[MCP_IN], name)
               ? 0
               : -1;
}

/* ---- attaching and removing ---- */

int mcp_hooks_attach(struct mcp_hooks *hooks, uint32_t interface, const int program[MCP_WAYS],
                     const char *name, bool tcx, const struct mcp_pins *pins)
{
    *hooks = MCP_NO_HOOKS;
    hooks->interface = interface;
    if (tcx && attach_by_tcx(hooks, program, pins)) {
        return 0;
    }
    const bool no_tcx = !tcx || (EINVAL == errno && hooks->link[MCP_IN] < 0);
    return no_tcx ? attach_by_clsact(hooks, program, name) : -1;
}

bool mcp_hooks_have_filters(const struct mcp_hooks *hooks)
{
    return hooks->socket >= 0;
}

void mcp_hooks_remove(const struct mcp_hooks *hooks)
{
    for (int way = MCP_IN; way < MCP_WAYS; ++way) {
        if (hooks->socket >= 0 && 0 != hooks->filter[way].handle) {
            (void)remove_filter(hooks, (enum mcp_way)way, &hooks->filter[way]);
        }
    }
}

void mcp_hooks_forget(struct mcp_hooks *hooks)
{
    if (hooks->socket >= 0) {
        close(hooks->socket);
    }
    hooks->socket = -1;
}

void mcp_hooks_detach(struct mcp_hooks *hooks)
{
    mcp_hooks_remove(hooks);
    mcp_hooks_forget(hooks);
    for (int way = MCP_IN; way < MCP_WAYS; ++way) {
        if (hooks->link[way] >= 0) {
            close(hooks->link[way]);
        }
    }
}
