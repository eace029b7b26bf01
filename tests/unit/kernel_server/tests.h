/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests, by the file that has them; kernel_server_test.c runs them.
 */
#ifndef TESTS_UNIT_KERNEL_SERVER_TESTS_H
#define TESTS_UNIT_KERNEL_SERVER_TESTS_H

/* plans.c */
void a_good_question_is_a_plan(void **state);
void what_cannot_be_is_refused(void **state);
void data_that_have_no_room_are_refused(void **state);
void windows_that_have_no_room_are_refused(void **state);
void only_neighbours_can_be_peers(void **state);
void packets_fit_the_interface(void **state);

/* groups.c */
void a_group_is_shared_with_its_like(void **state);
void the_last_one_closes_it(void **state);
void a_user_has_so_many_closed(void **state);
void each_opening_wants_a_closing(void **state);
void death_fails_what_was_held(void **state);
void a_failure_is_heard_at_last(void **state);
void a_failure_that_was_not_heard_is_kept(void **state);
void a_group_is_closed_at_last(void **state);
void a_group_has_so_many_members(void **state);
void users_are_told_of_their_own(void **state);

/* farewells.c */
void who_leaves_says_farewell(void **state);
void farewells_begin_and_end(void **state);
void who_broadcasts_says_farewell(void **state);
void not_all_say_farewell(void **state);
void farewells_give_way(void **state);

/* shares.c */
void who_has_had_its_time_waits(void **state);
void subordinates_are_an_account(void **state);
void subordinates_share_what_one_has(void **state);
void shares_shrink_as_users_come(void **state);
void a_user_has_a_share(void **state);

/* stuck.c */
void who_is_stuck_is_asked_for_ever_more_seldom(void **state);
void who_goes_on_is_not_asked_for(void **state);
void nothing_is_due_without_groups(void **state);
void looks_rest(void **state);
void who_is_told_of_is_asked_for(void **state);
void a_user_has_a_share_of_questions(void **state);

/* meetings.c */
void a_user_has_so_many_meetings(void **state);
void who_opens_the_same_group_meets_once(void **state);
void meetings_take_turns(void **state);

/* clients.c */
void clients_share_a_page(void **state);
void members_are_told_who_is_missing(void **state);
void refusals_come_with_a_line(void **state);
void a_connection_that_ends_is_a_death(void **state);
void who_has_left_may_end_at_once(void **state);
void the_server_asks_for_who_is_told_of(void **state);
void a_killed_process_is_a_death(void **state);
void a_server_that_ends_is_noticed(void **state);

/* nonsense.c */
void who_reads_no_answers_is_dead(void **state);
void nonsense_ends_the_connection(void **state);
void a_report_has_no_room_to_spare(void **state);
void garbage_opens_nothing(void **state);

/* hosts.c */
void the_server_says_that_it_is_there(void **state);
void a_host_without_a_daemon_is_no_peer(void **state);
void an_absent_host_holds_up_nobody(void **state);
void a_host_that_answers_late_is_met(void **state);
void who_waits_may_go(void **state);

/* connections.c */
void other_networks_are_refused(void **state);
void one_server_at_a_place(void **state);
void refusals_are_bounded(void **state);
void what_is_unread_counts(void **state);
void users_have_shares_of_connections(void **state);

/* processes.c */
void who_fails_to_join_keeps_nothing(void **state);
void groups_have_lines_of_their_own(void **state);
void a_process_broadcasts(void **state);

/* takeovers.c */
void the_next_daemon_knows_who_holds_what(void **state);
void who_comes_back_holds_on(void **state);
void groups_that_nobody_holds_are_closed(void **state);
void a_group_is_opened_again(void **state);
void who_holds_nothing_is_nobody(void **state);
void closed_groups_stay_closed(void **state);

#endif
