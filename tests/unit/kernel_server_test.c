/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If this fails, myrd --kernel could let a user see or disturb other users' groups, lose the
 * failure of a process, or be blocked by one client. The server runs on a test double of the
 * kernel's NIC.
 *
 * Invariants. A group belongs to one user, even if others know its key. It fails when a member
 * dies, but not when a member leaves. The last member that leaves closes it, and its last epoch is
 * kept. If it carries data or broadcasts, it first sends its peers a farewell, which blocks
 * nobody. Each user has a quota of the NIC. For a stuck group, ASKs are sent with growing
 * intervals, for other groups none. The server validates whatever a client sends. Only hosts that
 * run myrd --kernel can be peers. No client or unreachable host blocks other clients.
 *
 * Timeouts are tested with simulated time. The tests that run the server in a thread wait for
 * events, never for time to pass.
 *
 * The headers kernel_server/questions.h (requests), groups.h and server.h have what the tests
 * share. The tests are in the files that kernel_server/tests.h names. This file runs them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/kernel_server/tests.h"

int main(void)
{
#define GROUPS(test) cmocka_unit_test_setup_teardown(test, begin_groups, end_groups)
#define SERVER(test) cmocka_unit_test_setup_teardown(test, begin_server, end_server)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_question_is_a_plan),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(data_that_have_no_room_are_refused),
        cmocka_unit_test(windows_that_have_no_room_are_refused),
        cmocka_unit_test(only_neighbours_can_be_peers),
        cmocka_unit_test(packets_fit_the_interface),
        cmocka_unit_test(shares_shrink_as_users_come),
        cmocka_unit_test(who_has_had_its_time_waits),
        cmocka_unit_test(subordinates_are_an_account),
        GROUPS(subordinates_share_what_one_has),
        GROUPS(a_group_is_shared_with_its_like),
        GROUPS(the_last_one_closes_it),
        GROUPS(a_user_has_so_many_closed),
        GROUPS(each_opening_wants_a_closing),
        GROUPS(death_fails_what_was_held),
        GROUPS(a_failure_is_heard_at_last),
        GROUPS(a_failure_that_was_not_heard_is_kept),
        GROUPS(a_group_is_closed_at_last),
        GROUPS(who_leaves_says_farewell),
        GROUPS(farewells_begin_and_end),
        GROUPS(who_broadcasts_says_farewell),
        GROUPS(not_all_say_farewell),
        GROUPS(farewells_give_way),
        GROUPS(a_user_has_a_share),
        GROUPS(a_group_has_so_many_members),
        GROUPS(who_is_stuck_is_asked_for_ever_more_seldom),
        GROUPS(who_goes_on_is_not_asked_for),
        GROUPS(nothing_is_due_without_groups),
        GROUPS(looks_rest),
        cmocka_unit_test(a_user_has_so_many_meetings),
        cmocka_unit_test(who_opens_the_same_group_meets_once),
        cmocka_unit_test(meetings_take_turns),
        GROUPS(who_is_told_of_is_asked_for),
        GROUPS(a_user_has_a_share_of_questions),
        GROUPS(users_are_told_of_their_own),
        GROUPS(the_next_daemon_knows_who_holds_what),
        GROUPS(who_comes_back_holds_on),
        GROUPS(groups_that_nobody_holds_are_closed),
        GROUPS(a_group_is_opened_again),
        GROUPS(who_holds_nothing_is_nobody),
        GROUPS(closed_groups_stay_closed),
        SERVER(clients_share_a_page),
        SERVER(members_are_told_who_is_missing),
        SERVER(refusals_come_with_a_line),
        SERVER(a_connection_that_ends_is_a_death),
        SERVER(a_killed_process_is_a_death),
        SERVER(the_server_asks_for_who_is_told_of),
        SERVER(who_has_left_may_end_at_once),
        SERVER(who_reads_no_answers_is_dead),
        SERVER(nonsense_ends_the_connection),
        SERVER(a_report_has_no_room_to_spare),
        SERVER(garbage_opens_nothing),
        SERVER(the_server_says_that_it_is_there),
        SERVER(a_host_without_a_daemon_is_no_peer),
        SERVER(an_absent_host_holds_up_nobody),
        SERVER(a_host_that_answers_late_is_met),
        SERVER(who_waits_may_go),
        SERVER(other_networks_are_refused),
        SERVER(one_server_at_a_place),
        cmocka_unit_test(users_have_shares_of_connections),
        cmocka_unit_test(what_is_unread_counts),
        cmocka_unit_test(refusals_are_bounded),
        SERVER(a_server_that_ends_is_noticed),
        SERVER(who_fails_to_join_keeps_nothing),
        SERVER(groups_have_lines_of_their_own),
        SERVER(a_process_broadcasts),
    };
    crew_watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
