/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner of the kernel's NIC; see owner.h.
 *
 * What a kernel has is found by trying.
 *
 * A NIC that is kept has its maps and links pinned. An owner that takes it over loads its own
 * program with these maps, and puts it into the links in place of the program there. So owners may
 * be of different builds, as long as the maps are alike; MCP_KERNEL_FORMAT and libbpf's look at
 * their sizes see to that. What the owner knows besides is read from the maps: nothing is told from
 * owner to owner.
 */
#define MCP_KERNEL_INSIDE /* groups are as the program has them */
#include "firmware/kernel/owner.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/kernel/bell.h"
#include "firmware/kernel/hooks.h"
#include "firmware/kernel/pages.h"
#include "firmware/kernel/program.skel.h"
#include "firmware/soft/addresses.h"
#include "os/clock.h"
#include "os/netlink.h"

struct mcp_kernel {
    struct program *program;  /* the skeleton */
    int processors;           /* that this machine may have */
    struct ring_buffer *told; /* tells of stuck groups; NULL: it does not */
    mcp_kernel_stuck_fn tell; /* while that is heard */
    void *context;
    struct mcp_kernel_place place;
    struct mcp_hooks hooks;
    struct mcp_bell bell;
    int asking; /* netlink, to ask for hardware addresses */
    char interface[IF_NAMESIZE];
    struct mcp_pins pins;
    struct mcp_pages_kept pages_kept;
    struct mcp_kernel_kept kept;
    bool taken; /* over from another owner */
    bool stands;
    struct mcp_pages *pages, *buffers;
    uint64_t numbers[MCP_KERNEL_GROUPS / 64]; /* a bit for each open group's */
    struct {
        struct mcp_ip ip;
        uint32_t groups;                /* peers of open groups that are there */
        uint64_t met;                   /* the meeting's number */
    } neighbour[MCP_KERNEL_NEIGHBOURS]; /* from place 1 on */
    uint32_t neighbours;                /* the last place */
    uint64_t meetings;
};

static int refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, MCP_KERNEL_WHY, format, arguments);
    va_end(arguments);
    return -1;
}

/* ---- loading ---- */

static int be_quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

/* Tests have the NIC do without what this kernel has: NICBARR_KERNEL_WITHOUT names that, separated
 * by commas (tcx, loop, timer, batch). */
static bool may(const char *feature)
{
    const char *without = getenv("NICBARR_KERNEL_WITHOUT");
    return NULL == without || NULL == strstr(without, feature);
}

/* Does this kernel's helper of that name exist? */
static bool has_helper(enum bpf_func_id helper)
{
    return 1 == libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, helper, NULL);
}

/* Have the maps pinned, and those that are pinned already used. */
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

/* With timers, or without. Returns 0, or the error. */
static int try_load(struct program **program, const struct mcp_kernel_place *place,
                    const struct mcp_pins *pins, bool timed)
{
    struct program *loading = program__open();
    if (NULL == loading) {
        return -errno;
    }
    memcpy((void *)&loading->rodata->place, place, sizeof(*place));
    loading->rodata->six = !mcp_ip_is_4(&place->ip);
    loading->rodata->timed = timed;
    loading->rodata->loops = may("loop") && has_helper(BPF_FUNC_loop);
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

static int load(struct program **program, const struct mcp_kernel_place *place,
                const struct mcp_pins *pins, char *why)
{
    if (NULL == getenv("NICBARR_KERNEL_DEBUG")) {
        libbpf_set_print(be_quiet);
    }
    int err = try_load(program, place, pins, may("timer"));
    if (err < 0 && EPERM != -err) {
        err = try_load(program, place, pins, false);
    }
    if (EPERM == -err) {
        return refuse(why, "may not load a program into the kernel: run as root, or with "
                           "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON (in the first user namespace)");
    }
    if (err < 0 && !has_helper(BPF_FUNC_for_each_map_elem)) {
        return refuse(why, "this kernel's BPF cannot run the NIC's program: it has no "
                           "bpf_for_each_map_elem() (Linux 5.15 has all it takes)");
    }
    return err < 0 ? refuse(why,
                            "the kernel does not take the NIC's program: %s (it must have BPF and "
                            "BTF, as Linux 5.15 and newer ones do)",
                            strerror(-err))
                   : 0;
}

/* ---- the interface ---- */

static int find_place(struct mcp_kernel_place *place, char *name, char *why)
{
    char text[MCP_IP_TEXT];
    struct ifreq about = {.ifr_name = ""};
    place->interface = mcp_interface_of(&place->ip, name);
    snprintf(about.ifr_name, sizeof(about.ifr_name), "%s", name);
    const int asking = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = asking >= 0 && 0 != place->interface &&
                       0 == ioctl(asking, SIOCGIFHWADDR, &about) &&
                       ARPHRD_ETHER == about.ifr_hwaddr.sa_family;
    if (asking >= 0) {
        close(asking);
    }
    if (!known) {
        return refuse(why, "no Ethernet interface has the address %s",
                      mcp_ip_text(&place->ip, text));
    }
    memcpy(place->mac, about.ifr_hwaddr.sa_data, sizeof(place->mac));
    return 0;
}

/* ---- what outlives this process ---- */

static bool write_kept(struct mcp_kernel *kernel)
{
    const uint32_t zero = 0;
    return bpf_map__update_elem(kernel->program->maps.kept, &zero, sizeof(zero), &kernel->kept,
                                sizeof(kernel->kept), BPF_ANY) >= 0;
}

/* Is there a NIC to be taken over? False, with a line if there is one, and it cannot be. */
static bool find_old(struct mcp_kernel *kernel, char *note)
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
        refuse(note, "the NIC that an earlier myrd --kernel left is of another version: this one "
                     "begins anew, and what plays there fails");
        return false;
    }
    return kernel->place.interface == kept->interface && 0 != kept->complete;
}

/* Load with the maps that are pinned, if they fit; or with new ones. */
static int load_kept(struct mcp_kernel *kernel, char *note, char *why)
{
    kernel->taken = find_old(kernel, note);
    if (kernel->taken && load(&kernel->program, &kernel->place, &kernel->pins, why) < 0) {
        kernel->taken = false;
        refuse(note, "the NIC that an earlier myrd --kernel left does not fit this one, which "
                     "begins anew; what plays there fails");
    }
    if (!kernel->taken) {
        mcp_pins_clear(&kernel->pins);
        kernel->kept = (struct mcp_kernel_kept){.format = MCP_KERNEL_FORMAT,
                                                .interface = kernel->place.interface};
        if (load(&kernel->program, &kernel->place, &kernel->pins, why) < 0) {
            mcp_pins_clear(&kernel->pins);
            mcp_pins_close(&kernel->pins, true);
            return -1;
        }
        (void)write_kept(kernel);
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
        (void)write_kept(kernel);
    }
}

/* No next owner finds anything. */
static void unpin(struct mcp_kernel *kernel)
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

/* ---- loading ---- */

static int make_pages(struct mcp_kernel *kernel, char *why)
{
    const struct program *program = kernel->program;
    const bool batch = may("batch"), kept = mcp_pins_there(&kernel->pins);
    kernel->pages_kept = (struct mcp_pages_kept){&kernel->pins, bpf_map__fd(program->maps.owners)};
    kernel->pages = mcp_pages_make(bpf_map__fd(program->maps.pages), &mcp_pages_of_lines, batch,
                                   kept ? &kernel->pages_kept : NULL);
    kernel->buffers = mcp_pages_make(bpf_map__fd(program->maps.buffers), &mcp_pages_of_buffers,
                                     batch, kept ? &kernel->pages_kept : NULL);
    return NULL == kernel->pages || NULL == kernel->buffers
               ? refuse(why, "the kernel gives no pages for the NIC's groups: %s", strerror(errno))
               : 0;
}

static void take_over(struct mcp_kernel *kernel);

/* `note` is NULL: it is not kept. */
static int load_nic(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel, char *note,
                    char *why)
{
    struct mcp_kernel *loading = calloc(1, sizeof(*loading));
    char name[64];
    if (NULL == loading) {
        return refuse(why, "out of memory");
    }
    loading->place = (struct mcp_kernel_place){.ip = *ip, .port = port, .owner = geteuid()};
    loading->hooks = MCP_NO_HOOKS;
    loading->pins = MCP_NO_PINS;
    loading->bell.socket = loading->asking = -1;
    /* (A BPF file system wants no names with dots.) */
    snprintf(name, sizeof(name), "%08x%08x%08x%08x-%u", ntohl(ip->word[0]), ntohl(ip->word[1]),
             ntohl(ip->word[2]), ntohl(ip->word[3]), ntohs(port));
    loading->processors = libbpf_num_possible_cpus(); /* now: the owner may give up its files */
    int rc = find_place(&loading->place, loading->interface, why);
    if (0 == rc && loading->processors < 1) {
        rc = refuse(why, "cannot tell how many processors this machine has");
    }
    if (0 == rc) {
        rc = NULL != note && mcp_pins_open(&loading->pins, name, note)
                 ? load_kept(loading, note, why)
                 : load(&loading->program, &loading->place, &loading->pins, why);
    }
    if (0 == rc) {
        rc = make_pages(loading, why);
    }
    if (rc < 0) {
        mcp_kernel_close(loading);
        return -1;
    }
    if (loading->taken) {
        take_over(loading);
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
                         char note[MCP_KERNEL_WHY], char why[MCP_KERNEL_WHY])
{
    note[0] = '\0';
    return load_nic(ip, port, kernel, note, why);
}

void mcp_kernel_count_by(struct mcp_kernel *kernel, mcp_account_fn account)
{
    mcp_pages_count_by(kernel->pages, account);
    mcp_pages_count_by(kernel->buffers, account);
}

/* ---- who is stuck ---- */

static int hear_one(void *context, void *told, size_t bytes)
{
    const struct mcp_kernel *kernel = context;
    if (sizeof(struct mcp_kernel_stuck) == bytes) {
        kernel->tell(kernel->context, told);
    }
    return 0;
}

int mcp_kernel_watch(const struct mcp_kernel *kernel)
{
    return NULL == kernel->told ? -1 : ring_buffer__epoll_fd(kernel->told);
}

void mcp_kernel_hear(struct mcp_kernel *kernel, mcp_kernel_stuck_fn tell, void *context)
{
    kernel->tell = tell;
    kernel->context = context;
    (void)ring_buffer__consume(kernel->told);
}

static int begin_watch(struct mcp_kernel *kernel, char *why)
{
    const struct program *program = kernel->program;
    uint8_t nothing[ETH_ZLEN] = {0};
    struct bpf_test_run_opts run = {
        .sz = sizeof(run), .data_in = nothing, .data_size_in = sizeof(nothing)};
    if (!program->rodata->timed) {
        return 0;
    }
    kernel->told = ring_buffer__new(bpf_map__fd(program->maps.stuck), hear_one, kernel, NULL);
    if (NULL == kernel->told ||
        bpf_prog_test_run_opts(bpf_program__fd(program->progs.mcp_begin), &run) < 0 ||
        0 != run.retval) {
        return refuse(why, "cannot begin to watch over the kernel NIC's groups: %s",
                      strerror(errno));
    }
    return 0;
}

int mcp_kernel_stand(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY])
{
    const struct program *program = kernel->program;
    const int programs[MCP_WAYS] = {
        [MCP_IN] = bpf_program__fd(program->progs.mcp_receive),
        [MCP_OUT] = bpf_program__fd(program->progs.mcp_transmit),
    };
    char name[MCP_KERNEL_WHY], at[MCP_PLACE_TEXT];
    if (begin_watch(kernel, why) < 0) {
        return -1;
    }
    snprintf(name, sizeof(name), "nicbarr-%s",
             mcp_place_text(&kernel->place.ip, kernel->place.port, at));
    if (!mcp_bell_make(&kernel->bell, &kernel->place.ip, kernel->place.interface,
                       kernel->place.port)) {
        return refuse(why, "no socket to ring for groups with: %s", strerror(errno));
    }
    kernel->asking = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (kernel->asking < 0) {
        return refuse(why, "no socket to ask for hardware addresses with: %s", strerror(errno));
    }
    if (mcp_hooks_stand(&kernel->hooks, kernel->place.interface, programs, name, may("tcx"),
                        mcp_pins_there(&kernel->pins) ? &kernel->pins : NULL) < 0) {
        return EADDRINUSE == errno
                   ? refuse(why,
                            "cannot stand at interface %s: it has a qdisc of the kind \"ingress\" "
                            "where this kernel's NIC needs \"clsact\", which can do the same (see "
                            "tc -h)",
                            kernel->interface)
                   : refuse(why,
                            "cannot stand at interface %s: %s (the kernel must have tcx or clsact)",
                            kernel->interface, strerror(errno));
    }
    kernel->stands = true;
    kernel->kept.complete = 1;
    (void)write_kept(kernel);
    return 0;
}

struct mcp_hooks *mcp_kernel_hooks(struct mcp_kernel *kernel)
{
    return &kernel->hooks;
}

static void close_nic(struct mcp_kernel *kernel)
{
    mcp_hooks_leave(&kernel->hooks);
    if (kernel->bell.socket >= 0) {
        close(kernel->bell.socket);
    }
    if (kernel->asking >= 0) {
        close(kernel->asking);
    }
    mcp_pages_free(kernel->pages);
    mcp_pages_free(kernel->buffers);
    ring_buffer__free(kernel->told);
    mcp_pins_close(&kernel->pins, false);
    program__destroy(kernel->program);
    free(kernel);
}

void mcp_kernel_close(struct mcp_kernel *kernel)
{
    if (kernel->stands || !kernel->taken) {
        unpin(kernel);
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

/* ---- groups ---- */

/* A host's place among the neighbours; 0: it has not been met. */
static uint32_t find_neighbour(const struct mcp_kernel *kernel, const struct mcp_ip *ip)
{
    uint32_t n = kernel->neighbours;
    while (n > 0 && !mcp_same_ip(ip, &kernel->neighbour[n].ip)) {
        --n;
    }
    return n;
}

/* A place for one more: a new one, or that of a host that no group needs and that was not met for
 * the longest time. 0: there is none. */
static uint32_t find_room(struct mcp_kernel *kernel)
{
    if (kernel->neighbours < MCP_KERNEL_NEIGHBOURS - 1) {
        return ++kernel->neighbours;
    }
    uint32_t oldest = 0;
    for (uint32_t n = 1; n <= kernel->neighbours; ++n) {
        if (0 == kernel->neighbour[n].groups &&
            (0 == oldest || kernel->neighbour[n].met < kernel->neighbour[oldest].met)) {
            oldest = n;
        }
    }
    return oldest;
}

/* The group needs its peers from now on, or does so no longer. */
static void need_peers(struct mcp_kernel *kernel, const struct mcp_kernel_group *group,
                       uint32_t more)
{
    for (uint32_t p = 0; p < group->group.nsends + group->group.nwaits; ++p) {
        kernel->neighbour[group->peers[p].link].groups += more;
    }
}

uint32_t mcp_kernel_next_number(const struct mcp_kernel *kernel)
{
    uint32_t number = 0;
    while (number < MCP_KERNEL_GROUPS && 0 != (kernel->numbers[number / 64] >> number % 64 & 1)) {
        ++number;
    }
    return number;
}

static void take_number(struct mcp_kernel *kernel, uint32_t number)
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
    group->group.places = plan->places;
    group->group.unit_most = plan->unit_most;
    group->group.window = plan->window;
    group->group.slot_bytes = plan->slot_bytes;
    memcpy(group->steps, plan->steps, sizeof(group->steps));
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const struct mcp_kernel_peer *peer = &plan->peers[p];
        group->peers[p] = (struct mcp_peer){find_neighbour(kernel, &peer->ip), peer->node,
                                            peer->slot, peer->blocks, peer->at};
    }
    const int rc = bpf_map__update_elem(kernel->program->maps.groups, &plan->key, sizeof(plan->key),
                                        group, sizeof(*group), BPF_NOEXIST);
    if (rc >= 0) {
        need_peers(kernel, group, 1);
        take_number(kernel, number);
    }
    free(group);
    return rc;
}

/* Have a program of the owner's do what it does at this place. */
static int run(const struct bpf_program *program, uint32_t place)
{
    uint8_t nothing[ETH_ZLEN] = {0};
    struct __sk_buff order = {.mark = place};
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

/* A group before may have left its last epoch on this line, and data on this buffer, which are no
 * broadcasts of the new group's. */
static int clear_places(const struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                        uint32_t line, uint32_t buffer)
{
    const struct program *program = kernel->program;
    return run(program->progs.mcp_clear, line) < 0 ||
                   (0 != plan->window && run(program->progs.mcp_clear_buffer, buffer) < 0)
               ? -1
               : 0;
}

/* Does a group of this kind have a buffer? */
static bool has_buffer(uint32_t places, uint32_t window)
{
    return 0 != places || 0 != window;
}

/* So many more open groups have buffers. */
static void count_carrying(const struct mcp_kernel *kernel, int more)
{
    kernel->program->data_owner->carrying += (uint32_t)more;
}

/* No group has this line and this buffer any more. */
static void spend(const struct mcp_kernel *kernel, uint32_t line, uint32_t buffer)
{
    if (MCP_KERNEL_NOWHERE != line) {
        mcp_pages_spend(kernel->pages, line);
    }
    if (MCP_KERNEL_NOWHERE != buffer) {
        mcp_pages_spend(kernel->buffers, buffer);
    }
}

int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                          struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY])
{
    if (plan->nsteps > MCP_KERNEL_STEPS || plan->nsends > MCP_KERNEL_MESSAGES ||
        plan->nwaits > MCP_KERNEL_MESSAGES) {
        return refuse(why, "the schedule is too long for the kernel's NIC");
    }
    const bool carries = has_buffer(plan->places, plan->window);
    uint32_t line = MCP_KERNEL_NOWHERE, buffer = MCP_KERNEL_NOWHERE;
    seen->page = mcp_pages_take(kernel->pages, plan->uid, &line);
    seen->buffer = carries ? mcp_pages_take(kernel->buffers, plan->uid, &buffer) : -1;
    seen->line = line % MCP_KERNEL_LINES;
    seen->number = mcp_kernel_next_number(kernel);
    count_carrying(kernel, carries);
    if (MCP_KERNEL_GROUPS == seen->number) {
        errno = ENOSPC;
    }
    if (MCP_KERNEL_GROUPS == seen->number || seen->page < 0 || (carries && seen->buffer < 0) ||
        clear_places(kernel, plan, line, buffer) < 0 ||
        add_group(kernel, plan, line, buffer, seen->number) < 0) {
        refuse(why, "the kernel's NIC takes no more groups: %s", strerror(errno));
        count_carrying(kernel, -carries);
        spend(kernel, line, buffer);
        return -1;
    }
    return 0;
}

/* The group's state at one moment, copied under its lock. */
static bool look_up(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_group *group)
{
    return 0 == bpf_map__lookup_elem(kernel->program->maps.groups, &key, sizeof(key), group,
                                     sizeof(*group), BPF_F_LOCK);
}

/* Take its key away from a group that is being closed, and then its line and buffer. A program that
 * runs on another processor may know the group a little longer, and its memory is the next group's
 * meanwhile. It looks for the key under the group's lock (program/hold.h). */
static bool take_away(const struct mcp_kernel *kernel, struct mcp_kernel_group *group)
{
    const uint64_t key = group->group.key;
    const uint32_t line = group->line, buffer = group->buffer;
    group->group.key = 0;
    group->line = group->buffer = MCP_KERNEL_NOWHERE;
    if (bpf_map__update_elem(kernel->program->maps.groups, &key, sizeof(key), group, sizeof(*group),
                             BPF_F_LOCK) < 0) {
        return false;
    }
    spend(kernel, line, buffer);
    return true;
}

/* How a group has ended (as in collective.c). Data go with it: a peer that still misses those of
 * the last epoch must not hear that this is done. */
static struct mcp_kernel_late remember(const struct mcp_group *group, bool fails)
{
    const uint32_t done = myr_glance(&group->done), failed = myr_glance(&group->failed);
    const bool data = 0 != group->unit[done % 2];
    const bool lost = fails || data || (0 != group->window && mcp_group_waits_now(group));
    return (struct mcp_kernel_late){
        .epoch = data ? done - 1 : done,
        .failed = lost && 0 == failed ? group->node + 1U : failed,
        .secret = group->secret,
        .closed_ns = os_now_ns(),
    };
}

/* (How it ended is written first: meanwhile the program answers for the group itself. Whoever takes
 * over from a process that was killed in the middle finds a whole group, or one without a line,
 * which needs nothing but to be deleted. What counts groups and their peers is lowered when no
 * program can find this one any more.) */
bool mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key, bool fails)
{
    struct mcp_kernel_group group;
    if (!look_up(kernel, key, &group)) {
        return ENOENT == errno;
    }
    struct mcp_kernel_late last = remember(&group.group, fails);
    last.uid = group.uid;
    if (bpf_map__update_elem(kernel->program->maps.late, &key, sizeof(key), &last, sizeof(last),
                             BPF_ANY) < 0 ||
        !take_away(kernel, &group)) {
        return false;
    }
    (void)bpf_map__delete_elem(kernel->program->maps.groups, &key, sizeof(key), 0);
    kernel->numbers[group.number / 64] &= ~(UINT64_C(1) << group.number % 64);
    need_peers(kernel, &group, UINT32_MAX);
    count_carrying(kernel, -has_buffer(group.group.places, group.group.window));
    return true;
}

void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key)
{
    (void)bpf_map__delete_elem(kernel->program->maps.late, &key, sizeof(key), 0);
}

int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done)
{
    struct mcp_kernel_group group;
    if (!look_up(kernel, key, &group)) {
        return -1;
    }
    *done = myr_glance(&group.group.done);
    return mcp_group_waits_now(&group.group);
}

uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key)
{
    struct mcp_kernel_group group;
    return look_up(kernel, key, &group) ? myr_glance(&group.group.failed) : 0;
}

uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_missing list[MCP_KERNEL_MESSAGES])
{
    struct mcp_kernel_group group;
    uint32_t count = 0;
    if (!look_up(kernel, key, &group) || !mcp_group_waits_now(&group.group) ||
        group.group.step >= group.group.nsteps) {
        return 0;
    }
    const uint32_t epoch = myr_glance(&group.group.done) + 1, first = group.group.first_wait;
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
    if (!look_up(kernel, key, &group)) {
        return -1;
    }
    const uint32_t about = MCP_RING_FAIL == ring       ? group.group.node
                           : MCP_RING_FAREWELL == ring ? group.group.started + (0 == group.leaves)
                                                       : 0;
    const struct mcp_doorbell bell = mcp_doorbell(ring, about, key);
    const struct mcp_address peer =
        mcp_address_of(&kernel->neighbour[group.peers[0].link].ip, kernel->place.port);
    return mcp_bell_ring(&kernel->bell, &bell, sizeof(bell), &peer) ? 0 : -1;
}

void mcp_kernel_group_give_up(struct mcp_kernel *kernel, uint64_t key)
{
    struct mcp_kernel_group group;
    if (look_up(kernel, key, &group)) {
        (void)run(kernel->program->progs.mcp_give_up, group.line);
    }
}

bool mcp_kernel_group_farewell(struct mcp_kernel *kernel, uint64_t key, uint32_t *epoch)
{
    struct mcp_kernel_group group;
    if (!look_up(kernel, key, &group) || 0 != myr_glance(&group.group.failed) ||
        (0 == group.group.window && (mcp_group_waits_now(&group.group) ||
                                     0 == group.group.unit[myr_glance(&group.group.done) % 2]))) {
        return false;
    }
    *epoch = group.group.started + 1;
    (void)mcp_kernel_ring(kernel, key, MCP_RING_FAREWELL);
    return true;
}

/* ---- what the owner before has left ---- */

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
    plan->places = engine->places;
    plan->unit_most = engine->unit_most;
    plan->window = engine->window;
    plan->slot_bytes = engine->slot_bytes;
    memcpy(plan->steps, group->steps, sizeof(plan->steps[0]) * plan->nsteps);
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const struct mcp_peer *peer = &group->peers[p];
        plan->peers[p] = (struct mcp_kernel_peer){.ip = kernel->neighbour[peer->link].ip,
                                                  .port = kernel->place.port,
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
    if (!look_up(kernel, key, &group)) {
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
    recalled->failed = 0 != myr_glance(&group.group.failed);
    recalled->leaves = 0 != group.leaves;
    recalled->last = group.group.started;
    return true;
}

void mcp_kernel_note_holder(struct mcp_kernel *kernel, uint32_t place,
                            const struct mcp_kernel_holder *holder)
{
    if (mcp_pins_there(&kernel->pins)) {
        (void)bpf_map__update_elem(kernel->program->maps.holders, &place, sizeof(place), holder,
                                   sizeof(*holder), BPF_ANY);
    }
}

void mcp_kernel_recall_holder(struct mcp_kernel *kernel, uint32_t place,
                              struct mcp_kernel_holder *holder)
{
    memset(holder, 0, sizeof(*holder));
    (void)bpf_map__lookup_elem(kernel->program->maps.holders, &place, sizeof(place), holder,
                               sizeof(*holder), 0);
}

/* Are all things of the group's there? Then they are taken. */
static bool retake(struct mcp_kernel *kernel, const struct mcp_kernel_group *group)
{
    const bool carries = has_buffer(group->group.places, group->group.window);
    for (uint32_t p = 0; p < group->group.nsends + group->group.nwaits; ++p) {
        if (group->peers[p].link >= MCP_KERNEL_NEIGHBOURS) {
            return false;
        }
    }
    return group->number < MCP_KERNEL_GROUPS &&
           mcp_pages_retake(kernel->pages, group->uid, group->line) >= 0 &&
           (!carries || mcp_pages_retake(kernel->buffers, group->uid, group->buffer) >= 0);
}

static void drop(const struct mcp_kernel *kernel, uint64_t key)
{
    (void)bpf_map__delete_elem(kernel->program->maps.groups, &key, sizeof(key), 0);
}

static void retake_groups(struct mcp_kernel *kernel)
{
    uint64_t key = 0, gone = 0;
    while (mcp_kernel_next_group(kernel, &key)) {
        struct mcp_kernel_group group;
        if (0 != gone) {
            drop(kernel, gone);
            gone = 0;
        }
        if (look_up(kernel, key, &group) && retake(kernel, &group)) {
            need_peers(kernel, &group, 1);
            take_number(kernel, group.number);
            count_carrying(kernel, has_buffer(group.group.places, group.group.window));
        } else {
            gone = key;
        }
    }
    if (0 != gone) {
        drop(kernel, gone);
    }
}

static void take_over(struct mcp_kernel *kernel)
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

/* ---- neighbours ---- */

/* The system holds its hardware address for right. */
enum {
    KNOWN = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE,
};

/* Does the system know the host's hardware address? It answers at once (rtnetlink(7)). */
static bool ask_system(const struct mcp_kernel *kernel, const struct mcp_ip *ip, uint8_t mac[6])
{
    enum { ANSWER = 1024 }; /* bytes: more than it says of one neighbour */
    const struct mcp_address peer = mcp_address_of(ip, 0);
    const bool is_4 = AF_INET == peer.at.any.sa_family;
    struct {
        struct nlmsghdr header;
        struct ndmsg about;
        struct rtattr attribute;
        struct mcp_ip ip;
    } words = {
        .header = {.nlmsg_type = RTM_GETNEIGH, .nlmsg_flags = NLM_F_REQUEST},
        .about = {.ndm_family = (uint8_t)peer.at.any.sa_family,
                  .ndm_ifindex = (int)kernel->place.interface},
        .attribute = {.rta_len = RTA_LENGTH(is_4 ? sizeof(uint32_t) : sizeof(*ip)),
                      .rta_type = NDA_DST},
        .ip = *ip,
    };
    _Alignas(struct nlmsghdr) char answer[ANSWER];
    words.ip.word[0] = is_4 ? ip->word[3] : ip->word[0];
    words.header.nlmsg_len = NLMSG_LENGTH(sizeof(words.about)) + words.attribute.rta_len;
    if (words.header.nlmsg_len != send(kernel->asking, &words, words.header.nlmsg_len, 0)) {
        return false;
    }
    const ssize_t bytes = recv(kernel->asking, answer, sizeof(answer), MSG_DONTWAIT);
    const struct nlmsghdr *told = (const void *)answer;
    if (bytes < (ssize_t)NLMSG_SPACE(sizeof(struct ndmsg)) || RTM_NEWNEIGH != told->nlmsg_type) {
        return false;
    }
    const struct ndmsg *about = NLMSG_DATA(told);
    const struct rtattr *hardware =
        os_find_attribute((const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about))),
                          (size_t)bytes - NLMSG_SPACE(sizeof(*about)), NDA_LLADDR);
    if (0 == (about->ndm_state & KNOWN) || NULL == hardware || 6 != RTA_PAYLOAD(hardware)) {
        return false;
    }
    memcpy(mac, RTA_DATA(hardware), 6);
    return true;
}

/* Any packet to that host makes the system look for it. A single byte means nothing to anybody. */
static void knock(const struct mcp_kernel *kernel, const struct mcp_ip *ip)
{
    const struct mcp_address there = mcp_address_of(ip, htons(9));
    (void)!sendto(kernel->bell.socket, "", 1, MSG_DONTWAIT, &there.at.any,
                  mcp_address_bytes(&there));
}

int mcp_kernel_meet(struct mcp_kernel *kernel, const struct mcp_ip *ip, char why[MCP_KERNEL_WHY])
{
    struct mcp_kernel_neighbour neighbour = {.ip = *ip, .known = 1};
    char text[MCP_IP_TEXT];
    uint32_t place = find_neighbour(kernel, ip);
    if (!ask_system(kernel, ip, neighbour.mac)) {
        knock(kernel, ip);
        return refuse(why, "host %s does not answer on interface %s", mcp_ip_text(ip, text),
                      kernel->interface);
    }
    if (0 == place) {
        place = find_room(kernel);
        if (0 == place) {
            return refuse(why, "the kernel's NIC has groups with too many hosts already");
        }
        kernel->neighbour[place].ip = *ip;
    }
    kernel->neighbour[place].met = ++kernel->meetings;
    return bpf_map__update_elem(kernel->program->maps.neighbours, &place, sizeof(place), &neighbour,
                                sizeof(neighbour), BPF_ANY) < 0
               ? refuse(why, "cannot tell the kernel's NIC of a host: %s", strerror(errno))
               : 0;
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
