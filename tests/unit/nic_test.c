/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests barriers and other collectives on the soft NIC, with real processes, and UDP over the
 * loopback interface. A failure means that they return early, hang, or deliver wrong data when
 * processes leave, stop or die.
 *
 * Invariants:
 *
 * - All processes of a node share one NIC, regardless of which of them attach, leave or are killed.
 * - No process leaves a barrier across nodes before all have entered it, regardless of other
 *   packets and of stopped processes.
 * - When a process is killed while it runs the control program, or as a member of a group, the
 *   waiting processes get an error.
 * - With a progress thread, barriers complete although no process polls.
 * - What cannot be set up fails on all processes alike, with an error message.
 *
 * Invariants of groups that carry data or broadcast:
 *
 * - Each process finds all nodes' blocks of an epoch, and one process of a node builds the node's
 *   block from all contributions.
 * - Groups whose processes have left are kept while peers may miss packets, up to a limit, and then
 *   freed completely.
 * - In a group that broadcasts, each process reads each root's block, regardless of interleaved
 *   barriers.
 *
 * A "node" is a segment with a NIC in it. Processes are forked before they join.
 *
 * The directory nic/ has the files that the tests share:
 *
 *   machine.h     the simulated machine              world.h       state that processes share
 *   member.h      a process                          play.h        data, and successive groups
 *   refusals.h    expected errors                    strangers.h   other hosts' packets
 *
 * The tests are in the files that nic/tests.h names. This file runs them.
 */
#include "tests/unit/crew.h"
#include "tests/unit/nic/tests.h"
#include "tests/unit/test.h"

int main(void)
{
    crew_watchdog();
    if (crew_of_threads()) { /* the others need processes: the lock's owner is a PID */
        const struct CMUnitTest threaded[] = {cmocka_unit_test(threads_poll)};
        return cmocka_run_group_tests_name("nic", threaded, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_open_one_nic),
        cmocka_unit_test(no_network),
        cmocka_unit_test(port_in_use),
        cmocka_unit_test(the_socket_is_refused),
        cmocka_unit_test(a_refused_socket_stays_open),
        cmocka_unit_test(threads_poll),
        cmocka_unit_test(routes),
        cmocka_unit_test(no_interface_runs),
        cmocka_unit_test(routes_of_ipv6),
        cmocka_unit_test(peers_come_and_go),
        cmocka_unit_test(a_missing_node),
        cmocka_unit_test(corrupted_memory_is_viewed),
        cmocka_unit_test(a_view_of_a_cycle_ends),
        cmocka_unit_test(strange_packets),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(a_thread_runs_the_nic),
        cmocka_unit_test(the_creator_leaves),
        cmocka_unit_test(the_creator_is_killed),
        cmocka_unit_test(the_next_generation_creates_it_again),
        cmocka_unit_test(the_last_of_many_has_the_socket),
        cmocka_unit_test(killed_with_the_lock),
        cmocka_unit_test(stopped_with_the_lock),
        cmocka_unit_test(a_watch_polls_if_no_process_does),
        cmocka_unit_test(a_watch_that_stays_takes_over),
        cmocka_unit_test(an_empty_datagram_does_not_end_a_poll),
        cmocka_unit_test(a_flood_does_not_end_a_poll),
        cmocka_unit_test(the_watch_leaves),
        cmocka_unit_test(the_watch_is_killed),
        cmocka_unit_test(the_first_of_two_fails),
        cmocka_unit_test(the_second_of_two_fails),
        cmocka_unit_test(the_holder_leaves_in_between),
        cmocka_unit_test(a_dead_holders_pid_is_reused),
        cmocka_unit_test(a_dead_holder_is_a_zombie),
        cmocka_unit_test(a_dead_runners_pid_is_reused),
        cmocka_unit_test(a_broken_nic_is_left_alone),
        cmocka_unit_test(killed_as_a_member),
        cmocka_unit_test(a_node_arrives_with_its_last_process),
        cmocka_unit_test(one_is_stopped),
        cmocka_unit_test(barriers_under_fire),
        cmocka_unit_test(barriers_asleep),
        cmocka_unit_test(barriers_across_nodes),
        cmocka_unit_test(barriers_over_ipv6),
        cmocka_unit_test(impossible_data_are_refused),
        cmocka_unit_test(more_farewells_than_fit),
        cmocka_unit_test(one_long_farewell),
        cmocka_unit_test(a_new_nic_keeps_no_groups),
        cmocka_unit_test(data_across_nodes),
        cmocka_unit_test(broadcasts_across_nodes),
        cmocka_unit_test(broadcasts_of_a_wrong_length),
    };
    return cmocka_run_group_tests_name("nic", tests, NULL, NULL);
}
