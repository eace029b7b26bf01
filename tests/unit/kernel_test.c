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
 *   reference.h   the engine here         doorbells.h   doorbells of hosts
 *   packets.h     packets of members      events.h      events of a group
 *   plans.h       tables of groups        small.h       the group of most tests
 *
 * The tests are in the files that kernel/tests.h names. This file creates the network and the NIC,
 * and runs them.
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
#include "tests/unit/kernel/tests.h"
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

/* Returns whether the kernel has all required features. In that case only the verifier can
 * refuse the program, which would be our defect. */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_of_schedules),
        cmocka_unit_test(traces_of_broadcasts),
        cmocka_unit_test(traces_of_any_tables),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(forged_packets_are_dropped),
        cmocka_unit_test(forged_broadcasts_are_dropped),
        cmocka_unit_test(blocks_of_each_length),
        cmocka_unit_test(broadcasts_of_nobody),
        cmocka_unit_test(farewells),
        cmocka_unit_test(farewells_of_broadcasts),
        cmocka_unit_test(closed_groups_answer_members_only),
        cmocka_unit_test(frames_for_others),
        cmocka_unit_test(foreign_packets),
        cmocka_unit_test(packets_that_only_look_right),
        cmocka_unit_test(packets_of_vlans),
        cmocka_unit_test(forged_packets),
        cmocka_unit_test(doorbells_to_other_ports),
        cmocka_unit_test(doorbells_with_checksums),
        cmocka_unit_test(forwarded_packets),
        cmocka_unit_test(doorbells_of_others),
        cmocka_unit_test(a_doorbell_for_each_epoch),
        cmocka_unit_test(only_the_ringer_is_woken),
        cmocka_unit_test(sleepers_of_other_groups_are_not_woken),
        cmocka_unit_test(failing),
        cmocka_unit_test(failing_on_purpose),
        cmocka_unit_test(failing_elsewhere),
        cmocka_unit_test(without_room_a_group_stays_open),
        cmocka_unit_test(a_group_closed_as_failed_answers_so),
        cmocka_unit_test(missing_peers_are_named),
        cmocka_unit_test(page_is_for_reading),
        cmocka_unit_test(buffer_is_for_reading),
        cmocka_unit_test(unknown_neighbour),
        cmocka_unit_test(doorbells_need_no_reachable_peer),
        cmocka_unit_test(unneeded_hosts_are_evicted),
        cmocka_unit_test(the_next_owner_takes_over),
        cmocka_unit_test(indices_and_owners_survive),
    };
    const struct CMUnitTest of_4[] = {
        /* These tests are independent of the address family, and therefore run once. */
        cmocka_unit_test(lines_begin_empty),
        cmocka_unit_test(pages_are_bounded),
        cmocka_unit_test(reused_memory_is_recognized),
        cmocka_unit_test(the_last_release_stays),
        cmocka_unit_test(data_are_whole),
        cmocka_unit_test(blocks_are_whole),
        cmocka_unit_test(a_stale_page_is_renewed),
        cmocka_unit_test(the_timer_runs_while_a_group_waits),
        cmocka_unit_test(stuck_groups_are_reported),
        cmocka_unit_test(scans_back_off_by_their_duration),
        cmocka_unit_test(without_timers),
        cmocka_unit_test(indices_are_reused),
        cmocka_unit_test(users_have_pages_of_their_own),
        cmocka_unit_test(subordinates_share_pages),
        cmocka_unit_test(buffers_have_a_quota),
    };
    const struct CMUnitTest of_6[] = {
        cmocka_unit_test(wrong_checks),
    };
    const int failed = cmocka_run_group_tests_name("kernel", tests, NULL, NULL) +
                       (SIX ? cmocka_run_group_tests_name("kernel, of IPv6", of_6, NULL, NULL)
                            : cmocka_run_group_tests_name("kernel, of IPv4", of_4, NULL, NULL));
    mcp_kernel_close(kernel);
    return failed;
}
