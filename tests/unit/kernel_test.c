/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests collectives on the kernel NIC. A failure means that they hang, deliver wrong data, or
 * affect other users' packets and groups. The program runs in the kernel, at one end of a veth pair
 * in a network namespace of this test. A packet socket at the other end acts as all peers.
 *
 * Invariants:
 *
 * - For any packets and doorbells, the program behaves exactly like the same engine compiled for
 *   this CPU: it sends the same messages in the same order, and has the same release, buffers,
 *   broadcast slots and counters.
 * - Sleeping processes are woken.
 * - For a closed group the program reports which epochs were complete.
 * - Packets that fail authentication pass unchanged.
 * - No process can send packets as the NIC or ring for another user's group, only the owner can
 *   make a group fail, and processes map its page read-only.
 *
 * The program is compiled once for IPv4 and once for IPv6 (NETWORK_OF_6). The test is skipped if
 * the kernel or the privileges are insufficient.
 *
 * The directory kernel/ has the files that the tests share:
 *
 *   network.h     the network             frames.h      packets on the wire
 *   expected.h    expected results        pair.h        a group in both engines
 *   reference.h   the engine here         packets.h     doorbells, packets of members
 *   plans.h       tables of groups        events.h      events of a group
 *   elements.h    the program's maps      small.h       the group of most tests
 *
 * The tests are in the other files of that directory. This file creates the network and the NIC,
 * and runs them. Those that depend on the address family run for both.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/test.h"

enum { SKIPPED = 77 /* Automake's exit status */ };

/* An interface may still lose packets just after it came up. */
static void await_network(void)
{
    struct frame frame;
    const struct mcp_address peer = udp_address(peer_ip(0), 9);
    bool out = false, in = false;
    union on_wire on_wire;
    make_frame(&frame, 0, OTHER_PORT, "up?", 4);
    seal_ip(&frame);
    const size_t bytes = go_to_wire(&frame, 4, &on_wire);
    while (!out || !in) {
        struct frame seen;
        (void)!sendto(other_socket, "up?", 4, 0, &peer.at.any, mcp_address_bytes(&peer));
        (void)!sendto(wire, &on_wire, bytes, 0, (const struct sockaddr *)&far, sizeof(far));
        usleep(1000);
        out = out || 0 != take(wire, &seen, false);
        in = in || 0 != take(passed, &seen, false);
    }
    usleep(10000);
    drain(wire);
    drain(passed);
    drain(other_socket);
}

static int skip_all(const char *why)
{
    printf("skipped: %s\n", why);
    return SKIPPED;
}

/* Returns whether the kernel has all required features. If it has, a program that it refuses was
 * rejected by the verifier, which is a defect of ours. */
static bool has_all_required(void)
{
    struct utsname system;
    unsigned major = 0, minor = 0;
    return 0 == uname(&system) && 2 == sscanf(system.release, "%u.%u", &major, &minor) &&
           (major > 6 || (6 == major && minor >= 6)) &&
           0 == access("/sys/kernel/btf/vmlinux", R_OK);
}

static bool begin_nic(char *why)
{
    if (mcp_kernel_attach(kernel, why) < 0) {
        return false;
    }
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        if (meet(peer_ip(n), why) < 0) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    char why[MCP_KERNEL_WHY], warning[MCP_KERNEL_WHY];
    struct sockaddr_ll near;
    const struct mcp_ip own = address_of(ip_of(OWN));
    crew_watchdog();
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0) {
        return skip_all("no network namespace of its own");
    }
    if (!make_network()) {
        return skip_all("no pair of virtual interfaces (needs ip, and veth and the network's "
                        "family in the kernel)");
    }
    /* Objects are pinned in this namespace only. If that is not possible, none are pinned. */
    (void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (mcp_kernel_load_kept(&own, htons(PORT), &kernel, warning, why) < 0) {
        if (NULL != strstr(why, "the kernel rejects") && has_all_required()) {
            fprintf(stderr, "%s\n", why);
            return EXIT_FAILURE;
        }
        return skip_all(why);
    }
    wire = make_tap("nicbarr1", &far);
    passed = make_tap("nicbarr0", &near);
    behind = make_tap("nicbarr3", &beyond);
    nic_socket = make_socket(PORT, 0, 0);
    other_socket = make_socket(OTHER_PORT, 0, 0);
    await_network();
    if (!begin_nic(why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    const int failed = test_run(NULL);
    mcp_kernel_close(kernel);
    return failed;
}
