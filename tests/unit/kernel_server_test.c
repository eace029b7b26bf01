/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the server of myrd --kernel on a fake of the kernel NIC. A failure means that it lets a
 * user see or disturb other users' groups, loses the failure of a process, or can be blocked by one
 * client.
 *
 * Invariants of groups:
 *
 * - A group belongs to one user, even if others know its key.
 * - It fails when a member dies, but not when a member leaves.
 * - The last member that leaves closes it, and its last epoch is kept. If it carries data or
 *   broadcasts, it first sends its peers a close message, which blocks nobody.
 * - For a stuck group, ASKs are sent with growing intervals, for other groups none.
 *
 * Invariants of the server:
 *
 * - Each user has a quota of the NIC.
 * - The server validates whatever a client sends.
 * - Only hosts that run myrd --kernel can be peers.
 * - No client or unreachable host blocks other clients.
 *
 * Timeouts are tested with simulated time. The tests that run the server in a thread wait for
 * events, never for time to pass.
 *
 * The headers kernel_server/questions.h (requests), groups.h and server.h declare the functions
 * that the tests share. The tests are in the files that kernel_server/tests.h names. This file runs
 * them.
 */
#include "tests/unit/crew.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/kernel_server/tests.h"
#include "tests/unit/test.h"

int main(void)
{
#define GROUPS(test) cmocka_unit_test_setup_teardown(test, begin_groups, end_groups)
#define SERVER(test) cmocka_unit_test_setup_teardown(test, begin_server, end_server)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_request_makes_a_plan),
        cmocka_unit_test(invalid_requests_are_refused),
        cmocka_unit_test(data_without_room_are_refused),
        cmocka_unit_test(windows_without_room_are_refused),
        cmocka_unit_test(only_neighbours_can_be_peers),
        cmocka_unit_test(packets_fit_the_interface),
        cmocka_unit_test(quotas_shrink_with_the_number_of_users),
        cmocka_unit_test(users_wait_when_their_time_is_used_up),
        cmocka_unit_test(subordinates_are_an_account),
        GROUPS(subordinates_share_a_quota),
        GROUPS(equal_groups_are_shared),
        GROUPS(the_last_one_closes_it),
        GROUPS(closed_groups_have_a_quota),
        GROUPS(each_open_needs_a_close),
        GROUPS(death_fails_what_was_held),
        GROUPS(a_lost_failure_is_repeated),
        GROUPS(a_lost_failure_is_kept),
        GROUPS(a_close_is_repeated),
        GROUPS(groups_with_data_linger),
        GROUPS(farewells_begin_and_end),
        GROUPS(groups_that_broadcast_linger),
        GROUPS(other_groups_do_not_linger),
        GROUPS(lingering_groups_are_evicted),
        GROUPS(groups_have_a_quota),
        GROUPS(members_have_a_quota),
        GROUPS(stuck_groups_are_asked_for_with_backoff),
        GROUPS(groups_with_progress_are_not_asked_for),
        GROUPS(nothing_is_due_without_groups),
        GROUPS(scans_back_off),
        cmocka_unit_test(meetings_have_a_quota),
        cmocka_unit_test(equal_groups_share_a_meeting),
        cmocka_unit_test(meetings_share_time_between_users),
        GROUPS(reported_groups_are_asked_for),
        GROUPS(asks_have_a_quota),
        GROUPS(users_see_their_own_groups),
        GROUPS(the_next_daemon_knows_the_holders),
        GROUPS(clients_that_reconnect_keep_their_groups),
        GROUPS(groups_without_a_holder_are_closed),
        GROUPS(a_group_is_opened_again),
        GROUPS(holders_without_groups_are_forgotten),
        GROUPS(closed_groups_stay_closed),
        SERVER(clients_share_a_page),
        SERVER(members_learn_who_is_missing),
        SERVER(refusals_have_a_message),
        SERVER(a_connection_that_ends_is_a_death),
        SERVER(a_killed_process_is_a_death),
        SERVER(the_server_asks_for_reported_groups),
        SERVER(a_process_may_exit_right_after_leaving),
        SERVER(clients_that_read_nothing_are_disconnected),
        SERVER(invalid_requests_end_the_connection),
        SERVER(a_report_has_no_unused_entries),
        SERVER(random_requests_are_checked),
        SERVER(the_server_answers_queries),
        SERVER(a_host_without_a_daemon_is_no_peer),
        SERVER(an_absent_host_delays_no_client),
        SERVER(a_host_that_answers_late_is_met),
        SERVER(waiting_clients_may_disconnect),
        SERVER(other_networks_are_refused),
        SERVER(one_server_at_a_path),
        cmocka_unit_test(users_have_shares_of_connections),
        cmocka_unit_test(unread_answers_count),
        cmocka_unit_test(refusals_are_bounded),
        SERVER(a_server_that_ends_is_noticed),
        SERVER(a_failed_join_leaves_nothing),
        SERVER(groups_have_lines_of_their_own),
        SERVER(a_process_broadcasts),
    };
    crew_watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
